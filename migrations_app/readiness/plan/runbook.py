"""A report as a runbook: the hops in order, and at each hop the work in order, with what it cannot take back."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import Change, HelmChange, Observation, PersonTask, leaves
from migrations_app.checks.shell import note
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step
from migrations_app.readiness.plan.chart_values import ChartHop, ValuesWalk
from migrations_app.readiness.plan.forecast import ForecastLine, forecast
from migrations_app.readiness.plan.helm_upgrade import (
    HelmWalk,
    in_the_plan,
)
from migrations_app.readiness.plan.stages import Stage, stages
from migrations_app.readiness.plan.work_order import (
    LANDS,
    OPEN,
    by_work,
    late_of,
    parts_of,
)
from migrations_app.readiness.report import ClusterFacts, HopLine, PathStep, Report, TablesEnd, Verdict


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


class RunbookHop(msgspec.Struct, frozen=True, kw_only=True):
    """One hop, its verdict now, and the work. `starts` is empty where the running release is not known; `steps` are the
    open findings, and a stage names those that belong to it."""

    starts: str
    lands: PathStep
    verdict: Verdict
    done_percent: int
    next: Next
    forecast: tuple[ForecastLine, ...]
    stages: tuple[Stage, ...]
    steps: tuple[Finding, ...]
    done_earlier: tuple[DoneEarlier, ...] = ()
    """What an earlier hop of this plan asks for: it is told there, and not a step of this hop."""
    asked_first: tuple[tuple[str, str], ...] | UnsetType = ()
    """Chart and id of each check that an upgrade before the landing settles. Never published."""
    values: tuple[ChartHop, ...] | UnsetType = ()
    """The values of each Helm release before and after the hop; in version 1 of the JSON there are none."""

    @property
    def charts(self) -> tuple[ChartHop, ...]:
        """The same, empty where they are left out."""
        return self.values if self.values is not UNSET else ()

    @property
    def upgraded_first(self) -> tuple[tuple[str, str], ...]:
        """The same, empty where they are left out; only what is open."""
        chart_checks = self.asked_first if self.asked_first is not UNSET else ()
        mine = {step.id for step in self.steps}
        return tuple(pair for pair in chart_checks if pair[1] in mine)

    def open_in(self, stage: Stage) -> tuple[Finding, ...]:
        """The open findings of that stage, in the order in which it names them."""
        by_id = {finding.id: finding for finding in self.steps}
        return tuple(by_id[name] for name in stage.checks)

    def ways_back(self) -> tuple[str, ...]:
        """How one goes back at each stage; empty where it is as at the stage before."""
        backs = [stage.back for stage in self.stages]
        return tuple(
            "" if own_back == before else own_back for before, own_back in zip(["", *backs], backs, strict=False)
        )

    def untold(self, cluster: str) -> tuple[FindingGroup, ...]:
        """What is not known at this hop, by what keeps it from being known."""
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
    """The runbook of a report; it has no hops when there is nothing left to do or no path could be told."""
    lines = {line.hop: line for line in report.hops}
    starts = (_running(report.cluster), *(step.release for step in report.target.path))
    walk, values = HelmWalk(report.cluster.installed), ValuesWalk(report.cluster.installed)
    earlier_checks = _AskedFirst()
    hops: list[RunbookHop] = []
    for start, step in zip(starts, report.target.path, strict=False):
        runbook_hop = _hop(
            report, step, start=start, line=lines[step.hop], walk=walk, values=values, earlier_checks=earlier_checks
        )
        hops.append(runbook_hop)
        earlier_checks.add(step.hop, report.checks)
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        known_up_to=report.known_up_to,
        hops=tuple(hops),
    )


class _AskedFirst:
    """What the hops so far ask for: by the id of a check the first of them."""

    def __init__(self) -> None:
        self.hops: dict[str, str] = {}
        self.last: str | None = None

    def add(self, hop: str, findings: tuple[Finding, ...]) -> None:
        self.last = hop
        for finding in findings:
            if finding.hop == hop and finding.status in ("fail", "manual") and finding.id != LANDS:
                self.hops.setdefault(finding.id, hop)

    def done(self, judged: tuple[Finding, ...]) -> Iterator[DoneEarlier]:
        """What the work of these hops has settled, or will be seen to have settled."""
        for finding in sorted(judged, key=by_work):
            if not isinstance(finding.asked_at, UnsetType):
                yield DoneEarlier(finding.id, finding.asked_at, seen_again=True)
            elif finding.id in self.hops and finding.status in ("pass", "not_applicable"):
                yield DoneEarlier(finding.id, self.hops[finding.id])


def _hop(
    report: Report,
    step: PathStep,
    *,
    start: str,
    line: HopLine,
    walk: HelmWalk,
    values: ValuesWalk,
    earlier_checks: _AskedFirst,
) -> RunbookHop:
    judged = tuple(finding for finding in report.checks if finding.hop == step.hop)
    upgrades = walk.take(judged, start=start, lands=step.release)
    own = sorted((finding for finding in judged if not finding.asked_earlier), key=by_work)
    mine = tuple(in_the_plan(without_repeat, upgrades) for without_repeat in without_repeats(own))
    return RunbookHop(
        starts=start,
        lands=step,
        verdict=line.verdict,
        done_percent=line.done_percent,
        next=_next(line.verdict, mine, step=step, cluster=report.cluster.name, before=earlier_checks.last),
        forecast=forecast(mine),
        stages=stages(
            mine,
            step,
            start=start,
            installed=report.cluster.installed,
            upgrades=upgrades,
            parts=parts_of(judged, release=step.release),
            late=late_of(judged, release=step.release),
            guards=earlier_checks.last is None,
            rewrites=step.hop == CONVERTED and step is not report.target.path[-1],
        ),
        steps=tuple(sorted((finding for finding in mine if finding.status in OPEN), key=by_work)),
        done_earlier=tuple(earlier_checks.done(judged)),
        asked_first=upgrades.asked_first if upgrades.start else (),
        values=values.take(upgrades.made, start=start, lands=step.release),
    )


def _next(verdict: Verdict, findings: tuple[Finding, ...], *, step: PathStep, cluster: str, before: str | None) -> Next:
    """`before` is the hop that has to be taken first; None where this one can be taken now."""
    following = next_step(verdict, findings, release=step.release, cluster=cluster)
    if before is None:
        return Next(safe=following.safe, do=following.do, check=following.check, others=following.others)
    if verdict == "later":
        return Next(safe="Later: nothing stands in the way but the hops before", do=f"Take hop {before} first")
    return Next(
        safe=f"Later, after hop {before}. {following.safe}",
        do=following.do,
        check=following.check,
        others=following.others,
    )


def _running(facts: ClusterFacts) -> str:
    return facts.karpenter_version or (facts.karpenter_range[0] if facts.karpenter_range else "")


def without_repeats(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings in their order; a change that another one makes too, alone or among more, is a note there. Of equal
    ones the first keeps it."""
    changes_by_check = [(finding.id, _changes_of(finding)) for finding in findings]
    return tuple(_with_notes(finding, at=at, changes_by_check=changes_by_check) for at, finding in enumerate(findings))


