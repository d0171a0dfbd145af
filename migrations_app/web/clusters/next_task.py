"""Finds the next task of an upgrade: what to do, why, and the commands for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.urls import reverse

from migrations_app.checks.base import Finding, Remedy
from migrations_app.queries.campaigns.campaign_hold import CampaignHold
from migrations_app.queries.clusters.detail import ClusterHead
from migrations_app.queries.rollouts.active import ActiveRollout
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step, warning_counts
from migrations_app.readiness.report import Report, Verdict
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.runbook.work_order import (
    OPEN_STATUSES,
    changes_anything,
    in_stage_order,
    only_looks,
    parts_by_check,
    waits_for,
    with_needs,
)
from migrations_app.texts import text as _
from migrations_app.web.clusters.hops import Hop
from migrations_app.web.clusters.sections import SharedRemedies


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTask:
    """The next task. `headline` answers whether the upgrade can be done; `title` is the task, empty if there is
    none.

    `check` is the id of the check to fix, empty if the task is the upgrade itself (`upgrades`). `group` holds the
    remedies of the check; `of` is the number of such checks, of which this is the first.
    """

    headline: str
    title: str = ""
    why: str = ""
    check: str = ""
    of: int = 0
    upgrades: bool = False
    group: FindingGroup | None = None

    @property
    def recheckable(self) -> str:
        """The check that can be run again alone; empty if a person has to look, or the upgrade itself is next."""
        return self.check if self.group is not None and self.group.status in ("fail", "unknown") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorTask:
    """What comes before the next task of the upgrade. `holds`: it changes the cluster itself, or is about to.

    `opens` is the text of the link to `url`. `campaign` is what a campaign has to do with it, empty without one, and
    `campaign_url` its page.
    """

    title: str
    why: str
    url: str = ""
    opens: str = ""
    holds: bool = False
    campaign: str = ""
    campaign_url: str = ""

    @property
    def scans_whole(self) -> bool:
        """Whether only a scan of the whole cluster tells more: no single check is worked on before it."""
        return self.holds or not self.url


_IN_PROGRESS = _("It changes this cluster now. Change nothing by hand before it has ended.")
_OF_ROLLOUT: Mapping[str, str] = {
    "needs_attention": _("What came of one of its requests is not known: look in the cluster, and record the result."),
    "paused": _("It is paused, and nothing else starts here: resume or abort it. Change nothing by hand before."),
    "running": _IN_PROGRESS,
    "rolling_back": _IN_PROGRESS,
    "approved": _("Its plan is approved and can be started. What is changed by hand before makes it invalid."),
    "awaiting_approval": _("Its plan waits for an approval. What is changed by hand before makes it invalid."),
}
"""By state of a rollout: what to do about it."""
_TITLES: Mapping[str, str] = {
    "needs_attention": _("Record what came of the rollout “{title}”"),
    "paused": _("Resume or abort the paused rollout “{title}”"),
    "running": _("Wait for the rollout “{title}”"),
    "rolling_back": _("Wait for the rollback of “{title}”"),
    "approved": _("Start the approved rollout “{title}”"),
    "awaiting_approval": _("Get the rollout “{title}” approved"),
}
"""By state of a rollout: the task. The title of the rollout alone would read as work to be done by hand."""


def prior_task(
    head: ClusterHead,
    *,
    rollout: ActiveRollout | None,
    journey: ActiveRollout | None,
    hold: CampaignHold | None = None,
) -> PriorTask | None:
    """Returns what comes before the next task of the upgrade, because it is under way, or a campaign holds it, or
    because the result that the task rests on is not that of today; None if there is nothing.
    """
    if head.snapshot is None or not head.is_latest:
        return None
    under_way = _under_way(rollout, journey)
    if hold is not None:
        url = reverse("campaign", args=[hold.campaign])
        found = under_way or PriorTask(
            title=_("Settle the campaign of this cluster"), why=_of_hold(hold), url=url, opens=_("Open campaign")
        )
        return replace(found, campaign=_of_hold(hold) if under_way else "", campaign_url=url if under_way else "")
    return under_way or _of_result(head)


def _of_hold(hold: CampaignHold) -> str:
    if hold.stopped:
        text = _("The campaign “{name}” has stopped this cluster: decide there whether it is tried again or left out.")
    else:
        text = _("The campaign “{name}” is paused: nothing starts here before it is resumed.")
    return text.format(name=hold.name)


def _under_way(rollout: ActiveRollout | None, journey: ActiveRollout | None) -> PriorTask | None:
    if journey is not None:
        return _of_journey(journey)
    if rollout is not None:
        url = reverse("rollout", args=[rollout.id])
        title = _TITLES[rollout.state].format(title=rollout.title)
        why = _OF_ROLLOUT[rollout.state]
        return PriorTask(title=title, why=why, url=url, opens=_("Open rollout"), holds=True)
    return None


def _of_result(head: ClusterHead) -> PriorTask | None:
    if head.unreachable:
        why = _("karpdash does not reach the cluster. What follows is of its last scan, and may be done already.")
        return PriorTask(title=_("Fix the connection, then scan again"), why=why)
    if head.stale and head.active is None:
        why = _("What follows is of its last scan, and may be done already, or not be enough any more.")
        return PriorTask(title=_("Scan again: the newest result is out of date"), why=why)
    return None


def _of_journey(journey: ActiveRollout) -> PriorTask:
    title = _("Upgrade to {release}, step by step").format(release=journey.title)
    if journey.needs_person:
        why = _("A step of it waits for a person.")
    elif journey.state == "paused":
        why = _("It is paused: read why, then resume or end it.")
    else:
        why = _("It is in progress, and says which step is next.")
    url = reverse("journey", args=[journey.id])
    return PriorTask(title=title, why=why, url=url, opens=_("Open upgrade"), holds=True)


def next_task(hop: Hop, *, report: Report) -> NextTask | None:
    """Returns the next task of that upgrade; None if the cluster has no upgrade."""
    if not hop.hop:
        return None
    if hop.place == "later":
        return NextTask(headline=_later(hop))
    ordered = in_stage_order(hop.findings, release=hop.release)
    waiting = tuple(finding for finding in ordered if finding.status in OPEN_STATUSES)
    groups = group_findings(waiting, cluster=report.cluster.name)
    blockers = [group for group in groups if group.severity == "blocker"]
    failing = [group for group in blockers if group.status == "fail"]
    if failing:
        return _first_of(failing, groups, waiting=waiting)
    if blockers:
        return _unchecked(blockers, hop, report=report)
    return _upgrade(hop, [group for group in groups if group.severity == "warning"])


def commands_of(step: NextTask | None, hop: Hop, *, report: Report) -> SharedRemedies | None:
    """Returns the commands of the next task, by tool; for the upgrade itself those that install its CRDs."""
    if step is None:
        return None
    if step.group is not None:
        remedies = step.group.remedies
    elif step.upgrades:
        remedies = _crds(hop, report)
    else:
        return None
    commands = tuple(remedy for remedy in remedies if remedy.how != "action")
    return SharedRemedies("next", step.title, commands) if commands else None


def _later(hop: Hop) -> str:
    ahead = [_count_of(hop.blockers, "blocker")] if hop.blockers else []
    ahead += [_count_of(hop.warnings, "warning")] if hop.warnings else []
    fixes = _("; {ahead} can be fixed ahead").format(ahead=" and ".join(ahead)) if ahead else ""
    return _("Later: the upgrade before it comes first{fixes}").format(fixes=fixes)


def _first_of(
    failing: list[FindingGroup], groups: tuple[FindingGroup, ...], *, waiting: tuple[Finding, ...]
) -> NextTask:
    """Returns the first check in the order of the runbook that has a change to make and waits for no other one: a
    blocker, or what a blocker waits for. If each of them only looks, or waits, it is the first blocker."""
    wanted = {finding.id for finding in with_needs((group.first for group in failing), among=waiting)}
    doable = [
        finding
        for finding in waiting
        if finding.id in wanted
        and finding.status == "fail"
        and not only_looks(finding)
        and not waits_for(finding, among=waiting)
    ]
    headline = _("Not ready: {blockers}").format(blockers=_count_of(len(failing), "blocker"))
    first = doable[0] if doable else failing[0].first
    group = next(group for group in groups if group.first is first)
    passed = [group for group in failing if waiting.index(group.first) < waiting.index(first)]
    others = [group.summary for group in passed if not waits_for(group.first, among=(first,))]
    waited_for = "" if group in failing else _waited_for(first, failing)
    fix = _fix(group, headline, of=len(failing) if group in failing else 1)
    return replace(fix, why=f"{fix.why}{waited_for}{_passed_over(others)}")


def _waited_for(first: Finding, failing: list[FindingGroup]) -> str:
    """Returns which blockers wait for that check; without names if they wait for one that waits for it."""
    names = [group.summary for group in failing if waits_for(group.first, among=(first,))]
    return _(" Blockers wait for it: {names}.").format(names=_quoted(names)) if names else _(" Blockers wait for it.")


def _passed_over(names: list[str]) -> str:
    """Returns what is said of failing blockers that the runbook has before the next task."""
    return _(" Still blocking, with nothing to change yet: {names}.").format(names=_quoted(names)) if names else ""


def _quoted(names: list[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _fix(group: FindingGroup, headline: str, *, of: int) -> NextTask:
    first = group.first
    reason = first.why if group.alone else _("{count} checks depend on it.").format(count=len(group.findings))
    title = group.summary or first.title
    return NextTask(headline=headline, title=title, why=reason, check=first.id, of=of, group=group)


def _unchecked(blockers: list[FindingGroup], hop: Hop, *, report: Report) -> NextTask:
    """Returns the unknown blocker that `next_step` takes first: the one that most others depend on."""
    verdict: Verdict = "needs_facts"
    step = next_step(verdict, hop.findings, release=hop.release, cluster=report.cluster.name)
    first = next((group for group in blockers if group.first.id == step.check), blockers[0])
    open_now = sum(finding.open_blocker for group in blockers for finding in group.findings)
    return _fix(
        first,
        _("Cannot tell: {open_now} unchecked").format(open_now=_count_of(open_now, "possible blocker")),
        of=len(blockers),
    )


def _upgrade(hop: Hop, warnings: list[FindingGroup]) -> NextTask:
    if hop.verdict == "needs_facts":
        return NextTask(
            headline=_("Cannot tell: nothing could be checked"), title=_("Give karpdash access, then rescan")
        )
    if hop.path_hop is None:
        return NextTask(
            headline=_("On target version") if hop.verdict == "done" else _("Upgraded; migration in progress")
        )
    ready = _ready(warnings)
    if first := _fixed_before(hop, warnings):
        fix = _fix(first[0], ready, of=len(first))
        before = _("Fix it before the upgrade to {release}, or waive it.").format(release=hop.release)
        return replace(fix, why=f"{before} {fix.why}")
    return NextTask(
        headline=ready,
        title=_("Upgrade to {release}: install its CRDs first").format(release=hop.release),
        why=_("Then upgrade the controller. The runbook has every step in order, with its rollback."),
        upgrades=True,
    )


def _ready(warnings: list[FindingGroup]) -> str:
    """Returns the headline of a hop without open blockers, with the numbers of the tally below it."""
    failing, unchecked = warning_counts(warnings)
    if not warnings:
        return _("Ready to upgrade")
    if not failing:
        return _("Ready: {possible} unchecked").format(possible=_count_of(unchecked, "possible warning"))
    ready = _("Ready: review {warnings}").format(warnings=_count_of(failing, "warning"))
    return ready + (_("; {count} more unchecked").format(count=unchecked) if unchecked else "")


def _fixed_before(hop: Hop, warnings: list[FindingGroup]) -> list[FindingGroup]:
    """Returns the failing warnings with a change to make before the upgrade, such as a hold of drift: after the upgrade
    it is too late. Once drift is held, nodes would still drift, but nothing is left to change."""
    parts = parts_by_check(hop.findings, release=hop.release)
    failing = [group for group in warnings if group.status == "fail"]
    return [group for group in failing if parts[group.first.id] == "before" and changes_anything(group.first)]


def _crds(hop: Hop, report: Report) -> tuple[Remedy, ...]:
    steps = next((runbook_hop for runbook_hop in runbook(report).hops if runbook_hop.path_hop.name == hop.hop), None)
    stages = steps.stages if steps else ()
    crd_stages = [stage for stage in stages if stage.part == "land" and stage.phase == "crds" and stage.commands]
    return crd_stages[-1].commands if crd_stages else ()


def _count_of(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
