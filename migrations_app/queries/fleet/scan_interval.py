"""How often a cluster is scanned: which interval applies, and when the next scan is due."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Max, Min, OuterRef, Q, QuerySet, Subquery

from migrations_app.models.cluster import Cluster, ClusterGroup

OF_GROUPS = "of_groups"
CLOCK_TOLERANCE = timedelta(minutes=10)
"""The clocks of two machines of karpdash may differ by as much."""


def interval_of(cluster: Cluster) -> int:
    """Seconds between scans: the cluster's own interval, else the shortest of its groups, else the default; 0 means on
    demand only. Rows from `with_intervals` need no further query.
    """
    if cluster.interval_seconds:
        return cluster.interval_seconds
    columns = vars(cluster)
    return applied_interval(None, columns[OF_GROUPS] if OF_GROUPS in columns else _shortest(cluster.pk))


def applied_interval(own: int | None, of_groups: int | None) -> int:
    """As `interval_of`, from the interval of the cluster itself and the shortest of its groups."""
    return own or of_groups or int(settings.ENV.scan_interval)


def with_intervals(rows: QuerySet[Cluster]) -> QuerySet[Cluster]:
    """The same rows, each annotated with the shortest interval of its groups."""
    groups = _timed().filter(clusters=OuterRef("pk")).order_by("interval_seconds").values("interval_seconds")
    return rows.annotate(**{OF_GROUPS: Subquery(groups[:1])})


def _shortest(cluster_id: uuid.UUID) -> int | None:
    intervals: dict[str, int | None] = _timed().filter(clusters=cluster_id).aggregate(least=Min("interval_seconds"))
    return intervals["least"]


def _timed() -> QuerySet[ClusterGroup]:
    return ClusterGroup.objects.filter(interval_seconds__gt=0)


def farthest_slot(*, now: datetime) -> datetime:
    """The latest possible due time: `next_slot` for the longest interval. A later time comes from a clock that was
    ahead.
    """
    own = Cluster.objects.aggregate(most=Max("interval_seconds"))["most"]
    of_groups = _timed().aggregate(most=Max("interval_seconds"))["most"]
    return now + timedelta(seconds=1.5 * max(own or 0, of_groups or 0, int(settings.ENV.scan_interval)))


def is_stale(scanned_at: datetime, *, limit: timedelta, now: datetime) -> bool:
    """Whether a result of that time is out of date: older than the limit, or of a time to come. The latter was stored
    by a worker whose clock was ahead, and its real age is not known.
    """
    return now - scanned_at > limit or is_dated_ahead(scanned_at, now=now)


def is_dated_ahead(scanned_at: datetime, *, now: datetime) -> bool:
    """Whether a result is of a time to come: the clock of the worker that stored it was ahead."""
    return scanned_at - now > CLOCK_TOLERANCE


def scanned_on_schedule() -> Q:
    """Filter for clusters that are scanned on a schedule."""
    if settings.ENV.scan_interval:
        return Q()
    return Q(interval_seconds__gt=0) | Q(pk__in=_timed().values("clusters"))


def next_slot(cluster_id: uuid.UUID, interval: int, *, now: datetime) -> datetime:
    """The next slot in the cluster's schedule, at least half an interval away.

    Each cluster has a fixed offset in the interval, so that scans of a fleet that was added at once are spread over the
    whole interval.
    """
    earliest = now + timedelta(seconds=interval / 2)
    late = (earliest.timestamp() - share(cluster_id) * interval) % interval
    return datetime.fromtimestamp(earliest.timestamp() + (interval - late) % interval, UTC)


def share(cluster_id: uuid.UUID) -> float:
    """A fixed number for this cluster, from 0 to below 1."""
    return int.from_bytes(hashlib.sha256(cluster_id.bytes).digest()[:6]) / 2**48
