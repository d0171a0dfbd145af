"""The only reader of the audit log: pages for people and tools, and full exports as lines for verification."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Annotated

from django.db.models import Count, Max, Min, Q, QuerySet
from django.db.models.functions import Substr
from msgspec import Meta

from migrations_app.audit_verify import FIELDS, Link, line_of
from migrations_app.models.audit import AuditEvent, AuditHead
from migrations_app.queries.ordering import SortColumn, order_of, orders, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.visibility import visible_clusters, visible_texts

CHUNK = 2000
FAMILIES = (
    "rollout", "step", "policy", "switch", "cluster", "group", "view", "waiver", "access", "scan", "token", "sign_in",
    "account", "team", "service", "audit", "feed",
)  # fmt: skip
"""Families of verbs: the part before the dot."""

AUDIT_ORDERS = orders({"seq": SortColumn("seq", int)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilters:
    """Filters of the audit log; empty means no filter. `verb` is a verb or family, `text` matches in any column."""

    actor: str = ""
    verb: str = ""
    outcome: str = ""
    cluster: str = ""
    plan: str = ""
    correlation: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One event as stored (A50)."""

    seq: int
    at: str
    actor: str
    method: Annotated[str, Meta(description="session, token, worker, cli or system.")]
    token_id: Annotated[str, Meta(description="A hash that names the token.")]
    address: str
    verb: str
    object: str
    cluster_id: str
    cluster_identity: str
    plan_digest: str
    step: str
    attempt: int
    request_digest: str
    outcome: str
    correlation: Annotated[str, Meta(description="The rollout, or the X-Request-ID of the request.")]
    detail: str
    prev: str
    hash: str


COLUMNS = tuple(column.name for column in fields(AuditLine))


def events_of(correlation: uuid.UUID) -> tuple[int, int] | None:
    """The numbers of the first and last event of a rollout; None if there are none. Other events may lie
    between them.
    """
    numbers = AuditEvent.objects.filter(correlation=str(correlation)).aggregate(first=Min("seq"), last=Max("seq"))
    return None if numbers["first"] is None else (numbers["first"], numbers["last"])


def audit_page(filters: AuditFilters, *, after: str, limit: int, ordering: str = "-seq") -> Page[AuditLine]:
    """One page of events, in one of AUDIT_ORDERS. Raises InvalidInput for an invalid cursor."""
    return sorted_page(matching(filters), order_of(AUDIT_ORDERS, ordering), after=after, limit=limit, row=_line)


def audit_lines(filters: AuditFilters) -> Iterator[AuditLine]:
    """All matching events that exist now, oldest first, read in chunks, so that no query stays open while they are
    sent. Visibility is decided when this is called, not when the first line is read.
    """
    return _walked(matching(filters), first=filters.first or 1, last=min(filters.last or head_seq(), head_seq()))


def _walked(fitting: QuerySet[AuditEvent], *, first: int, last: int) -> Iterator[AuditLine]:
    seen = first - 1
    while seen < last:
        rows = list(fitting.filter(seq__gt=seen, seq__lte=last).order_by("seq")[:CHUNK])
        yield from map(_line, rows)
        if len(rows) < CHUNK:
            return
        seen = rows[-1].seq


def lines_between(after: int, until: int, *, only: Q, limit: int) -> list[AuditLine]:
    """Matching events with numbers above `after` and up to `until`, oldest first, at most `limit`.

    `only` has to contain the visibility of the caller: it is not checked here.
    """
    rows = AuditEvent.objects.filter(only, seq__gt=after, seq__lte=until)
    return list(map(_line, rows.order_by("seq")[:limit]))


def export_lines(filters: AuditFilters | None = None) -> Iterator[bytes]:
    """The events as JSON lines for `audit verify`, each with its newline."""
    return map(as_line, audit_lines(filters or AuditFilters()))


def as_line(event: AuditLine) -> bytes:
    """The event in the form of an export."""
    return line_of({name: getattr(event, name) for name in (*FIELDS, "hash")})


def density(filters: AuditFilters, *, now: datetime, days: int = 30) -> tuple[tuple[str, int], ...]:
    """The number of matching events on each of the last `days` days, oldest first."""
    start = now.astimezone(UTC) - timedelta(days=days - 1)
    rows = matching(filters).filter(at__gte=f"{start:%Y-%m-%d}").order_by()
    counted = rows.annotate(day=Substr("at", 1, 10)).values("day").annotate(number=Count("seq"))
    counts = {str(row["day"]): int(row["number"]) for row in counted}
    every = (f"{start + timedelta(days=day):%Y-%m-%d}" for day in range(days))
    return tuple((day, counts.get(day, 0)) for day in every)


def cluster_names(lines: Iterable[AuditLine]) -> dict[str, str]:
    """The current names of the events' clusters, by id; removed clusters are missing."""
    ids = {line.cluster_id for line in lines if line.cluster_id}
    return {
        str(row.pk): row.name
        for row in visible_clusters().filter(pk__in=[cluster_id for cluster_id in ids if _is_id(cluster_id)])
    }


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def head() -> Link:
    """The newest event according to the head row; number 0 for an empty log."""
    row = AuditHead.objects.filter(pk=1).first()
    return Link(row.seq, "", row.hash) if row else Link(0, "", "")


def head_seq() -> int:
    """The number of the newest event."""
    return head().seq


def moment_of(seq: int) -> datetime | None:
    """When that event was written; None if it does not exist."""
    at = AuditEvent.objects.filter(pk=seq).values_list("at", flat=True).first()
    return datetime.fromisoformat(at) if at else None


def count_since(verb: str, *, since: datetime, address: str = "") -> int:
    """The number of events of that verb since that time, optionally only those from one address."""
    rows = AuditEvent.objects.filter(verb=verb, at__gte=as_text(since))
    return (rows.filter(address=address) if address else rows).count()


def newest(verb: str) -> AuditLine | None:
    """The newest event of that verb; None if there is none."""
    row = AuditEvent.objects.filter(verb=verb).order_by("-seq").first()
    return _line(row) if row else None


def as_text(moment: datetime) -> str:
    """The time as the log stores it: texts of equal length, which sort by time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def matching(wanted: AuditFilters) -> QuerySet[AuditEvent]:
    """The visible rows that match the filters."""
    filters = {
        "actor": wanted.actor,
        "outcome": wanted.outcome,
        "cluster_id": wanted.cluster,
        "correlation": wanted.correlation,
        "at__gte": as_text(wanted.since) if wanted.since else "",
        "at__lt": as_text(wanted.until) if wanted.until else "",
        "seq__gte": wanted.first,
        "seq__lte": wanted.last,
    }
    rows = AuditEvent.objects.filter(**{name: value for name, value in filters.items() if value})
    if (visible_ids := visible_texts("audit")) is not None:
        rows = rows.filter(cluster_id__in=visible_ids)
    if wanted.plan:
        rows = rows.filter(plan_digest__startswith=wanted.plan.removeprefix("sha256:"))
    if wanted.verb:
        rows = rows.filter(Q(verb=wanted.verb) | Q(verb__startswith=f"{wanted.verb}."))
    for word in wanted.text.split():
        rows = rows.filter(
            Q(object__icontains=word)
            | Q(detail__icontains=word)
            | Q(actor__icontains=word)
            | Q(outcome__icontains=word)
        )
    return rows


def _line(row: AuditEvent) -> AuditLine:
    return AuditLine(**{name: getattr(row, name) for name in COLUMNS})
