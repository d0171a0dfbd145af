"""Collection of a registered cluster -> the same with what AWS shows of it; a refusal there never spoils the rest.

One claimed scan from start to end: connect, collect, evaluate, save. The lease is renewed beside the work.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from migrations_app.clients.bundle.bundle import Bundle
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, ReadError
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.inventory.parts import Unseen
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Collected, Scanned
from migrations_app.use_cases.collect.aws import add_aws, hand_in, refuse_aws
from migrations_app.use_cases.collect.collect import collect
from migrations_app.use_cases.runtime.connections import connect, connect_aws
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.queue import ScanClaim
from migrations_app.use_cases.scans.store import ScanExtras, objects_of


def look_into_aws(cluster: Cluster, api: ClusterApi, *, collected: Collected) -> Collected:
    """Adds what AWS shows where access to it was given, or the policy documents that a bundle holds."""
    if isinstance(api, Bundle):
        collected = hand_in(collected, api.iam_documents())
    try:
        with connect_aws(cluster) as aws:
            return add_aws(collected, aws)
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        return refuse_aws(collected, Unseen(reason.code, reason.message))


log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 1.0


def scan_claimed(claim: ScanClaim) -> None:
    """Ends with a published snapshot or a failed scan with its code; an unreachable cluster keeps its old snapshot."""
    cluster = Cluster.objects.get(pk=claim.cluster_id)
    with _heart(claim) as heart:
        try:
            collected = _collected(cluster, heart)
        except (ReadError, InvalidInput, InvalidSetting) as reason:
            store.fail(claim.scan_id, fence=claim.fence, code=reason.code, detail=reason.message, calls=heart.calls)
            return
    scanned = _as_of_today(_judged(collected, cluster.target), cluster)
    try:
        beside = ScanExtras(heart.calls, objects_of(collected.inventory))
        store.publish(claim.scan_id, fence=claim.fence, scanned=scanned, beside=beside)
    except Conflict:
        log.warning("scan was taken over", extra={"scan": str(claim.scan_id)})


def _collected(cluster: Cluster, heart: "_LeaseHeartbeat") -> Collected:
    with connect(cluster) as api:
        try:
            api.get("/version")
            deadline = float(settings.ENV.scan_deadline)
            collected = collect(api, cluster=cluster.name, deadline=deadline, on_part=heart.note)
            heart.note("aws", len(PART_NAMES))
            return look_into_aws(cluster, api, collected=collected)
        finally:
            heart.calls = api.clock().calls


def _judged(collected: Collected, target: str) -> Scanned:
    """A cluster that has passed its target is judged towards the newest release instead of not at all."""
    try:
        return evaluate(collected, target=target or None)
    except InvalidInput:
        return evaluate(collected)


def _as_of_today(scanned: Scanned, cluster: Cluster) -> Scanned:
    """The sample clusters stand still in time and are judged at theirs; their snapshots are as old as their scans."""
    if cluster.source != Cluster.Source.SAMPLE:
        return scanned
    now = timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    return msgspec.structs.replace(scanned, report=msgspec.structs.replace(scanned.report, scanned_at=now))


class _LeaseHeartbeat:
    """Counts parts as they arrive and renews the lease every few seconds, on a thread of its own."""

    def __init__(self, claim: ScanClaim) -> None:
        self._claim = claim
        self._stop = threading.Event()
        self._progress: dict[str, object] = {}
        self.calls: Mapping[tuple[str, str], int] = {}

    def note(self, name: str, done: int) -> None:
        self._progress = {"now": name, "parts_done": done, "parts_total": len(PART_NAMES)}

    def beat(self) -> None:
        # Progress every second for the page; the write prolongs the lease as well.
        while not self._stop.wait(HEARTBEAT_SECONDS) and self._renewed():
            pass
        connection.close()

    def _renewed(self) -> bool:
        try:
            return queue.renew(self._claim, progress=self._progress)
        except DatabaseError:
            # A database that restarts is asked again over a new connection, for as long as the lease may last.
            connection.close()
            return True

    def stop(self) -> None:
        self._stop.set()


@contextmanager
def _heart(claim: ScanClaim) -> Iterator[_LeaseHeartbeat]:
    heart = _LeaseHeartbeat(claim)
    thread = threading.Thread(target=heart.beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield heart
    finally:
        heart.stop()
        thread.join(timeout=5)
