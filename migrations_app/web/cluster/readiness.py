"""The pages of one cluster: readiness, nodes, parts, and the active scan.

The readiness page shows the verdict, the path of hops, and the findings in sections. General badges are in
templatetags; the looks here are for this page only.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from migrations_app.checks.base import PHASES, Finding, Remedy
from migrations_app.errors import InvalidInput
from migrations_app.queries.cluster.detail import ClusterHead, cluster_head, nodes_of, report_of
from migrations_app.queries.fleet.groups import groups_of_cluster
from migrations_app.queries.fleet.labels import labels_told
from migrations_app.readiness.action_offers import Offer, by_check, offers, reason_disabled
from migrations_app.readiness.look import Look
from migrations_app.readiness.next_step import FindingGroup, NextStep, group_findings, next_step
from migrations_app.readiness.planned import planned_minor
from migrations_app.readiness.rbac.roles import kinds_of, scan_roles
from migrations_app.readiness.report import FORBIDDEN, HopLine, PartLine, PathStep, Report
from migrations_app.readiness.verdict import order
from migrations_app.web.access import OPERATE, require_right
from migrations_app.web.cluster import nodes as ownership

PHASE_WORDS = {"iam": "IAM", "crds": "CRDs", "cleanup": "Clean-up"}


_FAILS = {
    "blocker": Look("Blocker", "blocker", "blocker", id="blocker"),
    "warning": Look("Warning", "warning", "warning", id="warning"),
    "info": Look("Good to know", "accent", "info", id="info"),
}
_UNKNOWN = Look("Unknown", "unknown", "unknown", id="unknown")
_MANUAL = Look("Confirm by hand", "unknown", "manual", id="manual")
_TOLD = Look("Reason", "muted", "info", id="told")


def blocking_look(finding: Finding | None) -> Look:
    """The look of a reason; a neutral one if no check stands behind it."""
    if finding is None:
        return _TOLD
    if finding.status == "fail":
        return _FAILS[finding.severity]
    return _MANUAL if finding.status == "manual" else _UNKNOWN


def phase_look(phase: str) -> Look:
    return Look(PHASE_WORDS.get(phase, phase.capitalize()), "muted", "", id=phase)


REASONS = 5
SECTIONS: tuple[Look, ...] = (
    Look("Blockers", "blocker", "blocker", "stop this hop", id="blockers"),
    Look("Unknown", "unknown", "unknown", "could not be judged, so nothing is taken for granted", id="unknown"),
    Look("Confirm by hand", "unknown", "manual", "only a person can look", id="manual"),
    Look("Warnings", "warning", "warning", "the hop can be taken, with care", id="warnings"),
    Look("Good to know", "accent", "info", id="infos"),
    Look("Waived", "waived", "waived", "accepted by somebody, for a while", id="waived"),
    Look("Passed", "pass", "pass", id="passed"),
    Look("Not applicable", "muted", "na", id="na"),
)
SETTLED = ("passed", "na")
FOLDED = ("infos", *SETTLED)


@dataclass(frozen=True, slots=True)
class SharedRemedies:
    """Remedies for several checks, in the form that the partial for one check's remedies expects."""

    id: str
    title: str
    remedies: tuple[Remedy, ...]


def told_of(group: FindingGroup) -> SharedRemedies:
    return SharedRemedies(f"group-{group.first.id}", group.summary, group.remedies)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the checklist. `rows` are the findings grouped by common cause."""

    id: str
    look: Look
    findings: tuple[Finding, ...]
    folded: bool = False
    cluster: str = ""

    @property
    def rows(self) -> tuple[tuple[FindingGroup, SharedRemedies], ...]:
        return tuple((group, told_of(group)) for group in group_findings(self.findings, cluster=self.cluster))


@dataclass(frozen=True, slots=True)
class VerdictReason:
    """Why a hop is not ready. `url` links to the finding, or is empty; `checks` is how many share the reason."""

    text: str
    url: str
    look: Look
    checks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One hop as the page shows it. `landed`: the cluster is there; asked about only where no hop is left."""

    hop: str = ""
    verdict: str = ""
    release: str = ""
    landed: bool = False
    chosen: bool = False
    done_percent: int = 0
    step: PathStep | None = None
    reasons: tuple[VerdictReason, ...] = ()
    more_reasons: int = 0
    blockers: int = 0
    unknowns: int = 0
    warnings: int = 0
    passed: int = 0
    next: NextStep | None = None

    @property
    def asked(self) -> bool:
        counted = self.blockers or self.unknowns or self.warnings or self.passed
        return bool(self.hop) and bool(counted or not self.landed)


def hops_of(report: Report, *, chosen: str) -> tuple[Hop, ...]:
    """The hops in order of the path; exactly one is chosen if there are any."""
    steps = {step.hop: step for step in report.target.path}
    names = [line.hop for line in report.hops]
    wanted = chosen if chosen in names else next((name for name in names if name in steps), names[-1] if names else "")
    return tuple(_hop(line, steps.get(line.hop), report=report, chosen=line.hop == wanted) for line in report.hops)


