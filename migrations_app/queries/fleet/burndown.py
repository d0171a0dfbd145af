"""Burndown of legacy objects over the last ninety days, for a cluster, a group or the whole fleet."""

import uuid
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import QuerySet

from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.groups import groups_in_sight
from migrations_app.queries.fleet.labels import with_labels
from migrations_app.queries.visibility import visible_clusters
from migrations_app.readiness.burndown import (
    DAYS,
    KINDS,
    NODES,
    OBJECTS,
    BurndownProjection,
    Day,
    Point,
    curve,
    projection,
)

MOST_GROUPS = 50
"""Maximum number of groups that are listed, by name."""
BEFORE = 90
"""Days before the window that are searched for the initial count."""


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
    """Two curves: legacy objects (Provisioners, AWSNodeTemplates, Machines), and the nodes that they own."""

    clusters: int
    objects: BurndownCurve
    nodes: BurndownCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    id: uuid.UUID
    name: str
    told: Burndown


@dataclass(frozen=True, slots=True, kw_only=True)
class BurndownAsk:
    """What is counted: one cluster, a group, or the clusters with these labels; all visible clusters by default."""

    cluster: uuid.UUID | None = None
    group: uuid.UUID | None = None
    labels: tuple[str, ...] = ()


def burndown(ask: BurndownAsk, *, now: datetime) -> Burndown:
    """The curves, in two queries whatever the number of clusters."""
    return _told(_Read(_chosen(ask), now.date()))


def burndown_by_group(ask: BurndownAsk, *, now: datetime) -> tuple[Burndown, tuple[GroupLine, ...]]:
    """The curves in total and for each visible group with clusters, in four queries."""
    read = _Read(_chosen(ask), now.date())
    groups = list(ClusterGroup.objects.filter(groups_in_sight()).order_by("name")[:MOST_GROUPS])
    members: dict[uuid.UUID, set[str]] = {group.pk: set() for group in groups}
    rows = ClusterGroup.clusters.through.objects.filter(clustergroup_id__in=members)
    for group_id, cluster_id in rows.values_list("clustergroup_id", "cluster_id"):
        members[group_id].add(str(cluster_id))
    lines = [GroupLine(id=one.pk, name=one.name, told=_told(read.of(members[one.pk]))) for one in groups]
    return _told(read), tuple(line for line in lines if line.told.clusters)


class _Read:
    """The stored daily counts of some clusters."""

    def __init__(self, clusters: QuerySet[Cluster], today: date) -> None:
        self.today = today
        created = clusters.order_by().values_list("pk", "created_at")
        self.registered = {str(key): at.date() for key, at in created}
        first = today - timedelta(days=DAYS + BEFORE)
        stored = LegacyDay.objects.filter(cluster__in=clusters.order_by().values("pk"), day__gte=first)
        self.days: list[Day] = [
            Day(cluster=str(cluster), day=day, counts=dict(zip(KINDS, counts, strict=True)))
            for cluster, day, *counts in stored.order_by("day").values_list("cluster_id", "day", *KINDS)
        ]

    def of(self, clusters: set[str]) -> "_Read":
        """The same data for some of the clusters."""
        part = object.__new__(_Read)
        part.today = self.today
        part.registered = {key: since for key, since in self.registered.items() if key in clusters}
        part.days = [one for one in self.days if one.cluster in part.registered]
        return part


def _told(read: _Read) -> Burndown:
    lines = (curve(read.days, kinds=kinds, registered=read.registered, today=read.today) for kinds in (OBJECTS, NODES))
    objects, nodes = (BurndownCurve(points=points, projection=projection(points)) for points in lines)
    return Burndown(clusters=len(read.registered), objects=objects, nodes=nodes)


def _chosen(ask: BurndownAsk) -> QuerySet[Cluster]:
    rows = visible_clusters()
    if ask.cluster:
        rows = rows.filter(pk=ask.cluster)
    if ask.group:
        rows = rows.filter(pk__in=ClusterGroup.objects.filter(groups_in_sight(), pk=ask.group).values("clusters"))
    return with_labels(rows, ask.labels)
