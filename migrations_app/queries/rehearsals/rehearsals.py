"""Rehearsals of a plan as rows, with their stored results and comparisons."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from migrations_app.errors import NotFound
from migrations_app.models.rehearsal import Rehearsal, RunRecord
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

REHEARSED = ("previewed", "awaiting_approval", "approved")
"""States in which a plan can be rehearsed: it exists and was not started."""
MAX_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalRow:
    """One rehearsal. `raw` is its stored result, empty before the end. `current`: it is of the current plan."""

    id: uuid.UUID
    digest: str
    state: str
    seed: int
    failures: tuple[tuple[str, str], ...]
    requested_by: str
    made_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error_code: str
    error: str
    current: bool
    raw: bytes


def rehearsals_of(rollout_id: uuid.UUID, *, limit: int = MAX_LISTED) -> tuple[RehearsalRow, ...]:
    """The newest rehearsals of the plan, newest first. Raises NotFound."""
    digest = Rollout.objects.filter(visible(), pk=rollout_id).values_list("digest", flat=True).first()
    if digest is None:
        raise NotFound("no such rollout")
    return newest_rehearsals(rollout_id, digest=digest, limit=limit)


def newest_rehearsals(rollout_id: uuid.UUID, *, digest: str, limit: int = MAX_LISTED) -> tuple[RehearsalRow, ...]:
    """The newest rehearsals of a plan with that current digest, newest first. The caller has checked the visibility."""
    rows = Rehearsal.objects.filter(rollout_id=rollout_id).order_by("-made_at", "-pk")[:limit]
    return tuple(rehearsal_row(row, digest=digest) for row in rows)


def mark_of(rehearsal_id: uuid.UUID, state: str) -> str:
    """The text for this rehearsal in the live mark of a rollout page."""
    return f"-{str(rehearsal_id)[:8]}{state}"


def newest_result(rollout_id: uuid.UUID, *, digest: str) -> RehearsalRow | None:
    """The newest finished rehearsal of that plan; None if there is none."""
    rows = Rehearsal.objects.filter(rollout_id=rollout_id, digest=digest, state=Rehearsal.State.FINISHED)
    row = rows.order_by("-made_at", "-pk").first()
    return rehearsal_row(row, digest=digest) if row is not None else None


def rehearsal_row(row: Rehearsal, *, digest: str) -> RehearsalRow:
    """The row as a value; `digest` is that of the current plan."""
    failures = tuple((str(scenario), str(zone)) for scenario, zone in row.failures)
    return from_row(RehearsalRow, row, failures=failures, current=row.digest == digest, raw=bytes(row.result))


def stored_difference(rollout_id: uuid.UUID) -> dict[str, Any] | None:
    """The comparison as plain values; None before the end of the rollout, or without a rehearsal."""
    rows = RunRecord.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    difference: dict[str, Any] | None = rows.values_list("difference", flat=True).first()
    return difference
