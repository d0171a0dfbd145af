"""The scan queue: due scans, claims with leases and fencing tokens, lost workers. Every change is a compare-and-set."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.queries.clusters.detail import ACTIVE
from migrations_app.queries.fleet.scan_interval import (
    farthest_slot,
    interval_of,
    next_slot,
    scanned_on_schedule,
    with_intervals,
)
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.notifications.publish import publish_scan_failures
from migrations_app.use_cases.runtime import counters, disk_space
from migrations_app.use_cases.scans import store
from migrations_app.use_cases.scans.scan_events import note_end

MAX_ATTEMPTS = 3
SCHEDULE = "schedule"
"""Value of `requested_by` for scheduled scans."""
MAX_SCANS_PER_TICK = 200
"""Maximum number of scans that one beat tick requests."""
LONGEST_PAUSE = 1.2 * store.MAX_RETRY_DELAY
"""The longest time until the next attempt after a failure (`store.next_attempt_at`)."""
MAX_ENQUEUED = 100
"""Maximum number of scans that one sweep enqueues, so that a long queue does not get all its messages twice."""
# Leases use the database's clock, so that workers with different clocks agree on them.
ABANDONED_STATES = Q(state=Scan.State.RUNNING, lease_until__lt=Now())


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """`created` is False if the cluster had an active scan already: then `scan_id` is the id of that one."""

    scan_id: uuid.UUID
    created: bool


@dataclass(frozen=True, slots=True)
class ScanClaim:
    """`only_check` is the single check to run first; empty for a scan of the whole cluster."""

    scan_id: uuid.UUID
    cluster_id: uuid.UUID
    fence: int
    only_check: str = ""


def request_scan(cluster_id: uuid.UUID, *, by: str = "", waits: bool = False, only_check: str = "") -> ScanRequest:
    """Enqueues a scan; a unique constraint allows one active scan per cluster.

    With `only_check`, only that check runs, and the scan ends there if the check is still open (`check_again.py`).
    Raises NotFound, and Conflict `disk_full` while the disk is full, unless the scan `waits` for space.
    """
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    if not waits:
        disk_space.refuse_when_full()
    return enqueue(cluster, by=by, with_event=by != "", only_check=only_check)


def enqueue(
    cluster: Cluster, *, by: str, with_event: bool = False, due_at: datetime | None = None, only_check: str = ""
) -> ScanRequest:
    """Enqueues a scan, or returns the active one, extended to read at least the same.

    `with_event` records an audit event, for a scan that a person requested.
    """
    alone = {"check": only_check} if only_check else {}
    while True:
        try:
            with transaction.atomic():
                scan = Scan.objects.create(cluster=cluster, requested_by=by, due_at=due_at, only_check=only_check)
                if with_event:
                    record_audit_event("scan.requested", by, cluster_id=cluster.pk, scan=str(scan.pk), **alone)
                _set_first_due_time(cluster)
                return ScanRequest(scan.pk, created=True)
        except IntegrityError:
            active = _join_active(cluster, only_check=only_check)
            if active:
                return ScanRequest(active, created=False)


def _join_active(cluster: Cluster, *, only_check: str) -> uuid.UUID | None:
    """The active scan; None if it has ended. If it runs another single check, it reads the whole cluster from
    now on.
    """
    active = Scan.objects.filter(cluster=cluster, state__in=ACTIVE)
    row = active.first()
    if row is None or row.only_check in ("", only_check):
        return row.pk if row else None
    # The end of the scan compares only_check again, so that the scan cannot end in between without the full read.
    return row.pk if active.filter(pk=row.pk).update(only_check="") else None


def _set_first_due_time(cluster: Cluster) -> None:
    """Sets the due time of a new cluster whose first scan was requested by a person, so that it is not scanned
    twice.
    """
    interval = interval_of(cluster)
    if interval:
        first = next_slot(cluster.pk, interval, now=timezone.now())
        Cluster.objects.filter(pk=cluster.pk, next_due_at=None).update(next_due_at=first)


def claim(scan_id: uuid.UUID, *, only: Q = Q()) -> ScanClaim | None:  # noqa: B008 - Q is never changed
    """Claims a queued scan, or a running one whose lease expired. None if another worker has it or it has ended."""
    free = only & (Q(state=Scan.State.QUEUED) | ABANDONED_STATES)
    # The attempt is counted before the work, so that a scan that crashes its worker ends after three (R36).
    changed = Scan.objects.filter(free, pk=scan_id, attempts__lt=MAX_ATTEMPTS).update(
        state=Scan.State.RUNNING,
        started_at=timezone.now(),
        lease_until=Now() + _lease(),
        attempts=F("attempts") + 1,
        fence=F("fence") + 1,
        progress={},
    )
    if not changed:
        return None
    row = Scan.objects.get(pk=scan_id)
    return ScanClaim(row.pk, row.cluster_id, row.fence, row.only_check)


def _lease() -> timedelta:
    return timedelta(seconds=settings.ENV.scan_lease)


def renew(scan_claim: ScanClaim, *, progress: dict[str, object] | None = None) -> bool:
    """Renews the lease and stores progress. False if another worker took the scan over: the work must stop then."""
    changes: dict[str, object] = {"lease_until": Now() + _lease()}
    if progress is not None:
        changes["progress"] = progress
    return bool(
        Scan.objects.filter(pk=scan_claim.scan_id, state=Scan.State.RUNNING, fence=scan_claim.fence).update(**changes)
    )


def requeue(scan_claim: ScanClaim, **more: datetime) -> bool:
    """Returns a scan to the queue without counting the attempt. False if it was taken over or has ended."""
    rows = Scan.objects.filter(pk=scan_claim.scan_id, state=Scan.State.RUNNING, fence=scan_claim.fence)
    unbegun: dict[str, object] = {"state": Scan.State.QUEUED, "lease_until": None, "started_at": None, "progress": {}}
    return bool(rows.update(attempts=F("attempts") - 1, **unbegun, **more))


def claim_probe(scan_id: uuid.UUID) -> ScanClaim | None:
    """As `claim`, for the reachability check; None also if the check was done already."""
    return claim(scan_id, only=Q(probed_at=None))


def pass_to_scan_queue(scan_claim: ScanClaim) -> bool:
    """The reachability check passed: returns the scan to the queue for a scan worker. False as in `requeue`."""
    return requeue(scan_claim, probed_at=timezone.now())


def needs_probe(scan_id: uuid.UUID) -> bool:
    """Whether the probe is still to be done: once per scan, for clusters that are reached over a network."""
    waiting = Scan.objects.filter(pk=scan_id, probed_at=None)
    return waiting.exclude(cluster__source__in=Cluster.LOCAL_SOURCES).exists()


def due_scans() -> tuple[uuid.UUID, ...]:
    """Requests a scan of each cluster that is due, oldest success first, and returns the scans' ids.

    Each due time is claimed only once, even with several beat processes. While the disk is full nothing is claimed; the
    clusters stay due. A due time too far in the future, from before the clock was set back, counts as due now.
    """
    now = timezone.now()
    if disk_space.why_full():
        return ()
    latest = max(farthest_slot(now=now), now + LONGEST_PAUSE)
    is_due = Q(next_due_at__lte=now) | Q(next_due_at=None) | Q(next_due_at__gt=latest)
    due = Cluster.objects.filter(scanned_on_schedule(), is_due)
    oldest_first = with_intervals(due).order_by(F("last_success_at").asc(nulls_first=True), "pk")
    return tuple(scan for cluster in oldest_first[:MAX_SCANS_PER_TICK] if (scan := _claim_due(cluster, now)))


def _claim_due(cluster: Cluster, now: datetime) -> uuid.UUID | None:
    """Requests one scan however many intervals have passed. None if another beat process claimed the due time first."""
    following = next_slot(cluster.pk, interval_of(cluster), now=now)
    changed = Cluster.objects.filter(pk=cluster.pk, next_due_at=cluster.next_due_at).update(next_due_at=following)
    return enqueue(cluster, by=SCHEDULE, due_at=min(cluster.next_due_at or now, now)).scan_id if changed else None


def scans_to_enqueue() -> tuple[uuid.UUID, ...]:
    """The ids of scans to enqueue: queued ones without a message, and those of lost workers. Fails scans without
    attempts left.
    """
    now = timezone.now()
    for scan in Scan.objects.filter(ABANDONED_STATES, attempts__gte=MAX_ATTEMPTS):
        _fail_lost(scan, now)
    if disk_space.why_full():
        return ()
    # A scan that is queued longer than a sweep interval lost its message or waits behind others; an extra message is
    # harmless. The same holds for a creation time in the future, from before the clock was set back.
    pause = timedelta(seconds=settings.ENV.sweep_interval)
    waiting = Q(state=Scan.State.QUEUED) & (Q(created_at__lt=now - pause) | Q(created_at__gt=now + pause))
    oldest_first = Scan.objects.filter(ABANDONED_STATES | waiting, attempts__lt=MAX_ATTEMPTS).order_by("created_at")
    return tuple(oldest_first.values_list("pk", flat=True)[:MAX_ENQUEUED])


def _fail_lost(scan: Scan, now: datetime) -> None:
    detail = f"the worker was lost during the scan, {MAX_ATTEMPTS} times"
    with transaction.atomic():
        gone = Scan.objects.filter(ABANDONED_STATES, pk=scan.pk, fence=scan.fence)
        ended = gone.update(
            state=Scan.State.FAILED, finished_at=now, lease_until=None, error_code="worker_lost", error_detail=detail
        )
        if ended:
            counters.add_error(scan.cluster_id, "worker_lost")
            Cluster.objects.filter(pk=scan.cluster_id).update(
                failures=F("failures") + 1,
                last_attempt_at=now,
                last_error_code="worker_lost",
                last_error_detail=detail,
            )
            publish_scan_failures(Cluster.objects.defer("sealed").get(pk=scan.cluster_id))
            note_end(scan.pk, cluster_id=scan.cluster_id, state=Scan.State.FAILED, code="worker_lost")


def crashed(scan_claim: ScanClaim, kind: str) -> None:
    """Fails a scan whose code raised. `kind` is the exception's type; its text may hold data and is only logged."""
    store.fail(
        scan_claim.scan_id,
        fence=scan_claim.fence,
        code="scan_crashed",
        detail=f"{kind} in the scan; see the worker's log",
    )
