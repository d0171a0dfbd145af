"""Clusters by name, for the command line and the search, and all of them without paging."""

import uuid
from collections.abc import Iterator
from datetime import datetime

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.queries.fleet.clusters import FleetFilters, FleetRow, fleet_page
from migrations_app.queries.fleet.counted_clusters import counting_clusters
from migrations_app.queries.visibility import visible_clusters

CHUNK = 500


def cluster_named(name: str) -> uuid.UUID:
    """The id of the cluster of that name. Raises NotFound."""
    cluster_id = Cluster.objects.filter(name=name).values_list("pk", flat=True).first()
    if cluster_id is None:
        raise NotFound(f"no cluster named {name!r}")
    return cluster_id


def live_clusters() -> int:
    """The number of registered clusters that karpdash connects to over a network."""
    return Cluster.objects.exclude(source__in=Cluster.LOCAL_SOURCES).count()


def hidden_samples() -> int:
    """The number of sample clusters that lists leave out, since there is another cluster."""
    return visible_clusters().exclude(counting_clusters()).count()


def named_clusters(words: str, *, limit: int) -> tuple[tuple[uuid.UUID, str, str], ...]:
    """Id, name and environment of the first visible clusters whose name contains every word."""
    rows = visible_clusters()
    for word in words.split()[:5]:
        rows = rows.filter(name__icontains=word)
    return tuple(rows.order_by("name").values_list("pk", "name", "environment")[:limit])


def every_cluster(*, now: datetime) -> Iterator[FleetRow]:
    """Every registered cluster, by name."""
    filters = FleetFilters(flat=True)
    while True:
        page = fleet_page(filters, now=now, limit=CHUNK)
        yield from page.rows
        if not page.next_cursor:
            return
        filters = FleetFilters(flat=True, cursor=page.next_cursor)
