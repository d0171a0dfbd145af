"""How many of the clusters that count as ready are judged by a result that is out of date."""

from dataclasses import replace
from datetime import datetime

from migrations_app.queries.fleet.clusters import FleetFilters, matching_clusters, stale_after
from migrations_app.queries.fleet.scan_interval import interval_of, is_stale, with_intervals

READY = ("ready", "ready_with_warnings")


def stale_ready(filters: FleetFilters, *, now: datetime) -> int:
    """The number of ready clusters whose newest result is stale. Status and stage of the filters do not count, as in
    the totals of the fleet page.
    """
    everywhere = replace(filters, bucket="", buckets=READY, stage="")
    rows = with_intervals(matching_clusters(everywhere, now=now)).order_by("pk")
    columns = rows.only("interval_seconds", "latest__scanned_at").select_related("latest")
    limits = ((cluster.latest.scanned_at, stale_after(interval_of(cluster))) for cluster in columns if cluster.latest)
    return sum(is_stale(scanned_at, limit=limit, now=now) for scanned_at, limit in limits)
