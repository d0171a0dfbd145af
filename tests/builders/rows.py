"""Creates rows for tests of queries and pages: registered clusters with snapshots, without a scan."""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from migrations_app.checks.base import Evidence, Finding, Remedy
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, FindingRow, Scan, Snapshot
from migrations_app.readiness.report import (
    OWNERS,
    Anomaly,
    ClusterFacts,
    HopLine,
    KubernetesWindow,
    NodeCounts,
    OwnedNode,
    PartLine,
    Report,
    ReportHop,
    Target,
)
from migrations_app.readiness.verdict import hop_line

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LEGACY: Mapping[str, int | None] = {"Provisioner": 2, "AWSNodeTemplate": 1, "Machine": 12, "Node": 12}
YAML = "spec:\n  template:\n    spec:\n      nodeSelector:\n        karpenter.sh/nodepool: general\n"


def a_finding(
    id: str = "legacy_provisioners_gone",  # noqa: A002 - the field is named so
    *,
    hop: str = "0.32",
    status: Any = "fail",
    severity: Any = "blocker",
    phase: Any = "resources",
    **more: Any,
) -> Finding:
    """Returns a finding with one cause and two remedies; keyword arguments change its fields."""
    words: dict[str, Any] = {
        "title": id.replace("_", " ").capitalize(),
        "why": "The next release no longer serves the kind, and its controller would forget the nodes.",
        "summary": f"2 objects keep {id.replace('_', ' ')} from being true" if status != "pass" else "",
        "sources": ("aws/karpenter-provider-aws@v0.32.1:website/content/en/docs/upgrading/v1beta1-migration.md",),
    }
    if status == "fail":
        seen = Evidence(kind="Provisioner", name="default", path="spec.ttl", seen="30", wanted="absent", count=2)
        words |= {"evidence_total": 2, "evidence": (seen,), "remedies": _remedies()}
    return Finding(id=id, hop=hop, phase=phase, status=status, severity=severity, **(words | more))


def _remedies() -> tuple[Remedy, ...]:
    return Remedy(how="kubectl", text="kubectl get provisioners"), Remedy(how="helm", text=YAML)


def findings(hop: str = "0.32") -> tuple[Finding, ...]:
    """Returns one finding of each status, over several phases."""
    return (
        a_finding("legacy_provisioners_gone", hop=hop),
        a_finding("controller_off_bad_patches", hop=hop, severity="warning", phase="controller"),
        a_finding("helm_read", hop=hop, status="unknown", phase="iam", summary="helm_releases: forbidden"),
        a_finding("aws_looked_at", hop=hop, status="manual", severity="warning", phase="iam"),
        a_finding("drift_enabled", hop=hop, severity="info", phase="rollout"),
        a_finding("crds_installed", hop=hop, status="pass", phase="crds"),
        a_finding("webhook_on", hop=hop, status="not_applicable", phase="crds", summary="no webhook at this release"),
        a_finding("pdbs_allow", hop=hop, status="waived", severity="warning", phase="workloads"),
    )


def a_report(
    name: str = "shop-prod",
    *,
    checks: Sequence[Finding] = (),
    nodes: Sequence[OwnedNode] = (),
    parts: Sequence[PartLine] = (),
    **more: Any,
) -> Report:
    """Returns the report of a cluster on 0.30 with one judged hop and one later hop."""
    checks = checks or (*findings("0.32"), *findings("0.33+"))
    hops = tuple(dict.fromkeys(finding.hop for finding in checks))
    lines = tuple(hop_line(hop, (f for f in checks if f.hop == hop)) for hop in hops)
    parts = parts or (PartLine(name="nodes", seen=True, count=len(nodes), seconds=0.2),)
    by_owner = {owner: sum(node.owner == owner for node in nodes) for owner in OWNERS}
    whole: dict[str, Any] = {
        "cluster": ClusterFacts(
            name=name,
            kubernetes_version="v1.27.16-eks",
            karpenter_version="0.30.0",
            stage="alpha",
            karpenter_told_by="image tag",
            karpenter_certainty="exact",
        ),
        "scanned_at": NOW.isoformat(),
        "complete": all(part.seen for part in parts),
        "parts": tuple(parts),
        "target": Target("1.4.0", tuple(_report_hop(hop) for hop in hops)),
        "hops": lines,
        "checks": tuple(checks),
        "nodes": NodeCounts(len(nodes), by_owner),
        "legacy": dict(LEGACY),
    }
    return Report(**(whole | more))


