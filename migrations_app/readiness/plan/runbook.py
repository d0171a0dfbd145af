"""A report as a runbook: the hops in order, and at each hop the work in order, with what it cannot take back."""

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.checks.base import Finding
from migrations_app.readiness.next_step import FindingGroup, group_findings, next_step
from migrations_app.readiness.plan.chart_values import ChartHop, ValuesWalk
from migrations_app.readiness.plan.forecast import ForecastLine, forecast
from migrations_app.readiness.plan.helm_upgrade import (
    HelmWalk,
    in_the_plan,
)
from migrations_app.readiness.plan.stages import Stage, stages
from migrations_app.readiness.plan.walk import STORED, WAITS, Settled, settled_earlier
from migrations_app.readiness.plan.work_order import (
    OPEN,
    by_work,
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
    """A finding of this hop, by the id of its check, and the earlier hop whose work clears it."""

    check: str
    hop: str


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
    """What fails today and is cleared by an earlier hop of this plan: it is told there, and not a step of this hop."""
    values: tuple[ChartHop, ...] | UnsetType = ()
    """The values of each Helm release before and after the hop; in version 1 of the JSON there are none."""

    @property
    def charts(self) -> tuple[ChartHop, ...]:
        """The same, empty where they are left out."""
        return self.values if self.values is not UNSET else ()

    def open_in(self, stage: Stage) -> tuple[Finding, ...]:
        """The open findings of that stage, in the order in which it names them."""
        by_id = {finding.id: finding for finding in self.steps}
        return tuple(by_id[name] for name in stage.checks)

    def ways_back(self) -> tuple[str, ...]:
        """How one goes back at each stage; empty where it is as at the stage before."""
        told = [stage.back for stage in self.stages]
        return tuple("" if one == before else one for before, one in zip(["", *told], told, strict=False))

    def untold(self, cluster: str) -> tuple[FindingGroup, ...]:
        """What is not known at this hop, by what keeps it from being known."""
        return group_findings((one for one in self.steps if one.status == "unknown"), cluster=cluster)


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
    settled = settled_earlier([step.hop for step in report.target.path], report.checks)
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        known_up_to=report.known_up_to,
        hops=tuple(
            _hop(report, step, start=start, line=lines[step.hop], walk=walk, values=values, settled=settled)
            for start, step in zip(starts, report.target.path, strict=False)
        ),
    )


def _hop(
    report: Report,
    step: PathStep,
    *,
    start: str,
    line: HopLine,
    walk: HelmWalk,
    values: ValuesWalk,
    settled: Settled,
) -> RunbookHop:
    judged = tuple(finding for finding in report.checks if finding.hop == step.hop)
    upgrades = walk.take(judged, start=start, lands=step.release)
    mine = tuple(finding for finding in judged if (step.hop, finding.id) not in settled)
    asked = tuple(in_the_plan(finding, upgrades) for finding in mine)
    return RunbookHop(
        starts=start,
        lands=step,
        verdict=line.verdict,
        done_percent=line.done_percent,
        next=_next(line.verdict, asked, step=step, cluster=report.cluster.name, before=settled.get((step.hop, WAITS))),
        forecast=forecast(asked),
        stages=stages(
            asked,
            step,
            start=start,
            installed=report.cluster.installed,
            upgrades=upgrades,
            parts=parts_of(judged, release=step.release),
            rewrites=any(way == step.hop and name == STORED for (_, name), way in settled.items()),
        ),
        steps=tuple(sorted((finding for finding in asked if finding.status in OPEN), key=by_work)),
        done_earlier=tuple(
            DoneEarlier(one.id, settled[step.hop, one.id])
            for one in sorted(judged, key=by_work)
            if (step.hop, one.id) in settled
        ),
        values=values.take(upgrades.made, start=start, lands=step.release),
    )


def _next(verdict: Verdict, findings: tuple[Finding, ...], *, step: PathStep, cluster: str, before: str | None) -> Next:
    """`before` is the hop that has to be taken first; None where this one can be taken now."""
    told = next_step(verdict, findings, release=step.release, cluster=cluster)
    if before is None:
        return Next(safe=told.safe, do=told.do, check=told.check, others=told.others)
    if verdict == "later":
        return Next(safe="Later: nothing stands in the way but the hops before", do=f"Take hop {before} first")
    return Next(safe=f"Later, after hop {before}. {told.safe}", do=told.do, check=told.check, others=told.others)


def _running(facts: ClusterFacts) -> str:
    return facts.karpenter_version or (facts.karpenter_range[0] if facts.karpenter_range else "")
