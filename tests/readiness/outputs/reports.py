"""Reports for the tests of outputs: one that holds every status, and arbitrary ones."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from migrations_app.checks.base import PHASES, Evidence, Finding, Reason, Remedy
from migrations_app.inventory.facts.ownership import Anomaly
from migrations_app.readiness.report import (
    OWNERS,
    ClusterFacts,
    Counts,
    HopLine,
    KubernetesWindow,
    NodeCounts,
    PartLine,
    Report,
    ReportHop,
    Target,
)
from migrations_app.readiness.verdict import hop_line

HOP = "0.33+"


def finding(name: str, status: str, **more: Any) -> Finding:
    told = {
        "hop": HOP,
        "phase": "resources",
        "title": f"Title of {name}",
        "severity": "blocker",
        "why": f"Why {name}",
        "summary": f"Summary of {name}",
    }
    return Finding(id=name, status=status, **(told | more))  # type: ignore[arg-type]  # tests name known statuses


def unread(name: str, part: str = "crds", why: str = "forbidden", **more: Any) -> Finding:
    """An open question behind a part that was not read."""
    told: dict[str, Any] = {"summary": f"{part} could not be read: {why}", "reason": Reason("part_unread", part, why)}
    return finding(name, "unknown", **(told | more))


def every_status() -> tuple[Finding, ...]:
    rows = tuple(Evidence(kind="Provisioner", name=f"pool-{at}", path="spec", seen="x", wanted="y") for at in range(7))
    remedy = Remedy(how="kubectl", text="kubectl delete provisioner pool-0\nkubectl get nodes")
    grouped = Evidence(kind="Pod", namespace="shop", name="cart-1", seen="do-not-evict", count=500)
    return (
        finding("gone", "fail", evidence=rows, evidence_total=7, remedies=(remedy,), sources=("docs",)),
        unread("webhook", phase="crds"),
        finding("backup", "manual", phase="preflight"),
        finding("marks", "fail", severity="warning", phase="workloads", evidence=(grouped,), evidence_total=500),
        finding("note", "fail", severity="info", evidence_total=9, evidence_exact=False),
        finding("accepted", "waived", severity="warning", summary="accepted by Ada until May: known"),
        finding("fits", "pass", phase="preflight"),
        finding("windows", "not_applicable", severity="warning"),
    )


def report_hop(hop: str, release: str, **more: Any) -> ReportHop:
    return ReportHop(name=hop, release=release, kubernetes=KubernetesWindow("1.23", "1.29"), **more)


def a_report(findings: tuple[Finding, ...] | None = None, *, name: str = "prod-1", **more: Any) -> Report:
    found = every_status() if findings is None else findings
    told: dict[str, Any] = {
        "cluster": ClusterFacts(
            name=name, kubernetes_version="v1.27.3", karpenter_version="0.32.10", stage="mixed",
            karpenter_told_by="image tag", karpenter_certainty="exact",
        ),
        "scanned_at": "2026-11-21T05:00:00Z",
        "complete": False,
        "parts": (
            PartLine(name="nodes", seen=True, count=3),
            PartLine(name="crds", seen=False, why="forbidden", detail="may not list"),
            PartLine(name="machines", seen=True, count=2, quarantined=1, detail="m-1: wrong type"),
        ),
        "target": Target("0.37.8", (report_hop(HOP, "0.37.8", rollback_to=("0.32.10",), why="alpha is gone"),)),
        "hops": (hop_line(HOP, found),),
        "checks": found,
        "nodes": NodeCounts(3, {owner: 3 if owner == "karpenter_beta" else 0 for owner in OWNERS}),
        "anomalies": (Anomaly(id="claim_without_node", kind="Machine", name="m-1", detail="no node"),),
        "legacy": {"Provisioner": 7, "Machine": None},
    }  # fmt: skip
    return Report(**(told | more))


def without_path() -> Report:
    """A report of a cluster of which nothing could be told, so that no check was asked."""
    cluster = ClusterFacts(name="prod-1", kubernetes_version="v1.27.3", karpenter_version=None, stage="unknown")
    return a_report((), cluster=cluster, target=Target(None, ()), hops=())


def of_unknown_release() -> Report:
    """A whole report of a cluster that runs a release newer than the tables: no check knows it."""
    reasons = ("1.99.0 is newer than 1.14.1",)
    line = HopLine(hop="1.99", verdict="needs_facts", done_percent=0, counts=Counts(), reasons=reasons)
    return a_report((), target=Target("1.99.0", ()), hops=(line,), complete=True, parts=())


HOSTILE = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["\x00\x1b[31m", "]]>&<", "a|b`c", "\u202e rtl", "\ud83d", "```\n# x", "<script>", "\u2028", "\x9b2J"]
)
EVIDENCES = st.builds(
    Evidence, kind=HOSTILE, name=HOSTILE, namespace=HOSTILE, path=HOSTILE, seen=HOSTILE, wanted=HOSTILE,
    count=st.integers(1, 9),
)  # fmt: skip
REMEDIES = st.builds(Remedy, how=st.sampled_from(["kubectl", "helm"]), text=HOSTILE)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    rows = tuple(draw(st.lists(EVIDENCES, max_size=3)))
    return finding(
        draw(st.sampled_from(["gone", "webhook", "marks"])),
        draw(st.sampled_from(["pass", "fail", "unknown", "not_applicable", "manual", "waived"])),
        severity=draw(st.sampled_from(["blocker", "warning", "info"])),
        phase=draw(st.sampled_from(PHASES)),
        summary=draw(HOSTILE),
        why=draw(HOSTILE),
        evidence=rows,
        evidence_total=sum(row.count for row in rows),
        evidence_exact=draw(st.booleans()),
        remedies=tuple(draw(st.lists(REMEDIES, max_size=2))),
    )


@st.composite
def any_reports(draw: st.DrawFn) -> Report:
    """Reports whose texts are as hostile as what stands in clusters."""
    found = {one.id: one for one in draw(st.lists(findings(), max_size=4))}
    return a_report(tuple(found.values()), name=draw(HOSTILE))


def as_tree(report: Report) -> Any:
    return msgspec.to_builtins(report)
