"""Stores the result of a scan: one transaction publishes the snapshot and everything derived from it, or nothing (R01).

Derived are the gauges for monitoring (small, since every scrape reads them for the whole fleet), the encrypted objects
for conversions, and the daily counts of what is left to convert.
"""

import hashlib
import uuid
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from migrations_app.checks.base import Finding
from migrations_app.errors import Conflict, InvalidSetting
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen
from migrations_app.models.cluster import Cluster
from migrations_app.models.monitoring import Gauges
from migrations_app.models.scan import Content, FindingRow, KeptObjects, LegacyDay, Scan, Snapshot
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER
from migrations_app.queries.fleet.scan_interval import share
from migrations_app.queries.fleet.waivers import active_waivers_of_cluster
from migrations_app.readiness.progress.legacy_counts import LegacyCounts, legacy_columns
from migrations_app.readiness.report import Report, ScanResult
from migrations_app.readiness.verdict import judged_columns, next_hop
from migrations_app.readiness.waivers import WaiverRule, apply, as_stored
from migrations_app.use_cases.notifications.publish import (
    latest_of,
    publish_changes,
    publish_scan_failures,
    publish_scan_recovery,
)
from migrations_app.use_cases.runtime.connections import keys
from migrations_app.use_cases.runtime.counters import add_duration, add_error, calls_by_name
from migrations_app.use_cases.scans.identity import AnsweringCluster
from migrations_app.use_cases.scans.identity import store_identity as keep_identity
from migrations_app.use_cases.scans.list_cache import store_lists
from migrations_app.use_cases.scans.scan_events import note_end

KINDS: Mapping[str, str] = {
    "provisioners": "Provisioner",
    "awsnodetemplates": "AWSNodeTemplate",
    "machines": "Machine",
    "nodepools": "NodePool",
    "ec2nodeclasses": "EC2NodeClass",
    "nodeclaims": "NodeClaim",
}
"""Names of inventory parts and the kind of their objects."""


