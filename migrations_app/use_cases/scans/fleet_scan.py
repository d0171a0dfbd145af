"""A scan of the whole fleet: one row whose scans are enqueued in batches; it is closed when its last scan has ended."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import FleetScan, FleetScanPart
from migrations_app.queries.clusters.detail import ACTIVE
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.runtime import disk_space
from migrations_app.use_cases.scans.queue import enqueue

SCANS_PER_BATCH = 100


@dataclass(frozen=True, slots=True)
class FleetScanRequest:
    """`created` is False if a fleet scan was open already: then `id` is the id of that one."""

    id: uuid.UUID
    created: bool


def request_fleet_scan(*, by: str) -> FleetScanRequest:
    """Creates a fleet scan; `begin` enqueues its scans. Raises Conflict `disk_full`."""
    disk_space.refuse_when_full()
    close_ended()
    while True:
        try:
            with transaction.atomic():
                row = FleetScan.objects.create(requested_by=by, total=Cluster.objects.count())
                record_audit_event("scan.fleet_requested", by, fleet_scan=str(row.pk), clusters=row.total)
                return FleetScanRequest(row.pk, created=True)
        except IntegrityError:
            under_way = FleetScan.objects.filter(open=True).first()
            if under_way:
                return FleetScanRequest(under_way.pk, created=False)


def begin(fleet_scan_id: uuid.UUID) -> Iterator[uuid.UUID]:
    """Enqueues the scans and yields the id of each new one. A second call continues where a lost worker stopped."""
    row = FleetScan.objects.filter(pk=fleet_scan_id, begun_at=None, open=True).first()
    while row is not None:
        left = _clusters_left(row)
        if not left:
            FleetScan.objects.filter(pk=row.pk, begun_at=None).update(begun_at=timezone.now())
            return
        for cluster in left:
            yield from _begin_scan(row, cluster)


def _clusters_left(row: FleetScan) -> list[Cluster]:
    """Clusters without a scan in this fleet scan, oldest success first. Clusters added later are not part of it."""
    own_parts = FleetScanPart.objects.filter(fleet_scan=row, cluster=OuterRef("pk"))
    left = Cluster.objects.filter(~Exists(own_parts), created_at__lte=row.created_at)
    return list(left.order_by(F("last_success_at").asc(nulls_first=True), "pk")[:SCANS_PER_BATCH])


def _begin_scan(row: FleetScan, cluster: Cluster) -> Iterator[uuid.UUID]:
    try:
        with transaction.atomic():
            request = enqueue(cluster, by=row.requested_by)
            part = FleetScanPart(fleet_scan=row, cluster=cluster, scan_id=request.scan_id)
            FleetScanPart.objects.bulk_create([part], ignore_conflicts=True)
    except IntegrityError:
        return  # the cluster or the fleet scan was removed at this moment
    if request.created:
        yield request.scan_id


def fleet_scans_to_enqueue() -> tuple[uuid.UUID, ...]:
    """Open fleet scans not yet fully enqueued, for instance because their message or worker was lost."""
    return tuple(FleetScan.objects.filter(open=True, begun_at=None).values_list("pk", flat=True))


def close_ended() -> int:
    """Closes fleet scans whose last scan has ended. Returns how many; safe to call at any time."""
    active = FleetScanPart.objects.filter(fleet_scan=OuterRef("pk"), scan__state__in=ACTIVE)
    over = FleetScan.objects.filter(~Exists(active), open=True).exclude(begun_at=None)
    return over.update(open=False, ended_at=timezone.now())