def _hop(line: HopLine, step: PathStep | None, *, report: Report, chosen: bool) -> Hop:
    behind = step is None and bool(report.target.path)
    findings = [] if behind else [finding for finding in report.checks if finding.hop == line.hop]
    name = report.cluster.name
    following = next_step(line.verdict, findings, release=step.release, cluster=name) if step else None
    reasons = _reasons(findings, cluster=name, told=following.check if following else "")
    told = tuple(VerdictReason(text, "", blocking_look(None)) for text in line.reasons)
    return Hop(
        hop=line.hop,
        verdict=line.verdict,
        release=step.release if step else "",
        landed=step is None and not findings,
        chosen=chosen,
        done_percent=line.done_percent,
        step=step,
        reasons=reasons[:REASONS] if step or findings else told,
        more_reasons=max(0, len(reasons) - REASONS),
        blockers=_count(findings, "blockers"),
        unknowns=_count(findings, "unknown") + _count(findings, "manual"),
        warnings=_count(findings, "warnings"),
        passed=_count(findings, "passed"),
        next=following,
    )


def _reasons(findings: Iterable[Finding], *, cluster: str, told: str) -> tuple[VerdictReason, ...]:
    """One reason for each cause that keeps the hop from being ready, without the one shown as the next step."""
    waiting = sorted((f for f in findings if f.status in ("fail", "unknown", "manual")), key=order)
    groups = group_findings((f for f in waiting if f.severity != "info"), cluster=cluster)
    return tuple(
        VerdictReason(
            one.summary or one.first.title, f"#check-{one.first.id}", blocking_look(one.first), len(one.findings)
        )
        for one in groups
        if one.first.id != told
    )


def _count(findings: Iterable[Finding], section: str) -> int:
    return sum(section_of(finding) == section for finding in findings)


def section_of(finding: Finding) -> str:
    """The id of the section that a finding belongs to."""
    if finding.status == "fail":
        return {"blocker": "blockers", "warning": "warnings", "info": "infos"}[finding.severity]
    return {"pass": "passed", "not_applicable": "na"}.get(finding.status, finding.status)


def by_urgency(findings: Iterable[Finding], *, cluster: str = "") -> tuple[Section, ...]:
    """Sections by urgency, blockers first, unknown second; within a section in the order of work."""
    ordered = sorted(findings, key=lambda finding: (PHASES.index(finding.phase), finding.severity, finding.id))
    cut = ((look, tuple(f for f in ordered if section_of(f) == look.id)) for look in SECTIONS)
    return tuple(Section(look.id, look, rows, _folds(look.id, rows), cluster) for look, rows in cut if rows)


def _folds(section: str, rows: tuple[Finding, ...]) -> bool:
    """Whether the section is folded: it needs no action now, or only infos are to be confirmed by hand."""
    return section in FOLDED or (section == "manual" and all(finding.severity == "info" for finding in rows))


def by_phase(findings: Iterable[Finding], *, cluster: str = "") -> tuple[Section, ...]:
    """One section for each phase, blockers first; passed and not applicable findings are folded at the end."""
    rows = tuple(findings)
    live = sorted((f for f in rows if section_of(f) not in SETTLED), key=order)
    cut = ((phase, tuple(f for f in live if f.phase == phase)) for phase in PHASES)
    phases = tuple(Section(f"phase-{phase}", phase_look(phase), held, cluster=cluster) for phase, held in cut if held)
    return phases + tuple(section for section in by_urgency(rows, cluster=cluster) if section.id in SETTLED)


TABS = (
    ("cluster", "Readiness"),
    ("cluster-plan", "Plan"),
    ("cluster-nodes", "Nodes"),
    ("cluster-parts", "Parts"),
    ("cluster-iam", "IAM"),
    ("cluster-convert", "Convert"),
    ("cluster-rollouts", "Rollouts"),
    ("cluster-history", "History"),
)
LIVE = ("kubeconfig", "in_cluster", "eks")
ANOMALIES = 50


