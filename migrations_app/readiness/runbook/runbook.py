"""Makes the runbook of a report: the hops in order, and for each hop its work in order and what cannot be undone."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import Change, HelmChange, Observation, PersonTask, leaves
from migrations_app.checks.shell import note
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step
from migrations_app.readiness.report import ClusterFacts, HopLine, Report, ReportHop, TablesEnd, Verdict
from migrations_app.readiness.runbook.chart_values import ChartHop, ValuesWalk
from migrations_app.readiness.runbook.forecast import ForecastLine, forecast
from migrations_app.readiness.runbook.helm_upgrade import (
    HelmWalk,
    with_upgrade_notes,
)
from migrations_app.readiness.runbook.stages import RunbookStage, stages
from migrations_app.readiness.runbook.work_order import (
    CRDS_INSTALLED_CHECK,
    OPEN_STATUSES,
    in_work_order,
    last_before_upgrade,
    parts_by_check,
    work_sort_key,
)


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the hop may be taken now, and the next thing to do for it; `check` is the id that asks for it."""

    safe: str
    do: str
    check: str = ""
    others: int = 0


class DoneEarlier(msgspec.Struct, frozen=True):
    """A check of this hop that an earlier one asks for. `seen_again`: its work has no effect that can be told before,
    so that only a scan after that hop shows whether it is done."""

    check: str
    hop: str
    seen_again: bool = False


class WaivedCheck(msgspec.Struct, frozen=True):
    """A failing check that a waiver accepts, so that no step fixes it; `summary` says who accepted it, until when and
    why."""

    check: str
    summary: str


class RunbookHop(msgspec.Struct, frozen=True, kw_only=True, rename={"path_hop": "lands"}):
    """One hop, its verdict now, and the work. `starts` is empty where the running release is not known; `steps` are the
    open findings, and a stage names those that belong to it."""

    starts: str
    path_hop: ReportHop
    verdict: Verdict
    done_percent: int
    next: Next
    forecast: tuple[ForecastLine, ...]
    stages: tuple[RunbookStage, ...]
    steps: tuple[Finding, ...]
    done_earlier: tuple[DoneEarlier, ...] = ()
    """Checks that an earlier hop of this plan fixes: their work is listed there, not in this hop."""
    waived: tuple[WaivedCheck, ...] = ()
    asked_first: tuple[tuple[str, str], ...] | UnsetType = ()
    """Chart and id of each check that a Helm upgrade before the upgrade of the hop fixes. Never published."""
    values: tuple[ChartHop, ...] | UnsetType = ()
    """The values of each Helm release before and after the hop. Version 1 of the JSON has none."""

    @property
    def charts(self) -> tuple[ChartHop, ...]:
        """`values`; empty if they are left out."""
        return self.values if self.values is not UNSET else ()

    @property
    def upgraded_first(self) -> tuple[tuple[str, str], ...]:
        """The pairs of `asked_first` whose check is open; empty if they are left out."""
        chart_checks = self.asked_first if self.asked_first is not UNSET else ()
        mine = {step.id for step in self.steps}
        return tuple(pair for pair in chart_checks if pair[1] in mine)

    def open_in(self, stage: RunbookStage) -> tuple[Finding, ...]:
        """The open findings of the stage, in the order of its `checks`."""
        by_id = {finding.id: finding for finding in self.steps}
        return tuple(by_id[name] for name in stage.checks)

    def ways_back(self) -> tuple[str, ...]:
        """For each stage its rollback; empty if it is the same as for the stage before."""
        backs = [stage.back for stage in self.stages]
        return tuple(
            "" if own_back == before else own_back for before, own_back in zip(["", *backs], backs, strict=False)
        )

    def unknown_by_reason(self, cluster: str) -> tuple[FindingGroup, ...]:
        """The unknown findings of this hop, grouped by the reason why they are unknown."""
        return group_findings((step for step in self.steps if step.status == "unknown"), cluster=cluster)


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "karpdash/plan/v1"
    cluster: ClusterFacts
    scanned_at: str
    complete: bool
    target: str | None
    notes: tuple[str, ...]
    hops: tuple[RunbookHop, ...]
    known_up_to: TablesEnd | None = None


def runbook(report: Report) -> Runbook:
    """Returns the runbook of a report. It has no hops if nothing is left to do or no upgrade path is known."""
    lines = {line.hop: line for line in report.hops}
    starts = (_running(report.cluster), *(hop.release for hop in report.target.path))
    helm_walk, values_walk = HelmWalk(report.cluster.installed), ValuesWalk(report.cluster.installed)
    earlier_hops = _EarlierHops()
    hops: list[RunbookHop] = []
    for start, hop in zip(starts, report.target.path, strict=False):
        runbook_hop = _hop(
            report,
            hop,
            start=start,
            line=lines[hop.name],
            helm_walk=helm_walk,
            values_walk=values_walk,
            earlier_hops=earlier_hops,
        )
        hops.append(runbook_hop)
        earlier_hops.add(hop.name, report.checks)
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        known_up_to=report.known_up_to,
        hops=tuple(hops),
    )


