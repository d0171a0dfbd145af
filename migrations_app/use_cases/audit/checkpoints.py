"""Signs checkpoints of the audit log with a key that is not in the database (A53)."""

import base64
import hashlib
from datetime import UTC
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils import timezone

from migrations_app.audit_verify import SIGNED, checkpoint_line, key_id, to_sign
from migrations_app.errors import InvalidSetting
from migrations_app.models.checkpoint import Checkpoint

EVENTS_PER_CHECKPOINT = 100
STARTS = frozenset(("rollout.running", "rollout.rolling_back"))
ENDS = frozenset(
    f"rollout.{state}" for state in ("paused", "succeeded", "failed", "aborted", "rolled_back", "needs_attention")
)


def due(seq: int, verb: str) -> str:
    """The reason why a checkpoint is due at this event; empty if none is. Called in the event's transaction."""
    if verb in STARTS:
        return Checkpoint.Why.START
    if verb in ENDS:
        return Checkpoint.Why.END
    return Checkpoint.Why.COUNT if seq % EVENTS_PER_CHECKPOINT == 0 else ""


def sign(seq: int, hash_of_event: str, *, why: str) -> bool:
    """Signs a checkpoint of that event unless it exists. False without a key. The caller has locked the head row."""
    key = _key(settings.ENV.audit_signing_key)
    if key is None:
        return False
    last = Checkpoint.objects.order_by("-seq").first()
    if last is not None and last.seq >= seq:
        return last.seq == seq
    fields = {
        "seq": seq,
        "hash": hash_of_event,
        "at": timezone.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "why": str(why),
        "key": key_id(_public(key)),
        "previous": hashlib.sha256(line(last)).hexdigest() if last else "",
    }
    signature = base64.b64encode(key.sign(to_sign(fields))).decode()
    Checkpoint.objects.create(**fields, signature=signature)
    return True


def line(row: Checkpoint) -> bytes:
    """The checkpoint as one JSON line, as sinks receive it, without the newline."""
    fields: dict[str, Any] = {name: getattr(row, name) for name in SIGNED[1:]}
    return checkpoint_line(fields | {"signature": row.signature})


def public_key() -> str:
    """The public key in the form of `audit verify --key`. Raises InvalidSetting without a signing key."""
    key = _key(settings.ENV.audit_signing_key)
    if key is None:
        raise InvalidSetting("there is no signing key: no checkpoints are created", where="KARPDASH_AUDIT_SIGNING_KEY")
    return f"ed25519:{base64.b64encode(_public(key)).decode()}"


def _public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


@lru_cache(maxsize=4)
def _key(raw: bytes) -> Ed25519PrivateKey | None:
    return Ed25519PrivateKey.from_private_bytes(raw) if raw else None