def _changes_of(finding: Finding) -> dict[Change, frozenset[Change]]:
    """Each change of the finding, and what it does without its words; Helm values have an upgrade of their own."""
    changes = dict.fromkeys(remedy.change for remedy in finding.remedies if remedy.change is not UNSET)
    by_change = {change: frozenset(map(_bare, filter(_changes, leaves(change)))) for change in changes}
    return {change: bare for change, bare in by_change.items() if bare}


def _changes(change: Change) -> bool:
    return not isinstance(change, Observation | PersonTask | HelmChange)


def _bare(change: Change) -> Change:
    return replace(change, when="before", what="", notes=(), needs=(), undo=None, final="", done="")


def _with_notes(
    finding: Finding, *, at: int, changes_by_check: list[tuple[str, dict[Change, frozenset[Change]]]]
) -> Finding:
    mine = changes_by_check[at][1]
    other_checks: dict[Change, str] = {}
    for change, bare in mine.items():
        for place, (name, others) in enumerate(changes_by_check):
            if place != at and any(bare < other or (bare == other and place < at) for other in others.values()):
                other_checks.setdefault(change, name)
    if not other_checks:
        return finding
    remedies: dict[Remedy, None] = {}
    for remedy in finding.remedies:
        by = None if isinstance(remedy.change, UnsetType) else other_checks.get(remedy.change)
        if by is None:
            remedies.setdefault(remedy)
        elif not any(remedy_so_far.text == _text(by) for remedy_so_far in remedies):
            remedies.setdefault(Remedy(how=remedy.how, text=_text(by)))
    return replace(finding, remedies=tuple(remedies))


def _text(name: str) -> str:
    return note(f"Made by the fix of {name}, in this hop")
