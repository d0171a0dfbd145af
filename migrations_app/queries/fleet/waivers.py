"""Waivers: the active ones of a cluster, and the list of all, including ended ones."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from migrations_app.checks.base import CONFIRMABLE
from migrations_app.checks.registry import ids_of, renamed_checks
from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.policy import GroupWaiver, Waiver
from migrations_app.models.scan import FindingRow
from migrations_app.queries import pagination
from migrations_app.queries.fleet.groups import visible_groups
from migrations_app.queries.pagination import Page, moment_and_id, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible_or_of_all
from migrations_app.readiness.waivers import WaiverRule

WaiverReach = Literal["covers", "unknown", "nothing"]
"""What a waiver does now: it covers a failure; nothing fails, and something is unknown, which no waiver covers; nothing
fails."""
WaiverState = Literal["active", "ended", "revoked"]
STATES: tuple[WaiverState, ...] = ("active", "ended", "revoked")
SOON_PERIOD = timedelta(days=14)
_MEMBERS = ClusterGroup.clusters.through


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverRow:
    """One waiver.

    `cluster` is None for a waiver of a group (`group`) or of all clusters; `hop` is empty for every hop. `group` is
    also None if the group was deleted; its name stays. `days_left` is 0 on the last day and afterwards.
    """

    id: uuid.UUID
    check: str
    hop: str
    cluster: uuid.UUID | None
    cluster_name: str
    group: uuid.UUID | None = None
    group_name: str = ""
    reason: str
    owner: str
    blockers: bool
    made_by: str
    made_at: datetime
    ends_at: datetime
    revoked_by: str
    revoked_at: datetime | None
    state: WaiverState
    days_left: int
    soon: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverFilters:
    """Filters of waivers; empty means no filter. `cluster` includes waivers of its groups and of all clusters."""

    cluster: uuid.UUID | None = None
    group: uuid.UUID | None = None
    check: str = ""
    state: WaiverState | Literal[""] = ""


def active_waivers(now: datetime) -> Q:
    """Filter for active waivers: neither ended nor revoked."""
    return Q(revoked_at=None, ends_at__gt=now)


def active_waivers_of_cluster(cluster_id: uuid.UUID, now: datetime) -> tuple[WaiverRule, ...]:
    """The active waivers of one cluster."""
    return tuple(_waived(row) for row in Waiver.objects.filter(active_waivers(now), waivers_over_cluster(cluster_id)))


def waivers_by_cluster(now: datetime) -> Mapping[uuid.UUID | None, tuple[WaiverRule, ...]]:
    """The active waivers by cluster; those of all clusters are under None."""
    by_cluster: dict[uuid.UUID | None, tuple[WaiverRule, ...]] = {}
    rows = list(Waiver.objects.filter(active_waivers(now)).select_related("scope"))
    members = _members({scope.group_id for row in rows if (scope := _scope(row)) and scope.group_id})
    for row in rows:
        scope = _scope(row)
        for place in members.get(scope.group_id, ()) if scope else (row.cluster_id,):
            by_cluster[place] = (*by_cluster.get(place, ()), _waived(row))
    return by_cluster


def waivers_over_cluster(cluster_id: uuid.UUID) -> Q:
    """Filter for waivers of that cluster, of its groups, or of all clusters."""
    in_group = Q(scope__group__in=_MEMBERS.objects.filter(cluster_id=cluster_id).values("clustergroup_id"))
    return Q(cluster=None, scope=None) | Q(cluster=cluster_id) | in_group


def covers_now(cluster_id: uuid.UUID, *, check: str, hop: str) -> WaiverReach:
    """Whether a waiver of the check for that hop, or for every hop if it is empty, covers anything of the newest scan
    of the cluster."""
    latest = Cluster.objects.filter(pk=cluster_id).values_list("latest", flat=True).first()
    rows = FindingRow.objects.filter(content__snapshots=latest, check_id__in=ids_of(check))
    statuses = set(rows.filter(Q(hop=hop) if hop else Q()).values_list("status", flat=True))
    if "fail" in statuses or ("manual" in statuses and hop and check in CONFIRMABLE):
        return "covers"
    return "unknown" if "unknown" in statuses or latest is None else "nothing"


def visible_waivers() -> Q:
    """Filter for waivers of visible clusters and groups, and those of all clusters."""
    return visible_or_of_all() & (Q(scope=None) | Q(visible_groups("scope__group"), scope__isnull=False))


def waiver_states(now: datetime) -> dict[str, int]:
    """The number of visible waivers in each state; active ones that end soon are counted as `ending` instead."""
    soon = Q(ends_at__lte=now + SOON_PERIOD)
    conditions = {
        "active": active_waivers(now) & ~soon,
        "ending": active_waivers(now) & soon,
        "ended": _in_state("ended", now),
        "revoked": _in_state("revoked", now),
    }
    rows = Waiver.objects.filter(visible_waivers())
    return dict(rows.aggregate(**{name: Count("pk", filter=which) for name, which in conditions.items()}))


def _scope(row: Waiver) -> GroupWaiver | None:
    return getattr(row, "scope", None)


def _members(groups: set[uuid.UUID]) -> Mapping[uuid.UUID | None, tuple[uuid.UUID, ...]]:
    """The clusters of each group; makes no query without groups."""
    by_group: dict[uuid.UUID | None, tuple[uuid.UUID, ...]] = {}
    rows = _MEMBERS.objects.filter(clustergroup_id__in=groups) if groups else _MEMBERS.objects.none()
    for group, cluster in rows.order_by("pk").values_list("clustergroup_id", "cluster_id"):
        by_group[group] = (*by_group.get(group, ()), cluster)
    return by_group


def covered_by_waiver(now: datetime, *, cluster: str) -> Q:
    """Condition for rows of findings: a waiver covers the open check. `cluster` names the column of the row's
    cluster.
    """
    in_scope = Q(cluster=None, scope=None) | Q(cluster=OuterRef(cluster)) | Q(scope__group__clusters=OuterRef(cluster))
    rows = Waiver.objects.filter(active_waivers(now), in_scope)
    covered = _accepts(rows.filter(check_id=OuterRef("check_id")))
    for ids in renamed_checks():
        covered |= Q(check_id__in=ids) & _accepts(rows.filter(check_id__in=ids))
    return covered


def _accepts(rows: QuerySet[Waiver]) -> Q:
    """Condition: one of the waivers, which are of the check of the finding, covers its status, hop and severity."""
    failing = Q(status="fail") & _weighs(rows.filter(hop__in=("", OuterRef("hop"))))
    return failing | Q(status="manual", check_id__in=CONFIRMABLE) & _weighs(rows.filter(hop=OuterRef("hop")))


def _weighs(rows: QuerySet[Waiver]) -> Q:
    """Condition: one of the waivers covers a finding of that severity."""
    return Q(Exists(rows.filter(blockers=True))) | ~Q(severity="blocker") & Q(Exists(rows))


def waiver_of(waiver_id: uuid.UUID, *, now: datetime) -> WaiverRow:
    """One waiver. Raises NotFound."""
    row = (
        Waiver.objects.filter(visible_waivers())
        .select_related("cluster", "scope")
        .defer("cluster__sealed")
        .filter(pk=waiver_id)
        .first()
    )
    if row is None:
        raise NotFound("no such waiver")
    return _row(row, now)


def waiver_page(filters: WaiverFilters, *, now: datetime, after: str = "", limit: int = 100) -> Page[WaiverRow]:
    """One page of waivers, newest first."""
    rows = Waiver.objects.filter(_in_state(filters.state, now), visible_waivers())
    rows = rows.select_related("cluster", "scope").defer("cluster__sealed")
    if filters.cluster:
        rows = rows.filter(waivers_over_cluster(filters.cluster))
    if filters.group:
        rows = rows.filter(scope__group=filters.group)
    if filters.check:
        rows = rows.filter(check_id__in=ids_of(filters.check))
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(made_at__lt=when) | Q(made_at=when, pk__lt=last))
    waivers = list(rows.order_by("-made_at", "-pk")[: limit + 1])
    return page_of(waivers, limit=limit, row=lambda row: _row(row, now), key=_key)


def _in_state(state: str, now: datetime) -> Q:
    return {
        "active": active_waivers(now),
        "ended": Q(revoked_at=None, ends_at__lte=now),
        "revoked": Q(revoked_at__isnull=False),
    }.get(state, Q())


def _key(row: Waiver) -> str:
    return pagination.encode((row.made_at.isoformat(), str(row.pk)))


def _waived(row: Waiver) -> WaiverRule:
    return WaiverRule(
        check=row.check_id,
        owner=row.owner_name,
        reason=row.reason,
        ends_at=row.ends_at,
        blockers=row.blockers,
        own=row.cluster_id is not None,
        hop=row.hop,
    )


def _row(row: Waiver, now: datetime) -> WaiverRow:
    state: WaiverState = "revoked" if row.revoked_at else "active" if row.ends_at > now else "ended"
    left = row.ends_at - now if state == "active" else timedelta(0)
    scope = _scope(row)
    return from_row(
        WaiverRow,
        row,
        check=row.check_id,
        cluster=row.cluster_id,
        cluster_name=row.cluster.name if row.cluster else "",
        group=scope.group_id if scope else None,
        group_name=scope.group_name if scope else "",
        owner=row.owner_name,
        made_by=row.made_by_name,
        revoked_by=row.revoked_by_name,
        state=state,
        days_left=left.days,
        soon=state == "active" and left <= SOON_PERIOD,
    )
