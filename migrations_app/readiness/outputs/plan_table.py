"""A runbook for a person at a terminal."""

from collections.abc import Iterator

from migrations_app.checks.base import Remedy
from migrations_app.readiness.next_step import FindingGroup, group_findings
from migrations_app.readiness.outputs.plain import plain, plain_lines
from migrations_app.readiness.outputs.wording import (
    STAGES,
    VERDICTS,
    forecast_number,
    ids,
    landing,
    left_out,
    object_line,
    path_line,
    settled,
    stage_title,
)
from migrations_app.readiness.runbook import Runbook, RunbookHop, Stage

EVIDENCE_SHOWN = 5
RULE = "-" * 20


def render(plan: Runbook) -> str:
    """Lines of text, ending in a line break."""
    lines = [*_head(plan), *(line for at, hop in enumerate(plan.hops, 1) for line in _hop(at, hop, plan=plan))]
    return "\n".join(lines) + "\n"


def _head(plan: Runbook) -> Iterator[str]:
    facts = plan.cluster
    yield f"Cluster  {plain(facts.name)}"
    yield f"From     {plain(facts.karpenter_version or 'unknown release')}, objects: {STAGES[facts.stage]}"
    yield f"To       {plain(plan.target or 'none')}"
    yield f"By       {path_line(hop.lands for hop in plan.hops) or 'nothing left to do'}"
    if plan.known_up_to:
        yield f"Known    releases up to {plan.known_up_to}"
    yield f"Read     {plain(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"Note     {plain(note)}" for note in plan.notes)


def _hop(at: int, hop: RunbookHop, *, plan: Runbook) -> Iterator[str]:
    yield ""
    lands = hop.lands
    yield f"{at}. Hop {lands.hop} -> {plain(lands.release)}  {VERDICTS[hop.verdict].upper()}  {hop.done_percent} % done"
    yield f"   {plain(hop.next.safe)}. Next: {plain(hop.next.do)}"
    yield from (f"   {plain(line)}" for line in landing(lands))
    yield from _untold(hop.untold(plan.cluster.name))
    for line in hop.forecast:
        yield f"   Forecast: {line.what}: {forecast_number(line)} [{line.check}]"
    for number, (stage, back) in enumerate(zip(hop.stages, hop.ways_back(), strict=True), 1):
        groups = group_findings(hop.open_in(stage), cluster=plan.cluster.name)
        yield from _stage(f"{at}.{number}", stage, groups=groups)
        if back:
            yield f"       way back from here on: {plain(back)}"
        yield from (f"   {RULE} no return: {plain(one.what)}. {plain(one.back)}" for one in stage.no_return)


def _untold(groups: tuple[FindingGroup, ...]) -> Iterator[str]:
    for group in groups:
        yield f"   Not known: {plain(group.summary)} [{ids(group)}]"
    for remedy in dict.fromkeys(remedy for group in groups for remedy in group.remedies):
        yield from _remedy(remedy)


def _stage(number: str, stage: Stage, *, groups: tuple[FindingGroup, ...]) -> Iterator[str]:
    yield f"   {number} {plain(stage_title(stage))}"
    for group in groups:
        yield from _item(group)
        for remedy in group.remedies if not stage.commands and group.status != "unknown" else ():
            yield from _remedy(remedy)
    for command in stage.commands:
        yield from _remedy(command)
    if counted := settled(stage):
        yield f"       {counted}"


def _item(group: FindingGroup) -> Iterator[str]:
    """What is not known has its remedy above, once."""
    first = group.first
    yield f"     - {first.status}, {first.severity}: {plain(group.summary)} [{ids(group)}]"
    if group.status == "unknown":
        return
    yield from (f"       - {object_line(row)}" for row in first.evidence[:EVIDENCE_SHOWN])
    if more := left_out(first, EVIDENCE_SHOWN):
        yield f"       - {more}"


def _remedy(remedy: Remedy) -> Iterator[str]:
    yield f"       by {remedy.how}:"
    yield from (f"           {line}" for line in plain_lines(remedy.text).splitlines())
