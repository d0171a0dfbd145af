"""Runs one claimed scan from start to end; a second thread renews the lease meanwhile."""

import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.utils import timezone

from migrations_app.clients.agents.agent_round_tripper import NO_CONNECTION
from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.collect.collect import collect
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, OtherCluster, ReadError, Unreachable
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.progress.legacy_counts import legacy_counts
from migrations_app.readiness.report import CollectResult, PartLine, ScanResult
from migrations_app.use_cases.runtime.connections import connect
from migrations_app.use_cases.runtime.lease_renewal import renewed_lease
from migrations_app.use_cases.scans import queue, store
from migrations_app.use_cases.scans.aws_access import with_aws_parts
from migrations_app.use_cases.scans.check_again import ScanWatch, end_if_open
from migrations_app.use_cases.scans.identity import PART, AnsweringCluster, answering, refuse_other
from migrations_app.use_cases.scans.list_cache import memory_of, sealed_lists
from migrations_app.use_cases.scans.queue import ScanClaim
from migrations_app.use_cases.scans.store import ScanExtras, objects_of

log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 1.0
"""Seconds between two renewals of the lease; the page shows the progress that each of them stores."""
SECOND_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def scan_claimed(claim: ScanClaim) -> None:
    """Runs the scan. The scan ends with a published snapshot, with the answer of a single check, or with an error code;
    the last two leave the previous snapshot.

    1. Start the heartbeat, which renews the lease and stores progress every second.
    2. If a single check was requested, read what it needs. If it is as open as before, its answer ends the scan.
    3. Connect, and collect the cluster's parts, then those of AWS. A failure ends the scan through `store.fail`.
    4. Evaluate the inventory against the cluster's target release.
    5. Publish with the fencing token. If another worker has taken the scan over, the result is dropped.
    """
    began, began_at = time.monotonic(), timezone.now()
    cluster = Cluster.objects.select_related("latest").get(pk=claim.cluster_id)
    heartbeat = _ScanHeartbeat(claim)
    with renewed_lease(heartbeat.renew, seconds=HEARTBEAT_SECONDS):
        try:
            if end_if_open(claim, cluster, watch=ScanWatch(heartbeat.note, heartbeat.add_calls)):
                return
            left = float(settings.ENV.scan_deadline) - (time.monotonic() - began)
            collected, answering_cluster, lists = _collect(cluster, heartbeat, deadline=left)
        except (ReadError, InvalidInput, InvalidSetting) as reason:
            store.fail(claim.scan_id, fence=claim.fence, code=reason.code, detail=reason.message, calls=heartbeat.calls)
            return
    scanned = _with_scan_time(_evaluate(collected, cluster.target), cluster, began_at=began_at)
    try:
        seen = collected.inventory
        extras = ScanExtras(
            heartbeat.calls, objects_of(seen), answering_cluster, legacy_counts(seen, scanned.report), lists
        )
        store.publish(claim.scan_id, fence=claim.fence, scanned=scanned, extras=extras)
    except OtherCluster as other:
        store.fail(claim.scan_id, fence=claim.fence, code=other.code, detail=other.message, calls=heartbeat.calls)
    except Conflict:
        log.warning("scan was taken over", extra={"scan": str(claim.scan_id)})


class _ReadResult(NamedTuple):
    """What was read, the identity of the cluster, and the sealed parts that the next scan may use again, by name."""

    collected: CollectResult
    answering_cluster: AnsweringCluster | None
    lists: Mapping[str, bytes]


def _collect(cluster: Cluster, heartbeat: "_ScanHeartbeat", *, deadline: float) -> _ReadResult:
    """Reads the cluster in at most `deadline` seconds. Raises OtherCluster if another cluster than the registered one
    answers.
    """
    with connect(cluster) as api:
        try:
            if isinstance(api, LiveApi):
                api.get("/version")
            answering_cluster = answering(api)
            refuse_other(cluster, answering_cluster)
            memory = memory_of(cluster, api, answering_cluster=answering_cluster, now=timezone.now())
            collected = collect(api, cluster=cluster.name, deadline=deadline, on_part=heartbeat.note, memory=memory)
            _refuse_lost(collected)
            # Again, because the cluster may have been replaced while it was read.
            refuse_other(_as_answered(cluster, answering_cluster), answering(api))
            heartbeat.note("aws", len(PART_NAMES))
            with_aws = _with_identity(with_aws_parts(cluster, api, collected=collected), answering_cluster)
            return _ReadResult(with_aws, answering_cluster, sealed_lists(cluster.pk, memory.fresh) if memory else {})
        finally:
            heartbeat.add_calls(api.clock().calls)


def _refuse_lost(collected: CollectResult) -> None:
    """Raises Unreachable if the connection to the cluster's agent was lost during the scan: the cluster counts as
    unreachable, not as read in part.
    """
    for line in collected.parts:
        if line.why in NO_CONNECTION:
            raise Unreachable(line.detail, code=line.why)


def _as_answered(cluster: Cluster, answering_cluster: AnsweringCluster | None) -> Cluster:
    """The row of the cluster; if no uid was stored, with the uid that was read first."""
    if answering_cluster is not None and not cluster.kube_system_uid:
        cluster.kube_system_uid, cluster.ca_digest = answering_cluster.uid, answering_cluster.ca_digest
    return cluster


def _with_identity(collected: CollectResult, answering_cluster: AnsweringCluster | None) -> CollectResult:
    """Adds an unseen part if the cluster's identity could not be read: the scan is partial then."""
    if answering_cluster is None or not answering_cluster.error:
        return collected
    line = PartLine(name=PART, seen=False, why=answering_cluster.error, detail=answering_cluster.detail[:500])
    return replace(collected, parts=(*collected.parts, line))


def _evaluate(collected: CollectResult, target: str) -> ScanResult:
    """Evaluates the inventory. If the cluster has passed its target, the newest release counts instead."""
    try:
        return evaluate(collected, target=target or None)
    except InvalidInput:
        return evaluate(collected)


def _with_scan_time(scanned: ScanResult, cluster: Cluster, *, began_at: datetime) -> ScanResult:
    """Gives the report the time at which the scan began, by our own clock. Ages of objects are judged by the API
    server's clock, but with a clock that is ahead the result would never be out of date. A twin keeps the time that it
    plays. A bundle keeps its own time, but was made no later than it was registered.
    """
    if cluster.source == Cluster.Source.TWIN:
        return scanned
    at = began_at
    if cluster.source == Cluster.Source.BUNDLE:
        at = min(moment(scanned.report.scanned_at) or cluster.created_at, cluster.created_at)
    report = msgspec.structs.replace(scanned.report, scanned_at=at.astimezone(UTC).strftime(SECOND_FORMAT))
    return msgspec.structs.replace(scanned, report=report)


class _ScanHeartbeat:
    """The progress of a scan, which each renewal of its lease stores."""

    def __init__(self, claim: ScanClaim) -> None:
        self._claim = claim
        self._progress: dict[str, object] = {}
        self.calls: Mapping[tuple[str, str], int] = {}

    def note(self, name: str, done: int) -> None:
        self._progress = {"now": name, "parts_done": done, "parts_total": len(PART_NAMES)}

    def add_calls(self, calls: Mapping[tuple[str, str], int]) -> None:
        """Adds these requests to the count; a scan may connect twice."""
        self.calls = Counter(self.calls) + Counter(calls)

    def renew(self) -> bool:
        """Renews the lease and stores the progress; False once the lease is lost."""
        return queue.renew(self._claim, progress=self._progress)
