"""The values of badges: of one cluster, and of every cluster that the caller may see."""

import uuid
from datetime import datetime
from typing import Any

from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.fleet.clusters import BUCKETS, FleetFilters, matching_rows, stale_after
from migrations_app.queries.fleet.scan_interval import interval_of, is_stale
from migrations_app.readiness.outputs.badge import BadgeFacts


def facts_of_cluster(cluster_id: uuid.UUID, *, now: datetime) -> tuple[str, BadgeFacts]:
    """The name of the cluster and the values of its badge. Raises NotFound."""
    head = cluster_head(cluster_id, now=now)
    seen = head.snapshot
    facts = BadgeFacts(
        verdict=seen.verdict if seen else "",
        next_hop=seen.next_hop if seen else "",
        blockers=seen.blockers if seen else 0,
        complete=seen.complete if seen else False,
        stale=head.stale,
        unreachable=head.unreachable,
        no_karpenter=bool(seen and seen.stage == "no_karpenter"),
        scanned_at=seen.scanned_at if seen else None,
    )
    return head.name, facts


def facts_of_fleet(now: datetime) -> tuple[BadgeFacts, ...]:
    """The values of every cluster that counts; samples only count while there is no other cluster."""
    rows = matching_rows(FleetFilters(), now=now).order_by("pk")
    return tuple(_facts(row, now=now) for row in rows.iterator(chunk_size=500))


def _facts(row: Any, *, now: datetime) -> BadgeFacts:  # noqa: ANN401 - a Cluster with annotations
    seen, limit = row.latest, stale_after(interval_of(row))
    return BadgeFacts(
        verdict=seen.verdict if seen else "",
        next_hop=seen.next_hop if seen else "",
        blockers=seen.blockers if seen else 0,
        complete=seen.complete if seen else False,
        stale=bool(seen and is_stale(seen.scanned_at, limit=limit, now=now)),
        unreachable=BUCKETS[row.bucket] == "unreachable",
        no_karpenter=bool(seen and seen.stage == "no_karpenter"),
        scanned_at=seen.scanned_at if seen else None,
    )
