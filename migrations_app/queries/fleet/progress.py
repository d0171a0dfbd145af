"""How much of the way to v1 each cluster of a list has behind it, as the progress page counts it."""

import uuid
from collections.abc import Collection, Mapping
from datetime import date, timedelta

from django.db.models import OuterRef, QuerySet, Subquery

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.burndown import BEFORE
from migrations_app.readiness.progress.curve import COLUMNS, DAYS, Day
from migrations_app.readiness.progress.share import DonePercent, done_of_days


def done_by_cluster(clusters: Collection[uuid.UUID], *, today: date) -> Mapping[uuid.UUID, DonePercent]:
    """The share of the way that is done by cluster; those that were never counted are left out.

    One query, and a second one for clusters whose last scan could not read everything: older numbers count for them.
    """
    newest = LegacyDay.objects.filter(cluster=OuterRef("pk"), day__lte=today).order_by("-day").values("pk")[:1]
    asked = Cluster.objects.filter(pk__in=clusters).order_by().annotate(newest=Subquery(newest))
    days = _days(LegacyDay.objects.filter(pk__in=asked.values("newest")))
    partial = [key for key, (day,) in days.items() if None in day.counts.values()]
    if partial:
        since = today - timedelta(days=DAYS + BEFORE)
        days |= _days(LegacyDay.objects.filter(cluster__in=partial, day__gte=since, day__lte=today))
    return {key: done_of_days(found) for key, found in days.items()}


def _days(rows: "QuerySet[LegacyDay]") -> dict[uuid.UUID, list[Day]]:
    """The days of each cluster, oldest first."""
    found: dict[uuid.UUID, list[Day]] = {}
    for key, day, *counts in rows.order_by("day").values_list("cluster_id", "day", *COLUMNS):
        found.setdefault(key, []).append(Day(cluster=str(key), day=day, counts=dict(zip(COLUMNS, counts, strict=True))))
    return found
