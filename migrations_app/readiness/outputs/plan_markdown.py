"""A runbook as Markdown: to be put beside the work and ticked off."""

from collections.abc import Iterator

from migrations_app.readiness.next_step import FindingGroup, group_findings
from migrations_app.readiness.outputs.markdown import EVIDENCE_SHOWN, remedies, table, text
from migrations_app.readiness.outputs.wording import (
    STAGES,
    VERDICTS,
    evidence_count,
    forecast_number,
    landing,
    left_out,
    object_line,
    path_line,
    settled,
    stage_title,
)
from migrations_app.readiness.runbook import Runbook, RunbookHop, Stage


def render(plan: Runbook) -> str:
    """Markdown, ending in a line break."""
    lines = [*_head(plan), *(line for at, hop in enumerate(plan.hops, 1) for line in _hop(at, hop, plan=plan))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(plan: Runbook) -> Iterator[str]:
    yield f"# Karpenter runbook of {text(plan.cluster.name)}"
    yield ""
    running = text(plan.cluster.karpenter_version or "unknown release")
    yield f"- From: {running}, objects: {STAGES[plan.cluster.stage]}"
    yield f"- To: {text(plan.target or 'none')}"
    yield f"- By: {text(path_line(hop.lands for hop in plan.hops) or 'nothing left to do')}"
    if plan.known_up_to:
        yield f"- Known: releases up to {text(str(plan.known_up_to))}"
    yield f"- Read: {text(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"- Note: {text(note)}" for note in plan.notes)
    yield ""


def _hop(at: int, hop: RunbookHop, *, plan: Runbook) -> Iterator[str]:
    lands = hop.lands
    yield f"## {at}. Hop {lands.hop}: land on {text(lands.release)}"
    yield ""
    yield f"**{text(hop.next.safe)}.** Next: {text(hop.next.do)}"
    yield ""
    yield f"Now: {VERDICTS[hop.verdict]}, {hop.done_percent} % done."
    yield ""
    yield from (f"- {text(line)}" for line in landing(lands))
    yield ""
    yield from _untold(hop, cluster=plan.cluster.name)
    yield from _forecast(hop)
    for number, (stage, back) in enumerate(zip(hop.stages, hop.ways_back(), strict=True), 1):
        groups = group_findings(hop.open_in(stage), cluster=plan.cluster.name)
        yield from _stage(f"{at}.{number}", stage, groups=groups)
        yield from _way_back(stage, back)


def _untold(hop: RunbookHop, *, cluster: str) -> Iterator[str]:
    groups = hop.untold(cluster)
    if groups:
        yield "### Not known"
        yield ""
    for group in groups:
        yield f"- {text(group.summary)}: keeps {_checks(group)} open"
    yield from remedies(tuple(dict.fromkeys(remedy for group in groups for remedy in group.remedies)))
    if groups:
        yield ""


def _checks(group: FindingGroup) -> str:
    named = ", ".join(f"`{finding.id}`" for finding in group.findings)
    return named if group.alone else f"{len(group.findings)} checks ({named})"


def _forecast(hop: RunbookHop) -> Iterator[str]:
    if hop.forecast:
        yield "### Forecast"
        yield ""
        rows = ((text(line.what), forecast_number(line), f"`{line.check}`") for line in hop.forecast)
        yield from table(("What a rollout meets", "How many", "Check"), rows)
        yield ""


def _stage(number: str, stage: Stage, *, groups: tuple[FindingGroup, ...]) -> Iterator[str]:
    yield f"### {number} {text(stage_title(stage))}"
    yield ""
    for group in groups:
        yield from _item(group)
        if not stage.commands and group.status != "unknown":
            yield from remedies(group.remedies)
        yield ""
    if stage.commands:
        yield f"- [ ] {text(stage.does)}"
        yield from remedies(stage.commands)
        yield ""
    if stage.part == "verify":
        yield f"- [ ] {text(stage.does)}"
        yield ""
    if counted := settled(stage):
        yield f"{counted}."
        yield ""


def _item(group: FindingGroup) -> Iterator[str]:
    """One box to tick. What is not known has its remedy above, once."""
    first = group.first
    if group.status == "unknown":
        yield f"- [ ] not known, {group.severity}: {text(group.summary)}: {_checks(group)}"
        return
    yield f"- [ ] {first.status}, {first.severity}: **{text(first.title)}**. {text(first.summary)} ({_checks(group)})"
    if told := evidence_count(first):
        yield ""
        yield f"Evidence: {told}."
        yield ""
    yield from (f"- {text(object_line(row))}" for row in first.evidence[:EVIDENCE_SHOWN])
    if more := left_out(first, EVIDENCE_SHOWN):
        yield f"- {more}"


def _way_back(stage: Stage, back: str) -> Iterator[str]:
    if back:
        yield f"Way back from here on: {text(back)}."
        yield ""
    for lost in stage.no_return:
        yield "---"
        yield ""
        yield f"**Point of no return.** {text(lost.what)}. {text(lost.back)}."
        yield ""
