"""Deletes expired rows in small batches and short transactions, so that nothing else waits for locks (R26)."""

import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.models.account import ApiIdempotency
from migrations_app.models.cluster import Cluster
from migrations_app.models.monitoring import ProcessHeartbeat, Tally
from migrations_app.models.notification import Delivery, PublishedEventMark
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import Content, FindingRow, FleetScan, FleetScanPart, LegacyDay, Scan, Snapshot
from migrations_app.models.scan_event import ScanEvent
from migrations_app.queries.audit.events import KEPT_DAYS
from migrations_app.use_cases.runtime import idempotency

BATCH = 500
"""Maximum number of rows deleted in one transaction."""
MAX_PER_SWEEP = 10_000
"""Maximum number of snapshots that one sweep selects."""
KEEP_ALL_FOR = timedelta(days=7)
KEEP_DAILY_FOR = timedelta(days=90)
KEEP_WEEKLY_FOR = timedelta(days=365)
"""Maximum age of a kept snapshot: of every one, of the last one of a day, of the last one of a week."""
DONE_SCANS, FAILED_SCANS, FLEET_SCANS = timedelta(days=7), timedelta(days=30), timedelta(days=30)
SCAN_EVENTS = timedelta(days=KEPT_DAYS)
OUTBOX, DEAD_PROCESSES, SIGN_INS = timedelta(days=7), timedelta(days=1), timedelta(days=90)
DELIVERIES, EVENT_MARKS_KEPT = timedelta(days=30), timedelta(days=400)
"""Marks of published events are kept longer than the longest waiver."""
MAX_SESSION_TIME_LEFT = timedelta(seconds=settings.SESSION_COOKIE_AGE, minutes=15)
"""The longest remaining time of a session, unless the clock was ahead when it began."""
MIN_CONTENT_AGE = timedelta(hours=1)
"""A younger content may belong to a snapshot that is being published."""
GONE = ""


def sweep_old(*, within: float, now: datetime | None = None) -> int:
    """Deletes expired rows for at most `within` seconds and returns how many. The next sweep continues."""
    moment, end = now or timezone.now(), time.monotonic() + within
    total = 0
    for batches in (_snapshots, _retired, _contents, _rows, _tallies):
        for count in batches(moment):
            total += count
            if time.monotonic() > end:
                return total
    return total


def snapshots_to_delete(moments: Iterable[tuple[uuid.UUID, datetime]], *, now: datetime) -> Iterator[uuid.UUID]:
    """The ids to delete among the snapshots of one cluster; `moments` are ordered newest first."""
    seen: set[str] = set()
    for key, at in moments:
        slot = _slot(at, now - at)
        if slot == GONE or slot in seen:
            yield key
        seen.add(slot)


def _slot(at: datetime, age: timedelta) -> str:
    """The retention slot: of all snapshots in one slot the newest is kept. GONE if it is too old."""
    if age <= KEEP_ALL_FOR:
        return at.isoformat() + str(age)
    if age <= KEEP_DAILY_FOR:
        return f"{at:%Y-%m-%d}"
    return f"{at:%G-%V}" if age <= KEEP_WEEKLY_FOR else GONE


def _snapshots(now: datetime) -> Iterator[int]:
    ids = list(_old_snapshots(now))
    for start in range(0, len(ids), BATCH):
        with transaction.atomic():
            snapshots = Snapshot.objects.filter(pk__in=ids[start : start + BATCH])
            # Checked again in the transaction: a snapshot that is referenced now stays.
            count, _ = snapshots.filter(
                ~_is_referenced(Rollout, "snapshot"), ~_is_referenced(Cluster, "latest")
            ).delete()
        yield count


def _old_snapshots(now: datetime) -> Iterator[uuid.UUID]:
    unnamed = Snapshot.objects.filter(
        ~_is_referenced(Rollout, "snapshot"), ~_is_referenced(Cluster, "latest"), scanned_at__lt=now - KEEP_ALL_FOR
    )
    rows = unnamed.order_by("cluster_id", "-scanned_at").values_list("cluster_id", "pk", "scanned_at")
    left = MAX_PER_SWEEP
    for _, moments in groupby(rows.iterator(chunk_size=2000), key=itemgetter(0)):
        for key in snapshots_to_delete(((pk, at) for _, pk, at in moments), now=now):
            yield key
            left -= 1
        if left <= 0:
            return


