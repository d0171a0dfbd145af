"""The scans that journeys rely on: finds the newest one that began late enough, and requests another."""

import uuid
from datetime import datetime, timedelta

from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.models.scan import Scan
from migrations_app.queries.clusters.detail import report_of
from migrations_app.readiness.report import Report
from migrations_app.use_cases.scans.queue import enqueue

MAX_SCAN_AGE = timedelta(minutes=10)
"""The maximum age of the scan that a journey is made from."""
REQUESTED_BY = "journey"
"""Value of `requested_by` for these scans."""


def report_since(cluster_id: uuid.UUID, moment: datetime) -> tuple[uuid.UUID, Report] | None:
    """The newest snapshot of a scan that began after that moment, with its report; None if there is none yet."""
    done = Scan.objects.filter(cluster_id=cluster_id, state=Scan.State.DONE, started_at__gte=moment)
    newest = done.exclude(snapshot=None).order_by("-started_at").values_list("snapshot_id", flat=True).first()
    return (newest, report_of(newest)) if newest else None


def ask_for_scan(row: Journey) -> uuid.UUID | None:
    """Enqueues a scan and returns its id. If a scan is active already, makes the next one due at once and
    returns None.
    """
    request = enqueue(row.cluster, by=REQUESTED_BY)
    now = timezone.now()
    Journey.objects.filter(pk=row.pk).update(asked_at=now)
    row.asked_at = now
    if request.created:
        return request.scan_id
    Cluster.objects.filter(pk=row.cluster_id).update(next_due_at=now)
    return None
