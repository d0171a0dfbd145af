"""The pages of one cluster: readiness, nodes, data sources, and the active scan."""

import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from migrations_app.checks.base import Finding
from migrations_app.errors import InvalidInput
from migrations_app.queries.campaigns.campaign_hold import campaign_hold
from migrations_app.queries.clusters.detail import ClusterHead, cluster_head, nodes_of, report_of
from migrations_app.queries.fleet.groups import groups_of_cluster
from migrations_app.queries.fleet.labels import labels_from_columns
from migrations_app.queries.pull_requests import newest_by_check
from migrations_app.queries.rollouts.active import work_on
from migrations_app.queries.rollouts.policies import (
    UPGRADE_DELIVERY,
    controller_upgrades_allowed,
    has_no_action_workers,
)
from migrations_app.queries.scans.scans import checked_again
from migrations_app.readiness.action_offers import Offer, by_check, offers, reason_disabled
from migrations_app.readiness.action_order import possible_now
from migrations_app.readiness.kubernetes_plan import planned_minor
from migrations_app.readiness.pull_requests.object_edits import change_of, is_delivered_by_git
from migrations_app.readiness.rbac.roles import kinds_of, scan_roles
from migrations_app.readiness.report import FORBIDDEN, PartLine, Report
from migrations_app.texts import text as _
from migrations_app.web.access import OPERATE, require_right
from migrations_app.web.clusters import nodes as ownership
from migrations_app.web.clusters.hops import Hop, hops_of, rail_of
from migrations_app.web.clusters.next_task import NextTask, PriorTask, commands_of, next_task, prior_task
from migrations_app.web.clusters.node_map import node_map, ownership_tree
from migrations_app.web.clusters.sections import by_phase, by_urgency

TABS = (
    ("cluster", _("Readiness")),
    ("cluster-plan", _("Runbook")),
    ("cluster-nodes", _("Nodes")),
    ("cluster-parts", _("Data sources")),
    ("cluster-iam", "IAM"),
    ("cluster-convert", _("Manifests")),
    ("cluster-rollouts", _("Rollouts")),
    ("cluster-history", _("History")),
)
LIVE = ("kubeconfig", "in_cluster", "eks", "agent")
MAX_ANOMALIES = 50


