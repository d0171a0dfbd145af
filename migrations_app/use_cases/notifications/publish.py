"""Publishes events through the outbox, in the same transaction as the change that they report (A08)."""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from migrations_app.errors import OtherCluster
from migrations_app.models.cluster import Cluster
from migrations_app.models.notification import PublishedEventMark
from migrations_app.models.rollout import Outbox
from migrations_app.models.scan import Snapshot
from migrations_app.queries.fleet.clusters import UNREACHABLE_AFTER
from migrations_app.readiness.report import Report
from migrations_app.readiness.verdict import next_hop
from migrations_app.readiness.waivers import apply, from_stored


def publish_event(topic: str, subject: str, *, cluster: uuid.UUID | None = None, **data: Any) -> None:  # noqa: ANN401 - any JSON
    """Writes an event to the outbox; without a cluster it is about all clusters."""
    where = {"cluster": str(cluster)} if cluster else {}
    Outbox.objects.create(topic=topic, body={"subject": subject, **where, **data})


def publish_event_once(mark: str, *, now: datetime) -> bool:
    """True for the first caller with this mark, who then publishes in the same transaction; False afterwards."""
    with transaction.atomic():
        _, fresh = PublishedEventMark.objects.get_or_create(mark=mark, defaults={"at": now})
    return fresh


def published_events(marks: Iterable[str]) -> set[str]:
    """Those of the marks that are published already."""
    return set(PublishedEventMark.objects.filter(mark__in=list(marks)).values_list("mark", flat=True))


def latest_of(cluster_id: uuid.UUID) -> Snapshot | None:
    """The cluster's newest snapshot with its content; None before the first."""
    newest = Cluster.objects.filter(pk=cluster_id).values("latest")
    return Snapshot.objects.select_related("content").filter(pk__in=newest).first()


def publish_changes(before: Snapshot | None, report: Report, *, cluster: Cluster) -> None:
    """Publishes what changed between the previous snapshot and the report; nothing for a cluster's first snapshot."""
    following = next_hop(report)
    if before is None or following is None:
        return
    publish_verdict_change(before, cluster, hop=following.hop, verdict=following.verdict)
    now = _blocking(report, following.hop)
    fresh = sorted(now - _blocking(_as_counted(before), following.hop)) if now else []
    if fresh:
        publish_event("check.new_blocker", cluster.name, cluster=cluster.pk, hop=following.hop, checks=fresh[:50])


def publish_verdict_change(before: Snapshot, cluster: Cluster, *, hop: str, verdict: str) -> None:
    """Publishes an event if the next hop or its verdict differ from those of the snapshot."""
    if (before.next_hop, before.verdict) != (hop, verdict):
        moved = {"hop": hop, "verdict": verdict, "was": before.verdict, "was_hop": before.next_hop}
        publish_event("hop.verdict_changed", cluster.name, cluster=cluster.pk, **moved)


def publish_scan_failures(cluster: Cluster, *, before: str = "") -> None:
    """Publishes one event, at the failure from which on the cluster counts as unreachable (the circuit breaker opens).

    If another cluster answers, the event is published at once. `before` is the code of the previous failure.
    """
    other = cluster.last_error_code == OtherCluster.code
    if (before != OtherCluster.code) if other else (cluster.failures == UNREACHABLE_AFTER):
        publish_event("scan.failed", cluster.name, cluster=cluster.pk, code=cluster.last_error_code)


def publish_scan_recovery(cluster: Cluster) -> None:
    """Publishes that scans succeed again. `cluster` is as it was before the successful scan."""
    if cluster.failures >= UNREACHABLE_AFTER:
        since = cluster.failing_since.isoformat() if cluster.failing_since else ""
        publish_event("scan.recovered", cluster.name, cluster=cluster.pk, failing_since=since)


def _as_counted(snapshot: Snapshot) -> Report:
    return apply(snapshot.report(), from_stored(snapshot.waived), now=snapshot.scanned_at)


def _blocking(report: Report, hop: str) -> set[str]:
    return {
        check.id
        for check in report.checks
        if check.hop == hop and check.status == "fail" and check.severity == "blocker"
    }
