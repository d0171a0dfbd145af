"""Snapshots of the whole fleet, and the nodes of one snapshot, page by page."""

import uuid
from dataclasses import dataclass

from django.db.models import Q

from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.scan import Snapshot
from migrations_app.queries import pagination
from migrations_app.queries.cluster.detail import SnapshotRow, nodes_of
from migrations_app.queries.pagination import Page, keys_of, moment_and_id, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLine(SnapshotRow):
    """One snapshot in a list across clusters."""

    cluster: uuid.UUID
    cluster_name: str


def snapshot_page(*, cluster: uuid.UUID | None, complete: bool | None, after: str, limit: int) -> Page[SnapshotLine]:
    """One page, newest first; None means no filter."""
    rows = Snapshot.objects.filter(visible()).select_related("cluster").defer("cluster__sealed", "parts")
    rows = rows.order_by("-scanned_at", "-pk")
    if cluster is not None:
        rows = rows.filter(cluster_id=cluster)
    if complete is not None:
        rows = rows.filter(complete=complete)
    keys = moment_and_id(after)
    if keys:
        when, last = keys
        rows = rows.filter(Q(scanned_at__lt=when) | Q(scanned_at=when, pk__lt=last))
    return page_of(list(rows[: limit + 1]), limit=limit, row=_line, key=_key)


def node_page(snapshot_id: uuid.UUID, *, owner: str, q: str, after: str, limit: int) -> Page[OwnedNode]:
    """One page of a snapshot's nodes, by name; empty texts mean no filter. Raises NotFound."""
    keys = keys_of(after, (str,))
    beyond = str(keys[0]) if keys else ""
    found = [
        node
        for node in sorted(nodes_of(snapshot_id), key=lambda node: node.name)
        if node.name > beyond and owner in ("", node.owner) and q in node.name + " " + node.pool
    ]
    return page_of(
        found[: limit + 1], limit=limit, row=lambda node: node, key=lambda node: pagination.encode((node.name,))
    )


def _key(row: Snapshot) -> str:
    return pagination.encode((row.scanned_at.isoformat(), str(row.pk)))


def _line(row: Snapshot) -> SnapshotLine:
    return from_row(SnapshotLine, row, cluster=row.cluster_id, cluster_name=row.cluster.name, digest=row.content_id)
