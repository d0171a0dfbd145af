"""The audit log: the only code that writes events, in the transaction of the change that they describe.

Secrets are stored only as an HMAC, control characters only as escapes, details as canonical JSON. `acting_as` sets the
actor, once for each request or command.
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
from migrations_app.redaction import is_secret_name, replace_secrets
from migrations_app.use_cases.audit import checkpoints, delivery_lag

MAX_TEXT_LENGTH = 4000
"""Maximum length of one text in a detail, in characters."""
MAX_MEMBERS = 200
"""Maximum number of members of one list or object in a detail."""
MAX_DEPTH = 8
SALT = "karpdash.audit"


def detail_text(detail: dict[str, Any]) -> str:
    """Canonical JSON of a detail: sorted keys, secrets as HMAC, only printable characters (A50, T23)."""
    text = json.dumps(_clean(detail, key="", depth=0), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def encoded(text: str) -> str:
    """The text with control and bidi characters escaped, so that it stays on one line when printed."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)


def guarded(text: str) -> str:
    """The text with everything that looks like a secret replaced by its HMAC."""
    return replace_secrets(text, sealed)


def sealed(value: str) -> str:
    """The HMAC that replaces a secret. Only this installation can find out that two secrets are equal."""
    mac = salted_hmac(SALT, value.encode("utf-8", "surrogatepass"), algorithm="sha256")
    return f"hmac:{mac.hexdigest()[:32]}"


def _clean(value: Any, *, key: str, depth: int) -> Any:  # noqa: ANN401 - any JSON goes in and comes out
    if depth > MAX_DEPTH:
        return "(deeper than is kept)"
    if isinstance(value, dict):
        members = list(value.items())[:MAX_MEMBERS]
        return {guarded(str(name))[:200]: _clean(each, key=str(name), depth=depth + 1) for name, each in members}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(each, key=key, depth=depth + 1) for each in list(value)[:MAX_MEMBERS]]
    return _plain(value, key=key)


def _plain(value: Any, *, key: str) -> Any:  # noqa: ANN401 - as above
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(key) and value != "":
        return sealed(str(value))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = guarded(str(value))
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]} (cut, {len(text)} characters)"


__all__ = ["FIELDS", "WORKER", "Actor", "Event", "assert_writable", "encoded", "hash_of", "record", "record_alone"]

ActorMethod = Literal["session", "token", "worker", "cli", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts. `method` is how they authenticated; `token_id` identifies an API token and is stored only as a hash."""

    name: str
    method: ActorMethod = "session"
    id: int | None = None
    address: str = ""
    token_id: str = ""


WORKER = Actor(name="karpdash", method="worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event. `verb` is a code such as `rollout.approved`; `object` names the object that was changed."""

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
    """Appends the event and returns its sequence number, one more than the last (A50, A51).

    Raises RuntimeError outside a transaction, since the event and the change that it describes must commit together.
    Database errors are not caught: a change that cannot be recorded is rolled back (A55).
    """
    head = _locked_head()
    row = _row(event, seq=head.seq + 1, prev=head.hash)
    row.save(force_insert=True)
    AuditHead.objects.filter(pk=1).update(seq=row.seq, hash=row.hash)
    if why := checkpoints.due(row.seq, row.verb):
        checkpoints.sign(row.seq, row.hash, why=why)
    return row.seq


def record_alone(event: Event) -> int:
    """As `record`, in a transaction of its own: for events without a change of rows, such as a refused sign-in."""
    with transaction.atomic():
        return record(event)


def assert_writable() -> None:
    """Raises Conflict `audit_blocked` while a sink lags too far behind: clusters must not be changed then."""
    if why := delivery_lag.why_blocked():
        raise Conflict(why, code="audit_blocked")


def sign_head(why: str) -> int:
    """Signs a checkpoint of the newest event unless it has one. Returns its number; 0 without events or a key."""
    with transaction.atomic():
        head = _locked_head()
        return head.seq if head.seq and checkpoints.sign(head.seq, head.hash, why=why) else 0


def token_mark(token_id: str) -> str:
    """The mark of a token in the log: a hash of its id (A50)."""
    return hashlib.sha256(token_id.encode()).hexdigest()[:32] if token_id else ""


def _locked_head() -> AuditHead:
    """The head row, locked until the transaction ends, so that concurrent writers leave no gap in the numbers (A51)."""
    if not connection.in_atomic_block:
        raise RuntimeError("an event has to be recorded in the transaction of the change that it reports")
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
"""Maximum length per column. Longer texts are cut, because a rejected event would block the change."""


SYSTEM = Actor(name="karpdash", method="system")


@dataclass(frozen=True, slots=True)
class _ActorContext:
    actor: Actor = SYSTEM
    request_id: str = ""


_now: ContextVar[_ActorContext] = ContextVar("acting")


@contextmanager
def acting_as(actor: Actor, *, request_id: str = "") -> Iterator[None]:
    """Attributes events in the block to this actor; `request_id` becomes their correlation id."""
    token = _now.set(_ActorContext(actor, request_id))
    try:
        yield
    finally:
        _now.reset(token)


def set_actor(actor: Actor, *, request_id: str = "") -> None:
    """Sets the actor until the surrounding block ends, for code that authenticates during a request."""
    _now.set(_ActorContext(actor, request_id))


def actor() -> Actor:
    """The current actor; karpdash itself when none is set."""
    return _now.get(_ActorContext()).actor


def record_audit_event(verb: str, what: str, *, outcome: str = "done", cluster_id: object = "", **detail: Any) -> int:  # noqa: ANN401 - any JSON
    """Records what the current actor did to `what`, in the caller's transaction. Returns the event's number."""
    context = _now.get(_ActorContext())
    return record(
        Event(
            verb=verb,
            actor=context.actor,
            object=what,
            outcome=outcome,
            cluster_id=str(cluster_id),
            correlation=context.request_id,
            detail=detail,
        )
    )