def gauges(report: Report, objects: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Gauges: verdicts by hop, checks by hop, severity and status, objects by kind and version, and legacy nodes."""
    checks = Counter((check.hop, check.severity, check.status) for check in report.checks)
    return {
        "verdicts": {line.hop: line.verdict for line in report.hops},
        "checks": [[*place, count] for place, count in sorted(checks.items())],
        "objects": [[*place, count] for place, count in sorted(objects.items())],
        "legacy_nodes": report.legacy.get("Node"),
    }


def objects_of(inventory: Inventory) -> dict[tuple[str, str], int]:
    """Karpenter's objects by kind and API version; kinds that could not be read or are not served are left out."""
    counts: Counter[tuple[str, str]] = Counter()
    for name, kind in KINDS.items():
        part = inventory.part(name)
        if not isinstance(part, Seen) or not part.served:
            continue
        counts[kind, part.served] += len(part.quarantined)  # also creates the entry: an empty kind counts as 0
        for item in part.items:
            counts[kind, str(getattr(item, "api_version", "") or part.served)] += 1
    return dict(counts)


FIELD = "objects"
COMPRESSION_LEVEL = 6


def store_objects(cluster_id: uuid.UUID, objects: Sequence[dict[str, Any]], *, now: datetime) -> None:
    """Replaces the stored objects if they changed. Without an encryption key nothing is stored."""
    if not settings.ENV.encryption_keys:
        KeptObjects.objects.filter(pk=cluster_id).delete()
        return
    seal = keys()
    meaning = msgspec.json.encode(objects, order="deterministic")
    digest = hashlib.sha256(f"{seal.newest}\0".encode() + meaning).hexdigest()
    if KeptObjects.objects.filter(pk=cluster_id, digest=digest).exists():
        return
    plain = msgspec.json.encode(objects)  # in field order, because people will read it
    sealed = seal.seal(zlib.compress(plain, COMPRESSION_LEVEL), owner=str(cluster_id), field=FIELD)
    KeptObjects.objects.update_or_create(
        pk=cluster_id, defaults={"digest": digest, "sealed": sealed, "changed_at": now}
    )


def kept_objects(cluster_id: uuid.UUID) -> tuple[dict[str, Any], ...] | None:
    """The objects of the newest snapshot; None if none are stored or their key is missing."""
    row = KeptObjects.objects.filter(pk=cluster_id).first()
    if row is None:
        return None
    try:
        packed = keys().open(bytes(row.sealed), owner=str(cluster_id), field=FIELD)
    except InvalidSetting:
        return None
    return msgspec.json.decode(zlib.decompress(packed), type=tuple[dict[str, Any], ...])


def note_day(cluster_id: uuid.UUID, left: LegacyCounts, *, day: date) -> None:
    """Records the remaining work of the day, by column; the last scan of a day wins."""
    LegacyDay.objects.update_or_create(cluster_id=cluster_id, day=day, defaults=dict(left))


MAX_RETRY_DELAY = timedelta(hours=1)
NO_CALLS: Mapping[tuple[str, str], int] = {}
LONGEST_VERSION = 40
"""Maximum length of a version: a server may report any text, and PostgreSQL refuses one that is too long."""


class _Packed(NamedTuple):
    """The compressed content that is equal between scans, and its digest. `iam` is empty without an IAM evaluation."""

    digest: str
    report: bytes
    nodes: bytes
    iam: bytes


@dataclass(frozen=True, slots=True)
class ScanExtras:
    """What is known of a scan besides its report: requests by verb and status, objects by kind and version, the
    identity of the cluster, and the remaining work by column of a day.
    """

    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    objects: Mapping[tuple[str, str], int] = field(default_factory=dict)
    answering_cluster: AnsweringCluster | None = None
    remaining: LegacyCounts = field(default_factory=dict)
    lists: Mapping[str, bytes] = field(default_factory=dict)
    """Sealed parts that the next scan may use again, by name."""


NOTHING = ScanExtras()


def publish(scan_id: uuid.UUID, *, fence: int, scanned: ScanResult, extras: ScanExtras = NOTHING) -> Snapshot:
    """Stores the snapshot and ends the scan.

    Raises Conflict if another worker has taken the scan over, OtherCluster if the scan read another cluster than the
    registered one.
    """
    packed = _packed(scanned)
    now = timezone.now()
    with transaction.atomic():
        running = Scan.objects.filter(pk=scan_id, state=Scan.State.RUNNING, fence=fence)
        if not running.update(state=Scan.State.DONE, finished_at=now, lease_until=None):
            raise Conflict("another worker took this scan over")
        scan = Scan.objects.select_related("cluster").get(pk=scan_id)
        _keep_content(packed, scanned.report.checks)
        # Locked: a waiver created at the same time is either counted here or finds this snapshot as the latest one.
        Cluster.objects.select_for_update().only("pk").get(pk=scan.cluster_id)
        keep_identity(scan.cluster_id, extras.answering_cluster)
        waivers = active_waivers_of_cluster(scan.cluster_id, now)
        judged = apply(scanned.report, waivers, now=now)
        publish_changes(latest_of(scan.cluster_id), judged, cluster=scan.cluster)
        publish_scan_recovery(scan.cluster)
        snapshot = _snapshot(scan.cluster, packed.digest, report=judged, waivers=waivers)
        Scan.objects.filter(pk=scan_id).update(snapshot=snapshot, calls=calls_by_name(extras.calls))
        store_objects(scan.cluster.pk, scanned.objects, now=now)
        store_lists(scan.cluster.pk, extras.lists, now=now)
        body = gauges(judged, extras.objects)
        Gauges.objects.update_or_create(pk=scan.cluster.pk, defaults={"body": body})
        left = {**extras.remaining, **legacy_columns(scanned.report)}
        note_day(scan.cluster.pk, left, day=snapshot.scanned_at.date())
        _note_success(scan.cluster, snapshot, now=now)
        # Last, because every scan of the installation updates the same rows.
        add_duration(_seconds(scan, now))
        note_end(scan_id, cluster_id=scan.cluster_id, state=Scan.State.DONE)
    return snapshot


def publish_past(cluster: Cluster, scanned: ScanResult, *, moments: Sequence[datetime]) -> None:
    """Stores a snapshot with this content at each of these times: the invented history of a sample cluster.

    Nothing is announced, and the cluster's newest snapshot stays.
    """
    packed = _packed(scanned)
    with transaction.atomic():
        _keep_content(packed, scanned.report.checks)
        for at in moments:
            report = msgspec.structs.replace(scanned.report, scanned_at=at.strftime("%Y-%m-%dT%H:%M:%SZ"))
            _snapshot(cluster, packed.digest, report=report, waivers=())


def _packed(scanned: ScanResult) -> _Packed:
    """The compressed content without times and durations, and its digest."""
    parts = tuple(msgspec.structs.replace(line, seconds=0.0, unchanged_since="") for line in scanned.report.parts)
    lasting = msgspec.structs.replace(scanned.report, scanned_at="", parts=parts)
    report, nodes = msgspec.json.encode(lasting, order="deterministic"), msgspec.json.encode(scanned.nodes)
    iam = b"" if scanned.iam is None else msgspec.json.encode(scanned.iam)
    digest = hashlib.sha256(b"\0".join((report, nodes, iam))).hexdigest()
    report, nodes, iam = (zlib.compress(part, COMPRESSION_LEVEL) if part else b"" for part in (report, nodes, iam))
    return _Packed(digest, report, nodes, iam)


def _keep_content(packed: _Packed, findings: tuple[Finding, ...]) -> None:
    parts = {"report": packed.report, "nodes": packed.nodes, "iam": packed.iam}
    # Locked against the sweeps, which delete contents without a snapshot and pack those that are history.
    row, created = Content.objects.select_for_update().get_or_create(digest=packed.digest, defaults=parts)
    lessened = row.retired_at is not None or row.history_since is not None
    if lessened:
        row.findings.all().delete()
        again = {"retired_at": None, "history_since": None, "texts": None, "statuses": None, "sheet": None}
        Content.objects.filter(pk=row.pk).update(**parts, **again)
    if created or lessened:
        rows = [_finding_row(packed.digest, finding) for finding in findings]
        FindingRow.objects.bulk_create(rows, batch_size=500)


def _finding_row(digest: str, finding: Finding) -> FindingRow:
    return FindingRow(
        content_id=digest,
        check_id=finding.id,
        hop=finding.hop,
        phase=finding.phase,
        status=finding.status,
        severity=finding.severity,
        summary=finding.summary[:500],
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
    )


def _snapshot(cluster: Cluster, digest: str, *, report: Report, waivers: tuple[WaiverRule, ...]) -> Snapshot:
    following = next_hop(report)
    known = [count for count in report.legacy.values() if count is not None]
    return Snapshot.objects.create(
        cluster=cluster,
        content_id=digest,
        scanned_at=moment(report.scanned_at) or timezone.now(),
        parts=msgspec.json.encode({line.name: line.seconds for line in report.parts}),
        complete=report.complete,
        stage=report.cluster.stage,
        karpenter_version=(report.cluster.karpenter_version or "")[:LONGEST_VERSION],
        kubernetes_version=(report.cluster.kubernetes_version or "")[:LONGEST_VERSION],
        next_hop=following.hop if following else "",
        legacy_left=sum(known) if len(known) == len(report.legacy) else None,
        nodes_total=report.nodes.total,
        waived=as_stored(waivers),
        unchanged={line.name: line.unchanged_since for line in report.parts if line.unchanged_since} or None,
        **judged_columns(report),
    )


def _note_success(cluster: Cluster, snapshot: Snapshot, *, now: datetime) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(
        latest=snapshot,
        last_attempt_at=now,
        last_success_at=now,
        failures=0,
        failing_since=None,
        last_error_code="",
        last_error_detail="",
    )


def retry_delay(failures: int) -> timedelta:
    """The pause before the next attempt: a minute, doubled with each consecutive failure, at most an hour."""
    return min(MAX_RETRY_DELAY, timedelta(minutes=2 ** min(failures - 1, 10)))


def next_attempt_at(cluster: Cluster, *, now: datetime) -> datetime:
    """When a cluster whose scan just failed is due again.

    After one or two failures the scan interval counts if it is shorter; from the third on the pause always counts, so
    that an unreachable cluster costs less and less (R20).
    """
    pause = retry_delay(cluster.failures)
    # Up to a tenth longer, different for each cluster (jitter), so that failures at the same time do not repeat
    # together.
    again = now + pause * (1 + share(cluster.pk) / 10)
    if cluster.failures >= UNREACHABLE_AFTER:
        return again
    return min(cluster.next_due_at or again, again)


def _seconds(scan: Scan, now: datetime) -> float:
    return (now - scan.started_at).total_seconds() if scan.started_at else 0.0


def fail(
    scan_id: uuid.UUID, *, fence: int, code: str, detail: str, calls: Mapping[tuple[str, str], int] = NO_CALLS
) -> None:
    """Ends the scan without a snapshot; the previous one stays. Does nothing if another worker took the scan over."""
    now = timezone.now()
    with transaction.atomic():
        running = Scan.objects.filter(pk=scan_id, state=Scan.State.RUNNING, fence=fence)
        ended = {"finished_at": now, "lease_until": None, "error_code": code[:60], "error_detail": detail[:2000]}
        if not running.update(state=Scan.State.FAILED, calls=calls_by_name(calls), **ended):
            return
        cluster = Cluster.objects.select_for_update().get(scans__pk=scan_id)
        before = cluster.last_error_code
        cluster.failures += 1
        cluster.failing_since = cluster.failing_since or now
        cluster.last_attempt_at = now
        cluster.last_error_code, cluster.last_error_detail = code[:60], detail[:2000]
        cluster.next_due_at = next_attempt_at(cluster, now=now)
        cluster.save(
            update_fields=[
                "failures", "failing_since", "last_attempt_at", "last_error_code", "last_error_detail", "next_due_at",
            ]
        )  # fmt: skip
        publish_scan_failures(cluster, before=before)
        add_error(cluster.pk, code)
        add_duration(_seconds(Scan.objects.get(pk=scan_id), now))
        note_end(scan_id, cluster_id=cluster.pk, state=Scan.State.FAILED, code=code)
