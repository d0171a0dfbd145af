"""Registered repositories, and the pull requests of a cluster."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from migrations_app.clients.git_hosts.access import web_address
from migrations_app.errors import NotFound
from migrations_app.models.pull_request import CodeRepository, PullRequest
from migrations_app.queries.ordering import SortColumn, orders, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import current_scope, groups_of, sees_all, visible_clusters

MAX_REQUESTS = 100
"""Maximum number of listed requests of a cluster."""
STATES = tuple(PullRequest.State.values)
_NEWEST = orders({"made_at": SortColumn("made_at", datetime)}, SortColumn("pk", uuid.UUID, descending=True))["-made_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRow:
    """One repository, without its credential."""

    id: uuid.UUID
    kind: str
    address: str
    app: str
    group: uuid.UUID | None
    """The group of clusters that it is for; None: every cluster."""
    group_name: str
    made_by_name: str
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """One pull request. `link` is its page on the Git host; empty before it exists there."""

    id: uuid.UUID
    cluster_id: uuid.UUID
    address: str
    check_id: str
    hop: str
    state: str
    base: str
    branch: str
    digest: str
    number: int | None
    error_code: str
    error: str
    branch_left: bool
    made_by_name: str
    made_at: datetime
    approved_by_name: str
    approved_at: datetime | None
    looked_at: datetime | None
    link: str


def repository_rows(cluster_id: uuid.UUID | None = None) -> tuple[RepositoryRow, ...]:
    """The repositories that the caller may use, of that cluster if one is given, by address; there are few. Who
    administers sees all."""
    rows = CodeRepository.objects.defer("sealed").select_related("group")
    if cluster_id is not None:
        rows = rows.filter(for_cluster(cluster_id))
    if not sees_all("administer") and not sees_all("operate"):
        rows = rows.filter(Q(group=None) | Q(group__in=current_scope().permissions.groups_with("operate")))
    return tuple(
        from_row(RepositoryRow, row, group=row.group_id, group_name=row.group.name if row.group else "") for row in rows
    )


def for_cluster(cluster_id: uuid.UUID) -> Q:
    """Filter for the repositories that are for every cluster, or for a group that the cluster is in."""
    return Q(group=None) | Q(group__in=groups_of(cluster_id))


def requests_of(cluster_id: uuid.UUID) -> tuple[RequestRow, ...]:
    """The newest pull requests of a cluster, if the caller may see the cluster."""
    rows = PullRequest.objects.filter(cluster__in=visible_clusters().filter(pk=cluster_id)).defer("sealed")
    return tuple(map(_row, rows[:MAX_REQUESTS]))


def request_page(cluster_id: uuid.UUID, *, after: str, limit: int) -> Page[RequestRow]:
    """One page of the pull requests of a cluster, newest first. Raises NotFound if the caller may not see the
    cluster.
    """
    if not visible_clusters().filter(pk=cluster_id).exists():
        raise NotFound("no such cluster")
    rows = PullRequest.objects.filter(cluster=cluster_id).defer("sealed")
    return sorted_page(rows, _NEWEST, after=after, limit=limit, row=_row)


def newest_by_check(cluster_id: uuid.UUID, hop: str) -> Mapping[str, RequestRow]:
    """The newest approved pull request of each check at that hop."""
    requests = [
        request
        for request in requests_of(cluster_id)
        if request.hop == hop and request.state != PullRequest.State.PREVIEWED
    ]
    return {request.check_id: request for request in reversed(requests)}


def request_row(request_id: uuid.UUID) -> RequestRow:
    """One pull request of a cluster that the caller may see. Raises NotFound."""
    rows = PullRequest.objects.filter(cluster__in=visible_clusters(), pk=request_id)
    row = rows.defer("sealed").first()
    if row is None:
        raise NotFound("no such pull request")
    return _row(row)


def _row(row: PullRequest) -> RequestRow:
    link = web_address(row.kind, row.address, number=row.number) if row.number else ""
    return from_row(RequestRow, row, link=link)
