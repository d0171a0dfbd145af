"""Progress of both conversions over the last ninety days, for a cluster, a group or the whole fleet."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache

from django.db.models import QuerySet

from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.counted_clusters import counting_clusters
from migrations_app.queries.fleet.groups import visible_groups
from migrations_app.queries.fleet.labels import with_labels
from migrations_app.queries.visibility import visible, visible_clusters
from migrations_app.readiness.progress.curve import (
    CLAIMS,
    COLUMNS,
    DAYS,
    MEASURES,
    NODES,
    OBJECTS,
    STORED_VERSIONS,
    BurndownProjection,
    CurveState,
    Day,
    Measure,
    Point,
    points_until,
    projection,
)

MAX_GROUPS = 50
"""Maximum number of groups that are listed, by name."""
MAX_ROLLOUTS = 30
"""Maximum number of rollouts that are marked; the newest are kept."""
DAYS_BEFORE = 90
"""Days before the window that are searched for the initial count."""
FRESH = 1
"""Days before today to which a running scan may still write, if it began before midnight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownCurve:
    """One curve and its projection."""

    points: tuple[Point, ...]
    projection: BurndownProjection

    @property
    def last(self) -> Point | None:
        return self.points[-1] if self.points else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Burndown:
    """Four curves of remaining work. To v1beta1: legacy objects (Provisioners, AWSNodeTemplates, Machines) and the
    nodes that they own. To v1: CRDs that do not store v1 alone, and claims that are not stored as v1.
    """

    clusters: int
    objects: BurndownCurve
    nodes: BurndownCurve
    stored_versions: BurndownCurve
    claims: BurndownCurve

    @property
    def curves(self) -> Mapping[str, BurndownCurve]:
        """The curves by the name of their measure."""
        return {
            OBJECTS.name: self.objects,
            NODES.name: self.nodes,
            STORED_VERSIONS.name: self.stored_versions,
            CLAIMS.name: self.claims,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    id: uuid.UUID
    name: str
    burndown: Burndown


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRollout:
    """A rollout that began in the window; `ended` is None while it is under way."""

    id: uuid.UUID
    title: str
    cluster: str
    state: str
    began: date
    ended: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownFilters:
    """Which clusters are counted: one cluster, a group, or the clusters with these labels; all visible clusters by
    default.
    """

    cluster: uuid.UUID | None = None
    group: uuid.UUID | None = None
    labels: tuple[str, ...] = ()


def burndown(filters: BurndownFilters, *, now: datetime) -> Burndown:
    """The curves, in at most four queries for any number of clusters."""
    return _burndown_of(_Read(_chosen(filters), now.date()))


def burndown_by_group(filters: BurndownFilters, *, now: datetime) -> tuple[Burndown, tuple[GroupLine, ...]]:
    """The curves in total and for each visible group with clusters, in at most six queries."""
    read = _Read(_chosen(filters), now.date())
    groups = list(ClusterGroup.objects.filter(visible_groups()).order_by("name")[:MAX_GROUPS])
    members: dict[uuid.UUID, set[str]] = {group.pk: set() for group in groups}
    rows = ClusterGroup.clusters.through.objects.filter(clustergroup_id__in=members)
    for group_id, cluster_id in rows.values_list("clustergroup_id", "cluster_id"):
        members[group_id].add(str(cluster_id))
    lines = [
        GroupLine(id=group.pk, name=group.name, burndown=_burndown_of(read, members[group.pk])) for group in groups
    ]
    return _burndown_of(read), tuple(line for line in lines if line.burndown.clusters)


def without_karpenter(filters: BurndownFilters) -> int:
    """The number of these clusters in which the newest scan found no Karpenter: nothing is left in them."""
    return _chosen(filters).order_by().filter(latest__stage="no_karpenter").count()


def rollouts_between(filters: BurndownFilters, *, first: date) -> tuple[MarkedRollout, ...]:
    """The rollouts of these clusters that began on `first` or later, oldest first."""
    clusters = _chosen(filters).order_by().values("pk")
    rows = Rollout.objects.filter(visible(), cluster__in=clusters, started_at__date__gte=first)
    columns = ("pk", "title", "cluster_name", "state", "started_at", "finished_at")
    rollouts = rows.order_by("-started_at").values_list(*columns)[:MAX_ROLLOUTS]
    return tuple(
        MarkedRollout(
            id=key, title=title, cluster=name, state=state, began=began.date(), ended=ended.date() if ended else None
        )
        for key, title, name, state, began, ended in reversed(rollouts)
    )


class _Read:
    """The stored days of some clusters.

    Recent days are read each time, older ones once per process: days before yesterday are never written again, so their
    result is cached by the counted clusters.
    """

    def __init__(self, clusters: QuerySet[Cluster], today: date) -> None:
        self.clusters, self.today = clusters.order_by(), today
        self.past_until = today - timedelta(days=FRESH + 1)
        self.registered = {str(key): at.date() for key, at in self.clusters.values_list("pk", "created_at")}
        self.recent = self._days(day__gt=self.past_until)
        newest = LegacyDay.objects.filter(day__lte=self.past_until).order_by("-pk").values_list("pk", flat=True).first()
        self.newest = newest or 0

    def _days(self, **days: date) -> list[Day]:
        stored = LegacyDay.objects.filter(cluster__in=self.clusters.values("pk"), **days)
        return [
            Day(cluster=str(cluster), day=day, counts=dict(zip(COLUMNS, counts, strict=True)))
            for cluster, day, *counts in stored.order_by("day").values_list("cluster_id", "day", *COLUMNS)
        ]

    @cached_property
    def past(self) -> list[Day]:
        """Every day before the recent ones that can have an influence."""
        return self._days(day__gte=self.today - timedelta(days=DAYS + DAYS_BEFORE), day__lte=self.past_until)

    def walk(self, registered: Mapping[str, date]) -> Iterable[tuple[Point, ...]]:
        """The points of each measure for these of the clusters."""
        key = (self.today, self.newest, frozenset(registered.items()))
        past = _kept_past(key)
        past.curves = past.curves or tuple(self._walked_past(measure, registered) for measure in MEASURES)
        for state, points in past.curves:
            now = state.copy()
            yield points + points_until(now, self.recent, registered=registered, until=self.today, today=self.today)

    def _walked_past(self, measure: Measure, registered: Mapping[str, date]) -> "_PastCurve":
        state = CurveState(measure)
        return state, points_until(state, self.past, registered=registered, until=self.past_until, today=self.today)


_PastCurve = tuple[CurveState, tuple[Point, ...]]


@dataclass(slots=True)
class _Past:
    """The state and points of each measure up to the last day that is no longer written; empty at first."""

    curves: tuple[_PastCurve, ...] = ()


@lru_cache(maxsize=64)
def _kept_past(_key: object) -> _Past:
    """The cache entry for this key; the first caller fills it."""
    return _Past()


def _burndown_of(read: _Read, only: set[str] | None = None) -> Burndown:
    all_registered = read.registered
    registered = (
        all_registered if only is None else {key: since for key, since in all_registered.items() if key in only}
    )
    curves = {
        measure.name: BurndownCurve(points=points, projection=projection(points))
        for measure, points in zip(MEASURES, read.walk(registered), strict=True)
    }
    return Burndown(clusters=len(registered), **curves)


def _chosen(filters: BurndownFilters) -> QuerySet[Cluster]:
    rows = visible_clusters()
    if filters.cluster:
        rows = rows.filter(pk=filters.cluster)
    elif not filters.group:
        rows = rows.filter(counting_clusters())
    if filters.group:
        rows = rows.filter(pk__in=ClusterGroup.objects.filter(visible_groups(), pk=filters.group).values("clusters"))
    return with_labels(rows, filters.labels)