@require_right()
def readiness(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The checklist of one hop."""
    context = about(request, cluster_id, tab="cluster")
    report, hop = context["report"], context["hop"]
    if report is not None:
        context["by_phase"] = request.GET.get("by") == "phase"
        name = report.cluster.name
        context["sections"] = (
            by_phase(hop.findings, cluster=name)
            if context["by_phase"]
            else by_urgency(hop.findings, cluster=name, release=hop.release)
        )
        at_hop = offered(request, context["head"], report=report, findings=hop.findings)
        context["offers"] = by_check(at_hop, hop.findings)
        context |= _offered_requests(request, context["head"], hop=hop)
        held = context["prior"] is not None and context["prior"].holds
        context["commands"] = None if held else commands_of(context["next"], hop, report=report)
        head = context["head"]
        alone = _check_alone(head, context["next"], kubernetes=context["kubernetes"])
        since = head.last_success_at
        context |= {"alone": alone, "again": checked_again(head.id, alone, since=since) if alone and since else None}
    return render(request, "cluster/readiness.html", context | {"icons": static("img/icons.svg")})


def _check_alone(head: ClusterHead, next_step: NextTask | None, *, kubernetes: str) -> str:
    """Returns the check of the next task if it can be run again alone: not for an old snapshot or a planned Kubernetes
    version.
    """
    return next_step.recheckable if next_step is not None and head.is_latest and not kubernetes else ""


@require_right()
def node_list(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The nodes by owner, with search and pages."""
    context = about(request, cluster_id, tab="cluster-nodes")
    head, report = context["head"], context["report"]
    if report is not None:
        filters = ownership.node_filters(request.GET)
        nodes = nodes_of(head.snapshot.id)
        context |= ownership.page_of(nodes, filters)._asdict()
        unread = {part.name for part in context["unread"]}
        context["map"], context["tree"] = node_map(nodes), ownership_tree(nodes, unread=unread)
        context["claims_unread"] = any(branch.bounded for branch in context["tree"])
        context["filters"] = filters
        context["segments"] = ownership.segments(report.nodes)
        context["nodes_unread"] = next((part for part in context["unread"] if part.name == "nodes"), None)
        context["anomalies"] = [row for row in report.anomalies if row.kind != "Node"][:MAX_ANOMALIES]
        context["more_anomalies"] = max(0, sum(row.kind != "Node" for row in report.anomalies) - MAX_ANOMALIES)
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
    """Returns the template context common to all tabs. `report` is None for a cluster that was never scanned."""
    head = cluster_head(cluster_id, now=timezone.now(), at=_snapshot_asked(request))
    kubernetes, refused = _kubernetes_asked(request)
    report = report_of(head.snapshot.id, kubernetes=kubernetes) if head.snapshot else None
    return {
        **_path(request, head, report=report, base=_rail_base(head, tab=tab, kubernetes=kubernetes)),
        **_addresses(cluster_id),
        "section": "fleet",
        "head": head,
        "report": report,
        "kubernetes": kubernetes,
        "kubernetes_refused": refused,
        "unread": _unread(report),
        "legacy": _legacy(head, report=report),
        "tabs": _tabs(request, head, report=report, chosen=tab),
        "tab_word": dict(TABS).get(tab, "History"),
        "interval": head.interval_seconds or settings.ENV.scan_interval,
        "dated": head.unreachable or head.stale or not head.is_latest or head.active is not None,
        "prior": _prior(head),
        "testable": head.source in LIVE,
        "labels": labels_from_columns(cluster_id, environment=head.environment, arn=head.eks_arn),
        "groups": groups_of_cluster(cluster_id),
    }


def _prior(head: ClusterHead) -> PriorTask | None:
    if head.snapshot is None:
        return None
    rollout, journey = work_on(head.id)
    return prior_task(head, rollout=rollout, journey=journey, hold=campaign_hold(head.id))


def _addresses(cluster_id: uuid.UUID) -> dict[str, str]:
    """Returns the URLs that some hundred checks on the page link to, so that each is looked up once."""
    waive = reverse("cluster-waive", args=[cluster_id])
    return {"catalogue_url": reverse("catalogue"), "fleet_url": reverse("fleet"), "waive_url": waive}


def _path(request: HttpRequest, head: ClusterHead, *, report: Report | None, base: str) -> dict[str, Any]:
    """Returns the rail of the path, the chosen hop, and its next task; `base` is the URL up to the hop."""
    hops = hops_of(report, chosen=request.GET.get("hop", "") or _next_hop(head)) if report else ()
    hop = next((hop for hop in hops if hop.chosen), _no_hop(head))
    if report is None:
        return {"hop": hop, "next": None, "rail": ()}
    return {"hop": hop, "next": next_task(hop, report=report), "rail": rail_of(report, hops, base=base)}


def _legacy(head: ClusterHead, *, report: Report | None) -> tuple[tuple[str, int | None], ...]:
    if report is None or head.snapshot is None or head.snapshot.stage == "no_karpenter":
        return ()
    return tuple(report.legacy.items())


def offered(
    request: HttpRequest, head: ClusterHead, *, report: Report | None, findings: Iterable[Finding] | None = None
) -> tuple[Offer, ...]:
    """Returns every action with its button, for this user and this snapshot. `findings` are those of one upgrade; all
    of the snapshot if they are not given.
    """
    may_prepare = any(request.user.has_perm(f"migrations_app.{right}") for right in OPERATE)
    refusal = reason_disabled(
        may_prepare=may_prepare,
        source=head.source,
        has_no_action_workers=has_no_action_workers(),
        is_latest=head.is_latest,
    )
    by_helm = controller_upgrades_allowed(head.id)
    by_delivery = controller_upgrades_allowed(head.id, action=UPGRADE_DELIVERY)
    action_offers = offers(report, held=refusal, by_helm=by_helm, by_delivery=by_delivery, findings=findings)
    return possible_now(action_offers, report)


def _kubernetes_asked(request: HttpRequest) -> tuple[str, str]:
    """Returns the Kubernetes minor in the URL, and why the text in the URL is none; both may be empty."""
    text = request.GET.get("kubernetes", "").strip()
    try:
        return (planned_minor(text), "") if text else ("", "")
    except InvalidInput as error:
        return "", error.message


def _snapshot_asked(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET["at"]) if request.GET.get("at") else None
    except ValueError:
        return None


def _next_hop(head: ClusterHead) -> str:
    return head.snapshot.next_hop if head.snapshot else ""


def _rail_base(head: ClusterHead, *, tab: str, kubernetes: str) -> str:
    """Returns the URL that the stops of the rail link to, up to the hop."""
    page = reverse("cluster-plan" if tab == "cluster-plan" else "cluster", args=[head.id])
    at = "" if head.is_latest or head.snapshot is None else f"at={head.snapshot.id}&"
    planned = f"kubernetes={kubernetes}&" if kubernetes else ""
    return f"{page}?{at}{planned}hop="


def _offered_requests(request: HttpRequest, head: ClusterHead, *, hop: Hop) -> dict[str, Any]:
    """Returns the template context of pull request offers: `git_checks` for users who may open one on the newest
    snapshot. Nothing is looked up if no fix can be a pull request.
    """
    failing = (finding for finding in hop.findings if finding.status == "fail")
    checks = frozenset(finding.id for finding in failing if is_delivered_by_git(finding) and change_of(finding))
    may = head.is_latest and request.user.has_perm("migrations_app.operate_rollout")
    return {
        "git_checks": checks if may else frozenset(),
        "requests": newest_by_check(head.id, hop.hop) if checks else {},
        "request_url": reverse("cluster-pull-request-new", args=[head.id]),
    }


def _no_hop(head: ClusterHead) -> Hop:
    return Hop(verdict=head.snapshot.verdict if head.snapshot else "")


def _unread(report: Report | None) -> list[PartLine]:
    return [part for part in report.parts if not part.seen] if report else []


def _tabs(request: HttpRequest, head: ClusterHead, *, report: Report | None, chosen: str) -> list[dict[str, Any]]:
    parameters = {
        "at": "" if head.is_latest else request.GET.get("at", ""),
        "kubernetes": _kubernetes_asked(request)[0],
    }
    query = urlencode({name: value for name, value in parameters.items() if value})
    at = f"?{query}" if query else ""
    unread = len(_unread(report))
    counts = {
        "cluster-nodes": report.nodes.total if report else None,
        "cluster-parts": _("{unread} missing").format(unread=unread) if unread else None,
        "cluster-history": head.snapshots,
    }
    return [
        {"url": reverse(name, args=[head.id]) + at, "word": word, "chosen": name == chosen, "count": counts.get(name)}
        for name, word in TABS
    ]
