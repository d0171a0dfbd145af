"""How often a cluster is scanned: the one place that knows whose word counts."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Q

from migrations_app.models.cluster import Cluster


def interval_of(cluster: Cluster) -> int:
    """Seconds between two scans: the cluster's own, else its group's, else the default; 0: on demand only."""
    group = getattr(cluster, "group", None)
    of_group = getattr(group, "scan_interval", None)
    return cluster.interval_seconds or of_group or int(settings.ENV.scan_interval)


def on_a_timetable() -> Q:
    """Clusters that are scanned without being asked."""
    return Q() if settings.ENV.scan_interval else Q(interval_seconds__gt=0)


def next_slot(cluster_id: uuid.UUID, interval: int, *, now: datetime) -> datetime:
    """The next moment of the cluster's own timetable, half an interval away at least.

    Each cluster has its own second within the interval, always the same one: so a fleet that was added, or waited for
    a beat, at one moment is spread over the whole interval from the next scan on.
    """
    earliest = now + timedelta(seconds=interval / 2)
    late = (earliest.timestamp() - share(cluster_id) * interval) % interval
    return datetime.fromtimestamp(earliest.timestamp() + (interval - late) % interval, UTC)


def share(cluster_id: uuid.UUID) -> float:
    """A number from 0 to below 1 that belongs to this cluster."""
    return int.from_bytes(hashlib.sha256(cluster_id.bytes).digest()[:6]) / 2**48
