"""The only writer of the audit log: an event is added in the transaction of what it tells, or that does not happen."""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Literal

import msgspec
from django.db import connection, transaction
from django.utils import timezone

from migrations_app.models.audit import AuditEvent, AuditHead

Method = Literal["session", "token", "worker", "cli", "system"]
FIELDS = (
    "seq", "at", "actor", "method", "token_id", "address", "verb", "object", "cluster_id", "cluster_identity",
    "plan_digest", "step", "attempt", "request_digest", "outcome", "correlation", "detail", "prev",
)  # fmt: skip
"""What the hash covers, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts. `method` is how they proved who they are; `token_id` names a token without telling it."""

    name: str
    method: Method = "session"
    id: int | None = None
    address: str = ""
    token_id: str = ""


WORKER = Actor(name="karpdash", method="worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened. `verb` is a code such as `rollout.approved`; `object` names what it happened to."""

    verb: str
    actor: Actor
    object: str = ""
    outcome: str = ""
    cluster_id: str = ""
    cluster_identity: str = ""
    plan_digest: str = ""
    step: str = ""
    attempt: int = 0
    request_digest: str = ""
    correlation: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


def record(event: Event) -> int:
    """Adds the event and gives its number, one more than the last (A50, A51).

    Raises RuntimeError outside of a transaction: the event has to stand and fall with what it tells.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded in the transaction of what it tells")
    AuditHead.objects.bulk_create([AuditHead(pk=1)], ignore_conflicts=True)
    head = AuditHead.objects.select_for_update().get(pk=1)
    row = _row(event, seq=head.seq + 1, prev=head.hash)
    row.save(force_insert=True)
    AuditHead.objects.filter(pk=1).update(seq=row.seq, hash=row.hash)
    return row.seq


def record_alone(event: Event) -> int:
    """As `record`, in a transaction of its own: for what changes no row, such as a refused sign-in."""
    with transaction.atomic():
        return record(event)


def _row(event: Event, *, seq: int, prev: str) -> AuditEvent:
    row = AuditEvent(
        seq=seq,
        at=timezone.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        actor=encoded(event.actor.name)[:150],
        method=event.actor.method,
        token_id=event.actor.token_id,
        address=event.actor.address[:64],
        verb=event.verb,
        object=encoded(event.object)[:1000],
        cluster_id=event.cluster_id,
        cluster_identity=event.cluster_identity,
        plan_digest=event.plan_digest,
        step=event.step,
        attempt=event.attempt,
        request_digest=event.request_digest,
        outcome=encoded(event.outcome)[:60],
        correlation=event.correlation,
        detail=encoded(msgspec.json.encode(event.detail, order="deterministic").decode()),
        prev=prev,
    )
    row.hash = hash_of({name: getattr(row, name) for name in FIELDS})
    return row


def hash_of(columns: dict[str, Any]) -> str:
    """The hash of one event: SHA-256 over the JSON of its columns in the order of FIELDS."""
    return hashlib.sha256(msgspec.json.encode([columns[name] for name in FIELDS])).hexdigest()


def encoded(text: str) -> str:
    """The text with control and bidi characters as escapes: what is printed from it stays on its line."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)
