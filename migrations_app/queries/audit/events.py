"""Resource events: scans, plans, rollouts, journeys and campaigns, in order, for programs that follow them.

Two sources are merged: the audit log, whose numbers have no gap and are in commit order (A51), and the ends of scans,
which are numbered in the same way. An event that is committed later never has a lower position.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from django.db.models import Q
from msgspec import Meta

from migrations_app.actions.states import PLANNED
from migrations_app.models.scan_event import ScanEvent, ScanEventHead
from migrations_app.queries import pagination
from migrations_app.queries.audit.log import AuditLine, head_seq, lines_between
from migrations_app.queries.pagination import keys_of
from migrations_app.queries.visibility import visible, visible_campaigns, visible_texts

KEPT_DAYS = 7
"""Days for which ends of scans are kept and a position is valid."""
WINDOW = 5000
"""Maximum number of events of each source that one request reads, matching or not."""
EventKind = Literal["scan", "plan", "rollout", "journey", "campaign"]
KINDS: tuple[EventKind, ...] = ("scan", "plan", "rollout", "journey", "campaign")
PLAN_VERBS = (*(f"rollout.{state}" for state in sorted(PLANNED)), "rollout.yes", "rollout.rejected", "rollout.expired")
SCAN_REQUESTED = "scan.requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPosition:
    """All events up to these numbers were returned; `issued` is the time of the position, in Unix seconds."""

    audit: int
    scans: int
    issued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilters:
    """Filters of the events: kinds, all if empty, and one cluster, or None for all that the caller may see."""

    kinds: tuple[EventKind, ...] = ()
    cluster: uuid.UUID | None = None
    limit: int = 100

    def wants(self, kind: EventKind) -> bool:
        return not self.kinds or kind in self.kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceEvent:
    """One event. Details of its subject are read at the address of the subject."""

    cursor: Annotated[str, Meta(description="The position after this event.")]
    at: datetime
    kind: EventKind
    event: Annotated[str, Meta(description="Such as scan.done, rollout.running or campaign.wave_opened.")]
    subject: Annotated[uuid.UUID | None, Meta(description="Id of the scan, rollout, journey or campaign.")]
    cluster: uuid.UUID | None
    outcome: Annotated[str, Meta(description="A stable code; empty where there is none.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events, oldest first. `more`: more events exist now. `gap`: events after the requested position may be lost."""

    events: tuple[ResourceEvent, ...]
    position: EventPosition
    more: bool
    gap: bool


def newest_position(now: datetime) -> EventPosition:
    """The position after all events that are committed now."""
    scans = ScanEventHead.objects.values_list("seq", flat=True).first() or 0
    return EventPosition(audit=head_seq(), scans=scans, issued=int(now.timestamp()))


def encode_position(position: EventPosition) -> str:
    """The position as a cursor."""
    return pagination.encode((position.audit, position.scans, position.issued))


def position_of(cursor: str, *, now: datetime) -> EventPosition:
    """The position of a cursor; without one, that of now. Raises InvalidInput `bad_cursor`."""
    keys = keys_of(cursor, (int, int, int))
    if keys is None:
        return newest_position(now)
    audit, scans, issued = (int(key) for key in keys)
    return EventPosition(audit=audit, scans=scans, issued=issued)


def oldest_position(now: datetime) -> EventPosition:
    """The position before all kept events."""
    return EventPosition(audit=0, scans=0, issued=int(now.timestamp()))


def events_since(position: EventPosition, filters: EventFilters, *, now: datetime) -> EventPage:
    """Events after the position that the caller may see, at most `limit`.

    The new position may be later without any event: then no matching event lies between.
    """
    head = newest_position(now)
    if position.audit > head.audit or position.scans > head.scans:
        # The database was restored to a state before the position: which events are new or lost is not known.
        return EventPage(events=(), position=head, more=False, gap=True)
    audit = _Source(position.audit, head.audit, _audit_rows(position, filters))
    scans = _Source(position.scans, head.scans, _scan_rows(position, filters))
    events: list[ResourceEvent] = []
    for source, row in _merged(audit, scans):
        if len(events) == filters.limit:
            break
        source.take(row)
        row_position = EventPosition(audit=audit.reached, scans=scans.reached, issued=head.issued)
        events.append(_event(row, encode_position(row_position)))
    end = EventPosition(audit=audit.end(filters.limit), scans=scans.end(filters.limit), issued=head.issued)
    return EventPage(
        events=tuple(events),
        position=end,
        more=(end.audit, end.scans) != (head.audit, head.scans),
        gap=position.issued < (now - timedelta(days=KEPT_DAYS)).timestamp(),
    )


