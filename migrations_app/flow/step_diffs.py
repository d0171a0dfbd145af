"""What each step makes of its object, as the server itself would store it: kept sealed, told as two texts (A28)."""

import uuid
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from migrations_app.actions.conditions import Tree
from migrations_app.actions.restoring import restorable
from migrations_app.errors import BadSetting
from migrations_app.flow.connect import keys
from migrations_app.models.rollout import Rollout, StepDiff

FIELD = "diff"
Sides = tuple[Tree | None, Tree | None]
"""The object now, and as the server would store it; None: there is none."""


def keep_diffs(row: Rollout, diffs: Mapping[str, Sides]) -> None:
    """Replaces what was kept for this rollout."""
    seal = keys()
    StepDiff.objects.filter(rollout=row).delete()
    StepDiff.objects.bulk_create(
        [
            StepDiff(rollout=row, step=step, sealed=seal.seal(_packed(sides), owner=str(row.pk), field=FIELD))
            for step, sides in diffs.items()
        ]
    )


def diffs_of(rollout_id: uuid.UUID, *, steps: Collection[str]) -> dict[str, Sides]:
    """The two sides of these steps, for those that were dry run; empty when their key is gone."""
    found: dict[str, Sides] = {}
    for row in StepDiff.objects.filter(rollout_id=rollout_id, step__in=list(steps)):
        try:
            plain = keys().open(bytes(row.sealed), owner=str(rollout_id), field=FIELD)
        except BadSetting:
            return {}
        before, after = msgspec.json.decode(plain, type=tuple[dict[str, Any] | None, dict[str, Any] | None])
        found[row.step] = (before, after)
    return found


def _packed(sides: Sides) -> bytes:
    return msgspec.json.encode([restorable(side) if side is not None else None for side in sides])
