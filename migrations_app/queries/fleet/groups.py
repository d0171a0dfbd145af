"""Groups of clusters that the caller may see."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from migrations_app.errors import NotFound
from migrations_app.models.cluster import ClusterGroup
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, keys_of, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import current_scope, sees_all, visible_clusters

MAX_GROUPS, MAX_OUTSIDE = 200, 2000
"""Maximum number of groups, and of clusters outside a group, that a page offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """`interval_seconds` is None if the group's clusters use the default interval."""

    id: uuid.UUID
    name: str
    interval_seconds: int | None
    clusters: int
    version: int
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class Member:
    id: uuid.UUID
    name: str
    environment: str


def visible_groups(column: str = "pk") -> Q:
    """Filter for rows that name a group: the groups over which the caller has the right to view."""
    if sees_all():
        return Q()
    return Q(**{f"{column}__in": current_scope().permissions.groups_with("view")})


def group_page(*, after: str = "", limit: int = 100) -> Page[GroupRow]:
    """One page of groups, by name."""
    keys = keys_of(after, (str,))
    rows = _rows().filter(name__gt=keys[0]) if keys else _rows()
    groups = list(rows.order_by("name")[: limit + 1])
    return page_of(groups, limit=limit, row=_row, key=lambda row: pagination.encode((row.name,)))


def group_of(group_id: uuid.UUID) -> GroupRow:
    """One group. Raises NotFound."""
    row = _rows().filter(pk=group_id).first()
    if row is None:
        raise NotFound("no such group")
    return _row(row)


def members_of(group_id: uuid.UUID) -> tuple[Member, ...]:
    """The group's clusters, by name. Everyone who may see a group may see all of its clusters."""
    rows = ClusterGroup.clusters.through.objects.filter(visible_groups("clustergroup_id"), clustergroup_id=group_id)
    lines = rows.order_by("cluster__name").values_list("cluster_id", "cluster__name", "cluster__environment")
    return tuple(Member(*columns) for columns in lines)


def outside_of(group_id: uuid.UUID) -> tuple[Member, ...]:
    """Visible clusters outside the group, by name; at most MAX_OUTSIDE."""
    inside = ClusterGroup.clusters.through.objects.filter(clustergroup_id=group_id).values("cluster_id")
    rows = visible_clusters().exclude(pk__in=inside).order_by("name").values_list("pk", "name", "environment")
    return tuple(Member(*row) for row in rows[:MAX_OUTSIDE])


def groups_of_cluster(cluster_id: uuid.UUID) -> tuple[tuple[uuid.UUID, str], ...]:
    """(id, name) of the cluster's visible groups, by name."""
    rows = ClusterGroup.objects.filter(visible_groups(), clusters=cluster_id).order_by("name")
    return tuple(rows.values_list("pk", "name"))


def group_choices() -> tuple[tuple[uuid.UUID, str], ...]:
    """(id, name) of the visible groups, by name."""
    rows = ClusterGroup.objects.filter(visible_groups()).order_by("name").values_list("pk", "name")
    return tuple(rows[:MAX_GROUPS])


@dataclass(frozen=True, slots=True)
class OfferedGroups:
    """Groups to choose from, (id, name) by name; `left_out` is how many more fit but are not offered."""

    groups: tuple[tuple[uuid.UUID, str], ...]
    left_out: int


def offered_groups(*, containing: str = "", kept: Collection[str] = (), limit: int) -> OfferedGroups:
    """The first visible groups whose name contains that text, and those of `kept`, ids that are chosen already."""
    rows = ClusterGroup.objects.filter(visible_groups()).order_by("name").values_list("pk", "name")
    fitting = rows.filter(name__icontains=containing)
    offered = dict(fitting[:limit])
    left_out = max(0, fitting.count() - len(offered))
    missing = [group_id for text in kept if (group_id := _group_id(text)) is not None and group_id not in offered]
    more = dict(rows.filter(pk__in=missing[:limit]))
    return OfferedGroups(tuple(sorted((offered | more).items(), key=lambda pair: pair[1])), left_out)


def _group_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _rows() -> QuerySet[ClusterGroup]:
    return ClusterGroup.objects.filter(visible_groups()).annotate(members=Count("clusters"))


def _row(row: ClusterGroup) -> GroupRow:
    return from_row(GroupRow, row, clusters=getattr(row, "members", 0))
