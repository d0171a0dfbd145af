"""A report as a runbook: the hops in order, and at each hop the work in order, with what it cannot take back."""

import msgspec

from migrations_app.checks.values import Finding
from migrations_app.readiness.forecast import ForecastLine, forecast
from migrations_app.readiness.groups import Group, grouped
from migrations_app.readiness.next_step import next_step
from migrations_app.readiness.report import ClusterFacts, PathStep, Report, Verdict
from migrations_app.readiness.stages import OPEN, Stage, by_work, stages


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the hop may be taken now, and the next thing to do for it; `check` is the id that asks for it."""

    safe: str
    do: str
    check: str = ""
    others: int = 0


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

    def open_in(self, stage: Stage) -> tuple[Finding, ...]:
        """The open findings of that stage, in the order in which it names them."""
        by_id = {finding.id: finding for finding in self.steps}
        return tuple(by_id[name] for name in stage.checks)

    def ways_back(self) -> tuple[str, ...]:
        """How one goes back at each stage; empty where it is as at the stage before."""
        told = [stage.back for stage in self.stages]
        return tuple("" if one == before else one for before, one in zip(["", *told], told, strict=False))

    def untold(self, cluster: str) -> tuple[Group, ...]:
        """What is not known at this hop, by what keeps it from being known."""
        return grouped((one for one in self.steps if one.status == "unknown"), cluster=cluster)


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "karpdash/plan/v1"
    cluster: ClusterFacts
    scanned_at: str
    complete: bool
    target: str | None
    notes: tuple[str, ...]
    hops: tuple[RunbookHop, ...]


def runbook(report: Report) -> Runbook:
    """The runbook of a report; it has no hops when there is nothing left to do or no path could be told."""
    lines = {line.hop: line for line in report.hops}
    starts = (_running(report.cluster), *(step.release for step in report.target.path))
    return Runbook(
        cluster=report.cluster,
        scanned_at=report.scanned_at,
        complete=report.complete,
        target=report.target.release,
        notes=(*report.cluster.disagreements, *report.target.notes),
        hops=tuple(
            _hop(report, step, start=start, verdict=lines[step.hop].verdict, percent=lines[step.hop].done_percent)
            for start, step in zip(starts, report.target.path, strict=False)
        ),
    )


def _hop(report: Report, step: PathStep, *, start: str, verdict: Verdict, percent: int) -> RunbookHop:
    asked = tuple(finding for finding in report.checks if finding.hop == step.hop)
    told = next_step(verdict, asked, release=step.release, cluster=report.cluster.name)
    return RunbookHop(
        starts=start,
        lands=step,
        verdict=verdict,
        done_percent=percent,
        next=Next(safe=told.safe, do=told.do, check=told.check, others=told.others),
        forecast=forecast(asked),
        stages=stages(asked, step, start=start, installed=report.cluster.installed),
        steps=tuple(sorted((finding for finding in asked if finding.status in OPEN), key=by_work)),
    )


def _running(facts: ClusterFacts) -> str:
    return facts.karpenter_version or (facts.karpenter_range[0] if facts.karpenter_range else "")
