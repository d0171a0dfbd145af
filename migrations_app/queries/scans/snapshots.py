"""Snapshots of the whole fleet, and the nodes of one snapshot, page by page."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F

from migrations_app.errors import NotFound
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.scan import Snapshot
from migrations_app.queries import pagination
from migrations_app.queries.clusters.detail import SnapshotRow, nodes_of
from migrations_app.queries.ordering import SortColumn, order_of, orders, sorted_page
from migrations_app.queries.pagination import Page, keys_of, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters

SNAPSHOT_ORDERS = orders(
    {
        "scanned_at": SortColumn("scanned_at", datetime),
        "cluster_name": SortColumn("cluster_name"),
        "blockers": SortColumn("blockers", int),
    },
    SortColumn("scanned_at", datetime, descending=True),
    SortColumn("pk", uuid.UUID, descending=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLine(SnapshotRow):
    """One snapshot in a list across clusters."""

    cluster: uuid.UUID
    cluster_name: str


def snapshot_page(
    *, cluster: uuid.UUID | None, complete: bool | None, after: str, limit: int, ordering: str = "-scanned_at"
) -> Page[SnapshotLine]:
    """One page, in one of SNAPSHOT_ORDERS; None means no filter. Raises NotFound for a cluster that is not there."""
    rows = Snapshot.objects.filter(visible()).select_related("cluster").defer("cluster__sealed", "parts")
    rows = rows.annotate(cluster_name=F("cluster__name"))
    if cluster is not None:
        if not visible_clusters().filter(pk=cluster).exists():
            raise NotFound("no such cluster")
        rows = rows.filter(cluster_id=cluster)
    if complete is not None:
        rows = rows.filter(complete=complete)
    return sorted_page(rows, order_of(SNAPSHOT_ORDERS, ordering), after=after, limit=limit, row=_line)


def node_page(snapshot_id: uuid.UUID, *, owner: str, q: str, after: str, limit: int) -> Page[OwnedNode]:
    """One page of a snapshot's nodes, by name; empty texts mean no filter. Raises NotFound."""
    keys = keys_of(after, (str,))
    beyond = str(keys[0]) if keys else ""
    owned_nodes = [
        node
        for node in sorted(nodes_of(snapshot_id), key=lambda node: node.name)
        if node.name > beyond and owner in ("", node.owner) and q in node.name + " " + node.pool
    ]
    return page_of(
        owned_nodes[: limit + 1], limit=limit, row=lambda node: node, key=lambda node: pagination.encode((node.name,))
    )


def _line(row: Snapshot) -> SnapshotLine:
    return from_row(SnapshotLine, row, cluster=row.cluster_id, cluster_name=row.cluster.name, digest=row.content_id)
