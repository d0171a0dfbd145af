"""Clusters for the command line: by name, and all of them without paging."""

import uuid
from collections.abc import Iterator
from datetime import datetime

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.queries.fleet.clusters import FleetAsk, FleetRow, fleet_page

CHUNK = 500


def cluster_named(name: str) -> uuid.UUID:
    """The id of the cluster of that name. Raises NotFound."""
    found = Cluster.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise NotFound(f"no cluster named {name!r}")
    return found


def every_cluster(*, now: datetime) -> Iterator[FleetRow]:
    """Every registered cluster, by name."""
    ask = FleetAsk(flat=True)
    while True:
        page = fleet_page(ask, now=now, limit=CHUNK)
        yield from page.rows
        if not page.next_cursor:
            return
        ask = FleetAsk(flat=True, cursor=page.next_cursor)
