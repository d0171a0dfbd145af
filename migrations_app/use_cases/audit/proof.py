"""Verifies the audit log: all of it for the command line, its newest part for the audit page."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from migrations_app.audit_verify import ChainVerdict, verify
from migrations_app.errors import InvalidSetting
from migrations_app.models.checkpoint import Checkpoint
from migrations_app.queries.audit.log import AuditFilters, export_lines, head
from migrations_app.queries.visibility import ALL, visibility_scope
from migrations_app.use_cases.audit import checkpoints
from migrations_app.use_cases.audit.delivery_lag import Lag, delivery_lags

MAX_VERIFIED_EVENTS = 1000
"""Maximum number of events that the page verifies on each view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStatus:
    """The state of the log: `sealed` is the newest event with a checkpoint, `since` the first event verified here."""

    events: int
    sealed: int
    sealed_at: datetime | None
    since: int
    verdict: ChainVerdict
    sinks: tuple[Lag, ...]
    signing: bool


def prove(*, keys: Collection[str] = (), outside: Iterator[bytes] | None = None) -> ChainVerdict:
    """Verifies the whole log against its head row and the checkpoints in `outside`, or else those in the database."""
    from_outside = None if outside is None else list(outside)  # before the head is read: the log grows
    end = head()
    signed_lines = checkpoint_lines(last=end.seq) if from_outside is None else from_outside
    lines = export_lines(AuditFilters(last=end.seq)) if end.seq else iter(())
    return verify(lines, checkpoints=signed_lines, keys=keys or _own_key(), head=end)


def status() -> ChainStatus:
    """The state of the log.

    Verifies the events since the newest checkpoint, at most MAX_VERIFIED_EVENTS. All events are read, independent
    of what the caller may see, because a selection would have gaps.
    """
    with visibility_scope(ALL):
        return _status()


def _status() -> ChainStatus:
    end = head()
    sealed = Checkpoint.objects.filter(seq__lte=end.seq).order_by("-seq").first()
    since = max(1, sealed.seq if sealed else 1, end.seq - MAX_VERIFIED_EVENTS + 1)
    lines = export_lines(AuditFilters(first=since, last=end.seq)) if end.seq else iter(())
    signed_lines = [checkpoints.line(sealed)] if sealed else []
    return ChainStatus(
        events=end.seq,
        sealed=sealed.seq if sealed else 0,
        sealed_at=datetime.fromisoformat(sealed.at) if sealed else None,
        since=since,
        verdict=verify(lines, checkpoints=signed_lines, keys=_own_key(), first=since, head=end),
        sinks=delivery_lags(),
        signing=bool(settings.ENV.audit_signing_key),
    )


def checkpoint_lines(*, first: int = 0, last: int | None = None) -> Iterator[bytes]:
    """The checkpoints in the database as sinks receive them, one line each with its newline."""
    rows = Checkpoint.objects.filter(seq__gte=first)
    if last is not None:
        rows = rows.filter(seq__lte=last)
    return (checkpoints.line(row) + b"\n" for row in rows.order_by("seq").iterator(chunk_size=1000))


def _own_key() -> tuple[str, ...]:
    try:
        return (checkpoints.public_key(),)
    except InvalidSetting:
        return ()
