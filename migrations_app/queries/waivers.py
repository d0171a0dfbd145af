"""Waivers: those that hold at a cluster, and the list of all that ever were."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import Exists, OuterRef, Q

from migrations_app.errors import NotFound
from migrations_app.models.waiver import Waiver
from migrations_app.queries import cursor
from migrations_app.queries.pages import Page, moment_and_id, page_of
from migrations_app.queries.visible import visible_or_of_all
from migrations_app.readiness.waiving import Waived

State = Literal["active", "ended", "revoked"]
STATES: tuple[State, ...] = ("active", "ended", "revoked")
SOON = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverRow:
    """`cluster` is None for a waiver of all clusters. `days_left` is 0 on its last day, and once it is over."""

    id: uuid.UUID
    check: str
    cluster: uuid.UUID | None
    cluster_name: str
    reason: str
    owner: str
    blockers: bool
    made_by: str
    made_at: datetime
    ends_at: datetime
    revoked_by: str
    revoked_at: datetime | None
    state: State
    days_left: int
    soon: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverAsk:
    """Empty texts mean no filter; `cluster` leaves those of all clusters in, since they hold there too."""

    cluster: uuid.UUID | None = None
    check: str = ""
    state: State | Literal[""] = ""


def holding(now: datetime) -> Q:
    """Waivers that are neither over nor revoked."""
    return Q(revoked_at=None, ends_at__gt=now)


def held_at(cluster_id: uuid.UUID, now: datetime) -> tuple[Waived, ...]:
    """What holds at one cluster."""
    here = Q(cluster=None) | Q(cluster_id=cluster_id)
    return tuple(_waived(row) for row in Waiver.objects.filter(holding(now), here))


def held_everywhere(now: datetime) -> Mapping[uuid.UUID | None, tuple[Waived, ...]]:
    """What holds, by cluster; under None stands what holds at all of them."""
    found: dict[uuid.UUID | None, tuple[Waived, ...]] = {}
    for row in Waiver.objects.filter(holding(now)):
        found[row.cluster_id] = (*found.get(row.cluster_id, ()), _waived(row))
    return found


def covered(now: datetime, *, cluster: str) -> Q:
    """For rows of findings: whether a waiver covers the failing check; `cluster` names the column of its cluster."""
    mine = Q(cluster=None) | Q(cluster=OuterRef(cluster))
    rows = Waiver.objects.filter(holding(now), mine, check_id=OuterRef("check_id"))
    return Q(status="fail") & (Exists(rows.filter(blockers=True)) | ~Q(severity="blocker") & Exists(rows))


def waiver_of(waiver_id: uuid.UUID, *, now: datetime) -> WaiverRow:
    """One waiver. Raises NotFound."""
    rows = Waiver.objects.filter(visible_or_of_all()).select_related("cluster").defer("cluster__sealed")
    row = rows.filter(pk=waiver_id).first()
    if row is None:
        raise NotFound("no such waiver")
    return _row(row, now)


def waiver_page(ask: WaiverAsk, *, now: datetime, after: str = "", limit: int = 100) -> Page[WaiverRow]:
    """One page, newest first."""
    rows = Waiver.objects.filter(_in_state(ask.state, now), visible_or_of_all())
    rows = rows.select_related("cluster").defer("cluster__sealed")
    if ask.cluster:
        rows = rows.filter(Q(cluster=None) | Q(cluster_id=ask.cluster))
    if ask.check:
        rows = rows.filter(check_id=ask.check)
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(made_at__lt=when) | Q(made_at=when, pk__lt=last))
    found = list(rows.order_by("-made_at", "-pk")[: limit + 1])
    return page_of(found, limit=limit, row=lambda row: _row(row, now), key=_key)


def _in_state(state: str, now: datetime) -> Q:
    return {
        "active": holding(now),
        "ended": Q(revoked_at=None, ends_at__lte=now),
        "revoked": Q(revoked_at__isnull=False),
    }.get(state, Q())


def _key(row: Waiver) -> str:
    return cursor.encode((row.made_at.isoformat(), str(row.pk)))


def _waived(row: Waiver) -> Waived:
    return Waived(
        check=row.check_id,
        owner=row.owner_name,
        reason=row.reason,
        ends_at=row.ends_at,
        blockers=row.blockers,
        own=row.cluster_id is not None,
    )


def _row(row: Waiver, now: datetime) -> WaiverRow:
    state: State = "revoked" if row.revoked_at else "active" if row.ends_at > now else "ended"
    left = row.ends_at - now if state == "active" else timedelta(0)
    return WaiverRow(
        id=row.pk,
        check=row.check_id,
        cluster=row.cluster_id,
        cluster_name=row.cluster.name if row.cluster else "",
        reason=row.reason,
        owner=row.owner_name,
        blockers=row.blockers,
        made_by=row.made_by_name,
        made_at=row.made_at,
        ends_at=row.ends_at,
        revoked_by=row.revoked_by_name,
        revoked_at=row.revoked_at,
        state=state,
        days_left=left.days,
        soon=state == "active" and left <= SOON,
    )