class _EarlierHops:
    """Remembers for each check the first hop that asks for it."""

    def __init__(self) -> None:
        self.hops: dict[str, str] = {}
        self.last: str | None = None

    def add(self, hop: str, findings: tuple[Finding, ...]) -> None:
        self.last = hop
        for finding in findings:
            if finding.hop == hop and finding.status in ("fail", "manual") and finding.id != CRDS_INSTALLED_CHECK:
                self.hops.setdefault(finding.id, hop)

    def done(self, judged: tuple[Finding, ...]) -> Iterator[DoneEarlier]:
        """Yields the checks that the work of earlier hops fixes, also those where only a later scan shows it."""
        for finding in sorted(judged, key=work_sort_key):
            if not isinstance(finding.asked_at, UnsetType):
                yield DoneEarlier(finding.id, finding.asked_at, seen_again=True)
            elif finding.id in self.hops and finding.status in ("pass", "not_applicable"):
                yield DoneEarlier(finding.id, self.hops[finding.id])


def _hop(
    report: Report,
    hop: ReportHop,
    *,
    start: str,
    line: HopLine,
    helm_walk: HelmWalk,
    values_walk: ValuesWalk,
    earlier_hops: _EarlierHops,
) -> RunbookHop:
    judged = tuple(finding for finding in report.checks if finding.hop == hop.name)
    upgrades = helm_walk.next_hop(judged, start=start, target_release=hop.release)
    to_do = sorted((finding for finding in judged if not finding.asked_earlier), key=work_sort_key)
    findings = tuple(with_upgrade_notes(finding, upgrades) for finding in without_repeats(to_do))
    return RunbookHop(
        starts=start,
        path_hop=hop,
        verdict=line.verdict,
        done_percent=line.done_percent,
        next=_next(line.verdict, findings, hop=hop, cluster=report.cluster.name, before=earlier_hops.last),
        forecast=forecast(findings),
        stages=stages(
            findings,
            hop,
            start=start,
            installed=report.cluster.installed,
            upgrades=upgrades,
            parts=parts_by_check(judged, release=hop.release),
            late=last_before_upgrade(judged, release=hop.release),
            guards=earlier_hops.last is None,
            rewrites=hop.name == CONVERTED and hop is not report.target.path[-1],
        ),
        steps=tuple(in_work_order(finding for finding in findings if finding.status in OPEN_STATUSES)),
        done_earlier=tuple(earlier_hops.done(judged)),
        waived=tuple(WaivedCheck(finding.id, finding.summary) for finding in findings if finding.status == "waived"),
        asked_first=upgrades.asked_first if upgrades.start else (),
        values=values_walk.next_hop(upgrades.changed_values, start=start, target_release=hop.release),
    )


def _next(verdict: Verdict, findings: tuple[Finding, ...], *, hop: ReportHop, cluster: str, before: str | None) -> Next:
    """The next thing to do. `before` is the hop that comes first; None if this hop can be taken now."""
    following = next_step(verdict, findings, release=hop.release, cluster=cluster)
    if before is None:
        return Next(safe=following.safe, do=following.do, check=following.check, others=following.others)
    if verdict == "later":
        return Next(safe="Later: nothing stands in the way but the upgrades before", do=f"Upgrade to {before} first")
    return Next(
        safe=f"Later, after the upgrade to {before}. {following.safe}",
        do=following.do,
        check=following.check,
        others=following.others,
    )


def _running(facts: ClusterFacts) -> str:
    return facts.karpenter_version or (facts.karpenter_range[0] if facts.karpenter_range else "")


def without_repeats(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Returns the findings in their order, without repeated changes: if another finding makes the same change, alone or
    with more changes, a note names that finding instead. Of equal changes the first one stays."""
    changes_by_check = [(finding.id, _changes_of(finding)) for finding in findings]
    return tuple(
        _with_notes(finding, index=index, changes_by_check=changes_by_check) for index, finding in enumerate(findings)
    )


def _changes_of(finding: Finding) -> dict[Change, frozenset[Change]]:
    """Maps each change of the finding to its single changes, without their texts. Left out are changes by Helm,
    which are collected in one upgrade, and what changes nothing."""
    changes = dict.fromkeys(remedy.change for remedy in finding.remedies if remedy.change is not UNSET)
    by_change = {change: frozenset(map(_without_texts, filter(_is_counted, leaves(change)))) for change in changes}
    return {change: single_changes for change, single_changes in by_change.items() if single_changes}


def _is_counted(change: Change) -> bool:
    return not isinstance(change, Observation | PersonTask | HelmChange)


def _without_texts(change: Change) -> Change:
    return replace(change, when="before", what="", notes=(), needs=(), undo=None, final="", done="")


def _with_notes(
    finding: Finding, *, index: int, changes_by_check: list[tuple[str, dict[Change, frozenset[Change]]]]
) -> Finding:
    own_changes = changes_by_check[index][1]
    other_checks: dict[Change, str] = {}
    for change, single_changes in own_changes.items():
        for other_index, (check, other_changes) in enumerate(changes_by_check):
            if other_index != index and any(
                single_changes < other or (single_changes == other and other_index < index)
                for other in other_changes.values()
            ):
                other_checks.setdefault(change, check)
    if not other_checks:
        return finding
    remedies: dict[Remedy, None] = {}
    for remedy in finding.remedies:
        other_check = None if isinstance(remedy.change, UnsetType) else other_checks.get(remedy.change)
        if other_check is None:
            remedies.setdefault(remedy)
        elif not any(kept.text == _made_elsewhere(other_check) for kept in remedies):
            remedies.setdefault(Remedy(how=remedy.how, text=_made_elsewhere(other_check)))
    return replace(finding, remedies=tuple(remedies))


def _made_elsewhere(check: str) -> str:
    return note(f"Made by the fix of {check}, in this upgrade")
