"""Encrypted backups of objects from before a rollout, and the diff of each step (A28).

Backups are verified by reading them back, and hold no Secrets. A diff is the current object beside the result of the
server's dry run.
"""

import hashlib
import uuid
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.actions.undo import restorable
from migrations_app.errors import Conflict, InvalidSetting
from migrations_app.manifests import JsonMap
from migrations_app.manifests.writer import stream, text_of
from migrations_app.models.rollout import Rollout, RolloutBackup, StepDiff
from migrations_app.use_cases.rollouts.transitions import require_rollout
from migrations_app.use_cases.runtime.connections import keys

BACKUP_FIELD = "exported"
HIDDEN = "#whole"
"""The end of the path of a backup with secrets: stored sealed, and never part of a download."""


def store_backup(row: Rollout, target: ObjectTarget, *, read: JsonMap) -> RolloutBackup:
    """Stores a backup and verifies that it decrypts to the object that was read. Raises Conflict `export_unproven` if
    not.
    """
    plain = msgspec.json.encode(restorable(read), order="deterministic")
    digest = hashlib.sha256(plain).hexdigest()
    sealed = keys().seal(plain, owner=str(row.pk), field=BACKUP_FIELD)
    backup, _ = RolloutBackup.objects.update_or_create(
        rollout=row,
        path=target.path,
        defaults={"uid": str(value_at(read, ("metadata", "uid")) or ""), "sealed": sealed, "digest": digest},
    )
    if hashlib.sha256(_decrypted(row, backup.pk)).hexdigest() != digest:
        raise Conflict("the backup differs when it is read again", code="export_unproven")
    RolloutBackup.objects.filter(pk=backup.pk).update(proven_at=timezone.now())
    return backup


def store_sealed_backup(row: Rollout, path: str, *, plain: bytes) -> RolloutBackup:
    """Stores these bytes sealed, and verifies that they read back. Raises Conflict `export_unproven` if not."""
    digest = hashlib.sha256(plain).hexdigest()
    sealed = keys().seal(plain, owner=str(row.pk), field=BACKUP_FIELD)
    backup, _ = RolloutBackup.objects.update_or_create(
        rollout=row, path=path, defaults={"uid": "", "sealed": sealed, "digest": digest}
    )
    if hashlib.sha256(_decrypted(row, backup.pk)).hexdigest() != digest:
        raise Conflict("the backup differs when it is read again", code="export_unproven")
    RolloutBackup.objects.filter(pk=backup.pk).update(proven_at=timezone.now())
    return backup


def backup_manifests(row: Rollout) -> tuple[dict[str, Any], ...]:
    """The backups as manifests, in the order of the export, without those that contain secrets. Raises Conflict if
    their key is missing.
    """
    pks = row.backups.exclude(path__endswith=HIDDEN).order_by("pk").values_list("pk", flat=True)
    return tuple(msgspec.json.decode(_decrypted(row, pk), type=dict[str, Any]) for pk in pks)


def exports_yaml(rollout_id: uuid.UUID) -> str:
    """The backups as one YAML stream; empty if there are none. Raises NotFound, Conflict."""
    return stream(text_of(manifest) for manifest in backup_manifests(require_rollout(rollout_id)))


def _decrypted(row: Rollout, pk: int) -> bytes:
    again = RolloutBackup.objects.get(pk=pk)
    try:
        return keys().open(bytes(again.sealed), owner=str(row.pk), field=BACKUP_FIELD)
    except InvalidSetting:
        raise Conflict("the backup cannot be decrypted", code="export_unproven") from None


DIFF_FIELD = "diff"
DiffSides = tuple[JsonMap | None, JsonMap | None]
"""The current object, and the object as the server would store it; None if there is no object."""


def keep_diffs(row: Rollout, diffs: Mapping[str, DiffSides]) -> None:
    """Replaces the stored diffs of this rollout."""
    seal = keys()
    StepDiff.objects.filter(rollout=row).delete()
    StepDiff.objects.bulk_create(
        [
            StepDiff(rollout=row, step=step, sealed=seal.seal(_packed(sides), owner=str(row.pk), field=DIFF_FIELD))
            for step, sides in diffs.items()
        ]
    )


def diffs_of(rollout_id: uuid.UUID, *, steps: Collection[str]) -> dict[str, DiffSides]:
    """The diffs of those of the steps that were dry run, by step id; empty if their key is missing."""
    diffs: dict[str, DiffSides] = {}
    for row in StepDiff.objects.filter(rollout_id=rollout_id, step__in=list(steps)):
        try:
            plain = keys().open(bytes(row.sealed), owner=str(rollout_id), field=DIFF_FIELD)
        except InvalidSetting:
            return {}
        before, after = msgspec.json.decode(plain, type=tuple[dict[str, Any] | None, dict[str, Any] | None])
        diffs[row.step] = (before, after)
    return diffs


def _packed(sides: DiffSides) -> bytes:
    return msgspec.json.encode([restorable(side) if side is not None else None for side in sides])
