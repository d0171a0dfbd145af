"""Objects as they are before a rollout -> sealed rows that are read back and found the same, without any secret."""

import hashlib
import uuid
from typing import Any

import msgspec
from django.utils import timezone

from migrations_app.actions.changes import Target
from migrations_app.actions.conditions import Tree, value_at
from migrations_app.actions.restoring import restorable
from migrations_app.errors import BadSetting, Conflict
from migrations_app.flow.connect import keys
from migrations_app.flow.transition import found
from migrations_app.karpenter.yaml_out import stream, text_of
from migrations_app.models.rollout import Exported, Rollout

FIELD = "exported"


def export(row: Rollout, target: Target, *, read: Tree) -> Exported:
    """The stored row, proven: what was sealed opens again and is what was read. Raises Conflict when it is not."""
    plain = msgspec.json.encode(restorable(read), order="deterministic")
    digest = hashlib.sha256(plain).hexdigest()
    sealed = keys().seal(plain, owner=str(row.pk), field=FIELD)
    kept, _ = Exported.objects.update_or_create(
        rollout=row,
        path=target.path,
        defaults={"uid": str(value_at(read, ("metadata", "uid")) or ""), "sealed": sealed, "digest": digest},
    )
    if hashlib.sha256(_opened(row, kept.pk)).hexdigest() != digest:
        raise Conflict("what was exported does not read back", code="export_unproven")
    Exported.objects.filter(pk=kept.pk).update(proven_at=timezone.now())
    return kept


def exported(row: Rollout) -> tuple[dict[str, Any], ...]:
    """The objects as manifests, in the order of the export. Raises BadSetting when their key is gone."""
    pks = row.exported.order_by("pk").values_list("pk", flat=True)
    return tuple(msgspec.json.decode(_opened(row, pk), type=dict[str, Any]) for pk in pks)


def exports_yaml(rollout_id: uuid.UUID) -> str:
    """The same as one stream of YAML; empty where nothing was exported. Raises NotFound, Conflict."""
    return stream(text_of(manifest) for manifest in exported(found(rollout_id)))


def _opened(row: Rollout, pk: int) -> bytes:
    again = Exported.objects.get(pk=pk)
    try:
        return keys().open(bytes(again.sealed), owner=str(row.pk), field=FIELD)
    except BadSetting:
        raise Conflict("what was exported does not open again", code="export_unproven") from None