@require_right()
def readiness(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The checklist of one hop."""
    context = about(request, cluster_id, tab="cluster")
    report, hop = context["report"], context["hop"]
    if report is not None:
        findings = [finding for finding in report.checks if finding.hop == hop.hop]
        context["by_phase"] = request.GET.get("by") == "phase"
        arrange = by_phase if context["by_phase"] else by_urgency
        context["sections"] = arrange(findings, cluster=report.cluster.name)
        context["offers"] = by_check(offered(request, context["head"], report=report), findings)
    return render(request, "cluster/readiness.html", context | {"icons": static("img/icons.svg")})


@require_right()
def node_list(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The nodes by owner, with search and pages."""
    context = about(request, cluster_id, tab="cluster-nodes")
    head, report = context["head"], context["report"]
    if report is not None:
        ask = ownership.asked(request.GET)
        context |= ownership.page_of(nodes_of(head.snapshot.id), ask)._asdict()
        context["ask"] = ask
        context["segments"] = ownership.segments(report.nodes)
        context["nodes_unread"] = next((part for part in context["unread"] if part.name == "nodes"), None)
        context["anomalies"] = [row for row in report.anomalies if row.kind != "Node"][:ANOMALIES]
        context["more_anomalies"] = max(0, sum(row.kind != "Node" for row in report.anomalies) - ANOMALIES)
    return render(request, "cluster/nodes.html", context)


@require_right()
def parts(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """What the scan read, what it could not read, and the RBAC rule that would allow it."""
    context = about(request, cluster_id, tab="cluster-parts")
    report = context["report"]
    if report is not None:
        forbidden = [part.name for part in report.parts if part.why == FORBIDDEN or part.partly_forbidden]
        context["rule"] = scan_roles(kinds_of(forbidden))
        context["seen"] = [part for part in report.parts if part.seen]
        context["set_aside"] = [part for part in report.parts if part.quarantined]
    return render(request, "cluster/parts.html", context)


@require_right()
def progress(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The status of the active scan, polled every two seconds; makes the page reload when the scan has ended."""
    head = cluster_head(cluster_id, now=timezone.now())
    answer = render(request, "cluster/_progress.html", {"head": head, "scan": head.active})
    if head.active is None:
        answer.headers["HX-Refresh"] = "true"
    return answer


def about(request: HttpRequest, cluster_id: uuid.UUID, *, tab: str) -> dict[str, Any]:
    """The template context common to all tabs. `report` is None for a cluster that was never scanned."""
    head = cluster_head(cluster_id, now=timezone.now(), at=_snapshot_asked(request))
    planned = _kubernetes_asked(request)
    report = report_of(head.snapshot.id, kubernetes=planned["kubernetes"]) if head.snapshot else None
    hops = hops_of(report, chosen=request.GET.get("hop", "") or _next_hop(head)) if report else ()
    return planned | {
        "section": "fleet",
        "head": head,
        "report": report,
        "hops": hops,
        "hop": next((hop for hop in hops if hop.chosen), _no_hop(head)),
        "unread": _unread(report),
        "legacy": tuple(report.legacy.items())
        if report and head.snapshot and head.snapshot.stage != "no_karpenter"
        else (),
        "tabs": _tabs(request, head, report=report, chosen=tab),
        "first": tab == "cluster",
        "tab_word": dict(TABS).get(tab, "History"),
        "interval": head.interval_seconds or settings.ENV.scan_interval,
        "dated": head.unreachable or not head.is_latest or head.active is not None,
        "testable": head.source in LIVE,
        "labels": labels_told(cluster_id, environment=head.environment, arn=head.eks_arn),
        "groups": groups_of_cluster(cluster_id),
    }


def offered(request: HttpRequest, head: ClusterHead, *, report: Report | None) -> tuple[Offer, ...]:
    """Every action with its button, for this user and this snapshot."""
    may_prepare = any(request.user.has_perm(f"migrations_app.{one}") for one in OPERATE)
    return offers(report, held=reason_disabled(may_prepare=may_prepare, source=head.source, is_latest=head.is_latest))


def _kubernetes_asked(request: HttpRequest) -> dict[str, str]:
    """The Kubernetes minor in the address, and why what stands there is none; both may be empty."""
    text = request.GET.get("kubernetes", "").strip()
    try:
        return {"kubernetes": planned_minor(text) if text else "", "kubernetes_refused": ""}
    except InvalidInput as wrong:
        return {"kubernetes": "", "kubernetes_refused": wrong.message}


def _snapshot_asked(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET["at"]) if request.GET.get("at") else None
    except ValueError:
        return None


def _next_hop(head: ClusterHead) -> str:
    return head.snapshot.next_hop if head.snapshot else ""


def _no_hop(head: ClusterHead) -> Hop:
    return Hop(verdict=head.snapshot.verdict if head.snapshot else "")


def _unread(report: Report | None) -> list[PartLine]:
    return [part for part in report.parts if not part.seen] if report else []


def _tabs(request: HttpRequest, head: ClusterHead, *, report: Report | None, chosen: str) -> list[dict[str, Any]]:
    kept = {
        "at": "" if head.is_latest else request.GET.get("at", ""),
        "kubernetes": _kubernetes_asked(request)["kubernetes"],
    }
    asked = urlencode({name: value for name, value in kept.items() if value})
    at = f"?{asked}" if asked else ""
    unread = len(_unread(report))
    counts = {
        "cluster-nodes": report.nodes.total if report else None,
        "cluster-parts": f"{unread} missing" if unread else None,
        "cluster-history": head.snapshots,
    }
    return [
        {"url": reverse(name, args=[head.id]) + at, "word": word, "chosen": name == chosen, "count": counts.get(name)}
        for name, word in TABS
    ]
