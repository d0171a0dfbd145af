"""Who acts right now, for what is recorded: set once where a request or a command comes in."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from migrations_app.flow.record import Actor, Event, record

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


def becomes(actor: Actor, *, request_id: str = "") -> None:
    """As `acting_as`, until the block around ends: for a frame that learns in the middle who it is."""
    _now.set(_Acting(actor, request_id))


def actor() -> Actor:
    """Who acts; karpdash itself where nobody said."""
    return _now.get(_Acting()).actor


def tell(verb: str, what: str, *, outcome: str = "done", cluster_id: object = "", **detail: Any) -> int:  # noqa: ANN401 - any JSON
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