def _report_hop(hop: str) -> ReportHop:
    release = hop.rstrip("+") + ".10"
    window = KubernetesWindow("1.23", "1.28")
    return ReportHop(
        name=hop, release=release, rollback_to=("0.31.4",), kubernetes=window, kubernetes_fits=True, why="the last one"
    )


def some_nodes(count: int = 6, *, owner: str = "karpenter_alpha", **more: Any) -> tuple[OwnedNode, ...]:
    """Returns nodes of one owner, numbered."""
    return tuple(
        OwnedNode(
            name=f"ip-10-0-{owner[:3]}-{index}.ec2.internal",
            owner=owner,
            pool=more.get("pool", "default"),
            claim=f"default-{index:05x}",
            told_by=("label", "provider_id"),
            capacity="spot" if index % 2 else "on-demand",
            instance_type="m6i.2xlarge",
            zone=f"eu-west-1{'abc'[index % 3]}",
            anomalies=more.get("anomalies", ()),
        )
        for index in range(count)
    )


def a_claim_lost(name: str = "default-9zz") -> Anomaly:
    return Anomaly(id="claim-without-node", kind="Machine", name=name, detail="aws:///eu-west-1a/i-0abc")


def a_cluster(name: str = "shop-prod", **columns: Any) -> Cluster:
    """Creates a registered cluster that was never scanned."""
    columns.setdefault("source", Cluster.Source.KUBECONFIG)
    return Cluster.objects.create(name=name, **columns)


def a_snapshot(
    cluster: Cluster,
    report: Report | None = None,
    *,
    nodes: Sequence[OwnedNode] = (),
    at: datetime = NOW,
    latest: bool = True,
    **columns: Any,
) -> Snapshot:
    """Creates a published snapshot; columns that are not given are taken from the report."""
    report = report or a_report(cluster.name, nodes=nodes)
    body, rows = msgspec.json.encode(report), msgspec.json.encode(tuple(nodes))
    digest = hashlib.sha256(body + rows).hexdigest()
    fresh = {"report": zlib.compress(body), "nodes": zlib.compress(rows)}
    content, created = Content.objects.get_or_create(digest=digest, defaults=fresh)
    if created:
        FindingRow.objects.bulk_create([_finding_row(content, finding) for finding in report.checks])
    snapshot = Snapshot.objects.create(
        cluster=cluster, content=content, scanned_at=at, parts=_seconds(report), **_columns(report) | columns
    )
    if latest:
        Cluster.objects.filter(pk=cluster.pk).update(latest=snapshot, last_success_at=at, last_attempt_at=at)
        cluster.refresh_from_db()
    return snapshot


def _seconds(report: Report) -> bytes:
    return msgspec.json.encode({line.name: line.seconds for line in report.parts})


def _columns(report: Report) -> dict[str, Any]:
    line: HopLine | None = report.hops[0] if report.hops else None
    mine = [finding for finding in report.checks if line and finding.hop == line.hop]
    counts = list(report.legacy.values())
    return {
        "complete": report.complete,
        "stage": report.cluster.stage,
        "karpenter_version": report.cluster.karpenter_version or "",
        "kubernetes_version": report.cluster.kubernetes_version or "",
        "next_hop": line.hop if line else "",
        "verdict": line.verdict if line else "",
        "blockers": sum(f.status == "fail" and f.severity == "blocker" for f in mine),
        "warnings": sum(f.status == "fail" and f.severity == "warning" for f in mine),
        "unknowns": sum(f.status in ("unknown", "manual") for f in mine),
        "legacy_left": None if None in counts else sum(count or 0 for count in counts),
        "nodes_total": report.nodes.total,
    }


def _finding_row(content: Content, finding: Finding) -> FindingRow:
    return FindingRow(
        content=content,
        check_id=finding.id,
        hop=finding.hop,
        phase=finding.phase,
        status=finding.status,
        severity=finding.severity,
        summary=finding.summary,
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
    )


def a_failure(
    cluster: Cluster, *, times: int = 3, code: str = "unreachable", detail: str = "connection refused"
) -> None:
    """Records that the cluster did not answer, that many times in a row."""
    Cluster.objects.filter(pk=cluster.pk).update(
        failures=times,
        failing_since=NOW - timedelta(hours=times),
        last_attempt_at=NOW,
        last_error_code=code,
        last_error_detail=detail,
    )
    cluster.refresh_from_db()


def a_scan(cluster: Cluster, *, state: str = "running", **columns: Any) -> Scan:
    columns.setdefault(
        "progress", {"parts_done": 7, "parts_total": 27, "now": "machines"} if state == "running" else {}
    )
    columns.setdefault("started_at", NOW if state == "running" else None)
    return Scan.objects.create(cluster=cluster, state=state, **columns)