def wait_for_events(
    position: EventPosition,
    filters: EventFilters,
    *,
    seconds: int,
    pause: Callable[[float], None],
    clock: Callable[[], datetime],
) -> EventPage:
    """As `events_since`; without an event, waits up to `seconds` for one, with a check of two rows every second."""
    page = events_since(position, filters, now=clock())
    for _ in range(seconds):
        if page.events or page.more:
            break
        pause(1.0)
        newest = newest_position(clock())
        if (newest.audit, newest.scans) != (page.position.audit, page.position.scans):
            later = events_since(page.position, filters, now=clock())
            page = EventPage(events=later.events, position=later.position, more=later.more, gap=page.gap or later.gap)
    return page


@dataclass(slots=True)
class _Source:
    """The rows of one source after `reached`, up to its head or WINDOW."""

    reached: int
    head: int
    rows: Sequence[AuditLine | ScanEvent]
    taken: int = 0
    first: int = -1

    def __post_init__(self) -> None:
        self.first = self.reached
        self.rows = [row for row in self.rows if row.seq <= self.head]

    def take(self, row: AuditLine | ScanEvent) -> None:
        self.reached = row.seq
        self.taken += 1

    def end(self, limit: int) -> int:
        """The position up to which every matching row was returned."""
        if self.taken < len(self.rows) or len(self.rows) == limit:
            return self.reached
        return max(self.first, min(self.head, self.first + WINDOW))


def _merged(audit: _Source, scans: _Source) -> Iterator[tuple[_Source, AuditLine | ScanEvent]]:
    """The rows of both sources by time; the order within each source is kept."""
    left, right = list(audit.rows), list(scans.rows)
    while left or right:
        if left and (not right or _moment(left[0]) <= _moment(right[0])):
            yield audit, left.pop(0)
        else:
            yield scans, right.pop(0)


def _moment(row: AuditLine | ScanEvent) -> datetime:
    return row.at if isinstance(row, ScanEvent) else datetime.fromisoformat(row.at)


def _audit_rows(position: EventPosition, filters: EventFilters) -> list[AuditLine]:
    only = _verbs(filters)
    if filters.cluster is not None:
        only &= Q(cluster_id=str(filters.cluster))
    if (visible_clusters := visible_texts("view")) is not None:
        campaign_events = Q(cluster_id="", verb__startswith="campaign.")
        campaigns = [str(key) for key in visible_campaigns().values_list("pk", flat=True)]
        only &= Q(cluster_id__in=visible_clusters) | campaign_events & Q(correlation__in=campaigns)
    return lines_between(position.audit, position.audit + WINDOW, only=only, limit=filters.limit)


def _scan_rows(position: EventPosition, filters: EventFilters) -> list[ScanEvent]:
    if not filters.wants("scan"):
        return []
    rows = ScanEvent.objects.filter(visible(), seq__gt=position.scans, seq__lte=position.scans + WINDOW)
    if filters.cluster is not None:
        rows = rows.filter(cluster_id=filters.cluster)
    return list(rows.order_by("seq")[: filters.limit])


def _verbs(filters: EventFilters) -> Q:
    condition = Q(verb=SCAN_REQUESTED) if filters.wants("scan") else Q(pk__in=())
    if filters.wants("plan"):
        condition |= Q(verb__in=PLAN_VERBS)
    if filters.wants("rollout"):
        condition |= Q(verb__startswith="rollout.") & ~Q(verb__in=PLAN_VERBS)
    for kind in ("journey", "campaign"):
        if filters.wants(kind):
            condition |= Q(verb__startswith=f"{kind}.")
    return condition


def _event(row: AuditLine | ScanEvent, cursor: str) -> ResourceEvent:
    if isinstance(row, ScanEvent):
        scan_fields: dict[str, Any] = {"kind": "scan", "event": f"scan.{row.state}", "subject": row.scan_id}
        return ResourceEvent(cursor=cursor, at=row.at, cluster=row.cluster_id, outcome=row.code, **scan_fields)
    family = row.verb.partition(".")[0]
    kind: Any = "plan" if row.verb in PLAN_VERBS else family
    return ResourceEvent(
        cursor=cursor,
        at=datetime.fromisoformat(row.at).astimezone(UTC),
        kind=kind,
        event=row.verb,
        subject=_id(_scan_of(row) if row.verb == SCAN_REQUESTED else row.correlation),
        cluster=_id(row.cluster_id),
        outcome=row.outcome,
    )


def _scan_of(row: AuditLine) -> str:
    detail = msgspec.json.decode(row.detail.encode(), type=dict[str, Any])
    return str(detail.get("scan", ""))


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
