"""What may stand in the audit log: secrets only as an HMAC, nothing that steers a terminal, one canonical form.

The only writer of the audit log: an event is added in the transaction of what it tells, or that does not happen.

Who acts right now, for what is recorded: set once where a request or a command comes in.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Literal

from django.db import connection, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from migrations_app.audit_verify import FIELDS, hash_of
from migrations_app.errors import Conflict
from migrations_app.models.audit import AuditEvent, AuditHead
from migrations_app.redaction import is_secret_name, replace
from migrations_app.use_cases.audit import checkpoints, delivery_lag

LONGEST = 4000
"""Characters of one text of a detail."""
MOST = 200
"""Members of one list or object of a detail."""
DEEPEST = 8
SALT = "karpdash.audit"


def detail_text(detail: dict[str, Any]) -> str:
    """Canonical JSON of a detail: keys sorted, secrets as HMAC, only characters that can be seen (A50, T23)."""
    text = json.dumps(_clean(detail, key="", depth=0), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def encoded(text: str) -> str:
    """The text with control and bidi characters as escapes: what is printed from it stays on its line."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)


def guarded(text: str) -> str:
    """The text with whatever looks like a secret as its HMAC."""
    return replace(text, sealed)


def sealed(value: str) -> str:
    """The HMAC that stands for a secret: equal secrets can be told to be equal, by this installation alone."""
    mac = salted_hmac(SALT, value.encode("utf-8", "surrogatepass"), algorithm="sha256")
    return f"hmac:{mac.hexdigest()[:32]}"


def _clean(value: Any, *, key: str, depth: int) -> Any:  # noqa: ANN401 - any JSON goes in and comes out
    if depth > DEEPEST:
        return "(deeper than is kept)"
    if isinstance(value, dict):
        members = list(value.items())[:MOST]
        return {guarded(str(name))[:200]: _clean(each, key=str(name), depth=depth + 1) for name, each in members}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(each, key=key, depth=depth + 1) for each in list(value)[:MOST]]
    return _plain(value, key=key)


def _plain(value: Any, *, key: str) -> Any:  # noqa: ANN401 - as above
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(key) and value != "":
        return sealed(str(value))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = guarded(str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} (cut, {len(text)} characters)"


__all__ = ["FIELDS", "WORKER", "Actor", "Event", "assert_writable", "encoded", "hash_of", "record", "record_alone"]

Method = Literal["session", "token", "worker", "cli", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts. `method` is how they proved who they are; `token_id` names a token, and is only kept as a hash."""

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

    Raises RuntimeError outside of a transaction: the event has to stand and fall with what it tells. Whatever the
    database raises is raised on, so that what could not be recorded does not happen (A55).
    """
    head = _held_head()
    row = _row(event, seq=head.seq + 1, prev=head.hash)
    row.save(force_insert=True)
    AuditHead.objects.filter(pk=1).update(seq=row.seq, hash=row.hash)
    if why := checkpoints.due(row.seq, row.verb):
        checkpoints.sign(row.seq, row.hash, why=why)
    return row.seq


def record_alone(event: Event) -> int:
    """As `record`, in a transaction of its own: for what changes no row, such as a refused sign-in."""
    with transaction.atomic():
        return record(event)


def assert_writable() -> None:
    """Raises Conflict (code `audit_blocked`) while a sink lags too far behind: nothing may change a cluster then."""
    if why := delivery_lag.why_blocked():
        raise Conflict(why, code="audit_blocked")


def sign_head(why: str) -> int:
    """Signs a checkpoint of the newest event, unless it has one; its number, 0 for an empty log or without a key."""
    with transaction.atomic():
        head = _held_head()
        return head.seq if head.seq and checkpoints.sign(head.seq, head.hash, why=why) else 0


def token_mark(token_id: str) -> str:
    """How the log names a token: a hash of its id (A50)."""
    return hashlib.sha256(token_id.encode()).hexdigest()[:32] if token_id else ""


def _held_head() -> AuditHead:
    """The head row, held until the transaction ends: numbers have no gaps, however many write at once (A51)."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded in the transaction of what it tells")
    AuditHead.objects.bulk_create([AuditHead(pk=1)], ignore_conflicts=True)
    return AuditHead.objects.select_for_update().get(pk=1)


def _row(event: Event, *, seq: int, prev: str) -> AuditEvent:
    texts = {
        "actor": event.actor.name,
        "method": event.actor.method,
        "token_id": token_mark(event.actor.token_id),
        "address": event.actor.address,
        "verb": event.verb,
        "object": guarded(event.object),
        "cluster_id": event.cluster_id,
        "cluster_identity": event.cluster_identity,
        "plan_digest": event.plan_digest,
        "step": event.step,
        "request_digest": event.request_digest,
        "outcome": guarded(event.outcome),
        "correlation": event.correlation,
    }
    row = AuditEvent(
        seq=seq,
        at=timezone.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        attempt=event.attempt,
        detail=detail_text(event.detail),
        prev=prev,
        **{name: encoded(text)[: _ROOM[name]] for name, text in texts.items()},
    )
    row.hash = hash_of({name: getattr(row, name) for name in FIELDS})
    return row


_COLUMNS = AuditEvent._meta.concrete_fields  # noqa: SLF001 - Django's documented way to a model's columns
_ROOM = {column.name: int(getattr(column, "max_length", None) or 0) for column in _COLUMNS}
"""How long each text may be: what is longer is cut, since a refused row would stop what it tells."""


SYSTEM = Actor(name="karpdash", method="system")


@dataclass(frozen=True, slots=True)
class _Acting:
    actor: Actor = SYSTEM
    request_id: str = ""


_now: ContextVar[_Acting] = ContextVar("acting")


@contextmanager
def acting_as(actor: Actor, *, request_id: str = "") -> Iterator[None]:
    """Whatever is told inside the block was done by that one; `request_id` becomes the events' correlation."""
    token = _now.set(_Acting(actor, request_id))
    try:
        yield
    finally:
        _now.reset(token)


def set_actor(actor: Actor, *, request_id: str = "") -> None:
    """As `acting_as`, until the block around ends: for a frame that learns in the middle who it is."""
    _now.set(_Acting(actor, request_id))


def actor() -> Actor:
    """Who acts; karpdash itself where nobody said."""
    return _now.get(_Acting()).actor


def record_audit_event(verb: str, what: str, *, outcome: str = "done", cluster_id: object = "", **detail: Any) -> int:  # noqa: ANN401 - any JSON
    """Records what the one who acts did to `what`, in the transaction of the caller; the event's number."""
    acting = _now.get(_Acting())
    return record(
        Event(
            verb=verb,
            actor=acting.actor,
            object=what,
            outcome=outcome,
            cluster_id=str(cluster_id),
            correlation=acting.request_id,
            detail=detail,
        )
    )
