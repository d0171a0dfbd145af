"""Keeps the objects that a conversion takes, sealed, and hands them out again: no page waits for a cluster."""

import hashlib
import uuid
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings

from migrations_app.errors import BadSetting
from migrations_app.flow.connect import keys
from migrations_app.models.kept import KeptObjects

FIELD = "objects"
LEVEL = 6


def keep(cluster_id: uuid.UUID, objects: Sequence[dict[str, Any]], *, now: datetime) -> None:
    """Replaces what was kept, unless nothing changed. Without a key to seal with, nothing is kept."""
    if not settings.ENV.encryption_keys:
        KeptObjects.objects.filter(pk=cluster_id).delete()
        return
    seal = keys()
    meaning = msgspec.json.encode(objects, order="deterministic")
    digest = hashlib.sha256(f"{seal.newest}\0".encode() + meaning).hexdigest()
    if KeptObjects.objects.filter(pk=cluster_id, digest=digest).exists():
        return
    plain = msgspec.json.encode(objects)  # in the order of the fields, which people will read
    sealed = seal.seal(zlib.compress(plain, LEVEL), owner=str(cluster_id), field=FIELD)
    KeptObjects.objects.update_or_create(
        pk=cluster_id, defaults={"digest": digest, "sealed": sealed, "changed_at": now}
    )


def kept_objects(cluster_id: uuid.UUID) -> tuple[dict[str, Any], ...] | None:
    """The objects of the newest snapshot; None where none were kept, or their key is gone until the next scan."""
    row = KeptObjects.objects.filter(pk=cluster_id).first()
    if row is None:
        return None
    try:
        packed = keys().open(bytes(row.sealed), owner=str(cluster_id), field=FIELD)
    except BadSetting:
        return None
    return msgspec.json.decode(zlib.decompress(packed), type=tuple[dict[str, Any], ...])
