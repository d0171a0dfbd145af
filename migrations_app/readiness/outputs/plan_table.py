"""A runbook for a person at a terminal."""

from collections.abc import Iterator

from migrations_app.checks.values import Finding
from migrations_app.readiness.outputs.plain import plain, plain_lines
from migrations_app.readiness.outputs.plan_markdown import landing
from migrations_app.readiness.outputs.words import STAGES, VERDICTS, left_out, object_line, path_line
from migrations_app.readiness.runbook import Runbook, RunbookHop

EVIDENCE_SHOWN = 5


def render(plan: Runbook) -> str:
    """Lines of text, ending in a line break."""
    lines = [*_head(plan), *(line for at, hop in enumerate(plan.hops, 1) for line in _hop(at, hop))]
    return "\n".join(lines) + "\n"


def _head(plan: Runbook) -> Iterator[str]:
    facts = plan.cluster
    yield f"Cluster  {plain(facts.name)}"
    yield f"From     {plain(facts.karpenter_version or 'unknown release')}, objects: {STAGES[facts.stage]}"
    yield f"To       {plain(plan.target or 'none')}"
    yield f"By       {path_line(hop.lands for hop in plan.hops) or 'nothing left to do'}"
    yield f"Read     {plain(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"Note     {plain(note)}" for note in plan.notes)


def _hop(at: int, hop: RunbookHop) -> Iterator[str]:
    yield ""
    lands = hop.lands
    yield f"{at}. Hop {lands.hop} -> {plain(lands.release)}  {VERDICTS[hop.verdict].upper()}  {hop.done_percent} % done"
    yield from (f"   {plain(line)}" for line in landing(lands))
    for number, step in enumerate(hop.steps, 1):
        yield from _step(f"{at}.{number}", step)
    yield f"   {at}.{len(hop.steps) + 1} controller  install the CRDs of {lands.release}, then its controller"


def _step(number: str, step: Finding) -> Iterator[str]:
    yield f"   {number} {step.phase}  {step.status}, {step.severity}: {plain(step.summary)} [{step.id}]"
    yield from (f"       - {object_line(row)}" for row in step.evidence[:EVIDENCE_SHOWN])
    if more := left_out(step, EVIDENCE_SHOWN):
        yield f"       - {more}"
    for remedy in step.remedies:
        yield f"       by {remedy.how}:"
        yield from (f"           {line}" for line in plain_lines(remedy.text).splitlines())