def _is_referenced(model: Any, field: str) -> Exists:  # noqa: ANN401 - a model class; its manager is all that is used
    return Exists(model.objects.filter(**{field: OuterRef("pk")}))


def _retired(now: datetime) -> Iterator[int]:
    """Marks contents without a snapshot as retired; a scan that needs a retired content writes it again."""
    lonely = Content.objects.filter(
        ~_is_referenced(Snapshot, "content"), retired_at=None, created_at__lt=now - MIN_CONTENT_AGE
    )
    while keys := list(lonely.values_list("pk", flat=True)[:BATCH]):
        lonely.filter(pk__in=keys).update(retired_at=now)
        yield 0


def _contents(now: datetime) -> Iterator[int]:
    keys = Content.objects.filter(retired_at__lte=now).values_list("pk", flat=True)
    for digest in list(keys[:MAX_PER_SWEEP]):
        while (count := _delete_some(digest)) is not None:
            yield count


def _delete_some(digest: str) -> int | None:
    """Deletes a batch of the content's findings, or the content itself if none are left. Returns the row count; None
    when done.
    """
    with transaction.atomic():
        row = Content.objects.select_for_update().filter(pk=digest).exclude(retired_at=None).only("pk").first()
        if row is None:
            return None
        if row.snapshots.exists():
            Content.objects.filter(pk=digest).update(retired_at=None)
            return None
        findings = list(row.findings.values_list("pk", flat=True)[:BATCH])
        if findings:
            return FindingRow.objects.filter(pk__in=findings).delete()[0]
        return row.delete()[0]


def _rows(now: datetime) -> Iterator[int]:
    """Deletes rows whose retention period is over."""
    for rows in _outdated(now):
        while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
            yield rows.filter(pk__in=keys).delete()[0]


def _outdated(now: datetime) -> tuple[QuerySet[Any], ...]:
    ended = FleetScan.objects.filter(open=False, created_at__lt=now - FLEET_SCANS)
    return (
        FleetScanPart.objects.filter(fleet_scan__in=ended),
        ended,
        Scan.objects.filter(state=Scan.State.DONE, finished_at__lt=now - DONE_SCANS),
        Scan.objects.filter(state=Scan.State.FAILED, finished_at__lt=now - FAILED_SCANS),
        ScanEvent.objects.filter(at__lt=now - SCAN_EVENTS),
        ApiIdempotency.objects.filter(created_at__lt=now - idempotency.RESPONSE_LIFETIME),
        Outbox.objects.filter(done_at__lt=now - OUTBOX),
        Delivery.objects.filter(~Q(state=Delivery.State.WAITING), made_at__lt=now - DELIVERIES),
        PublishedEventMark.objects.filter(at__lt=now - EVENT_MARKS_KEPT),
        LegacyDay.objects.filter(day__lt=(now - KEEP_WEEKLY_FOR).date()),
        Session.objects.filter(expire_date__lt=now),
        # Sessions of a clock that was ahead. Either clock may be wrong now, so both have to agree.
        Session.objects.filter(expire_date__gt=now + MAX_SESSION_TIME_LEFT).filter(
            expire_date__gt=Now() + MAX_SESSION_TIME_LEFT
        ),
        ProcessHeartbeat.objects.filter(seen_at__lt=now - DEAD_PROCESSES),
        *(model.objects.filter(attempt_time__lt=now - SIGN_INS) for model in _SIGN_INS),
    )


_SIGN_INS: tuple[Any, ...] = (AccessLog, AccessAttempt, AccessFailureLog)


def _tallies(_now: datetime) -> Iterator[int]:
    """Deletes counters of clusters that are no longer registered."""
    cluster_keys = {str(key) for key in Cluster.objects.values_list("pk", flat=True)}
    for subject in Tally.objects.exclude(subject="").values_list("subject", flat=True).distinct():
        if subject not in cluster_keys:
            yield Tally.objects.filter(subject=subject).delete()[0]
