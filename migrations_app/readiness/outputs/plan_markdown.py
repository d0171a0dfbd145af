"""A runbook as Markdown: to be put beside the work and ticked off."""

from collections.abc import Iterator

from migrations_app.checks.values import PHASES
from migrations_app.readiness.outputs.markdown import finding_section, text
from migrations_app.readiness.outputs.words import STAGES, VERDICTS, path_line
from migrations_app.readiness.report import PathStep
from migrations_app.readiness.runbook import Runbook, RunbookHop


def render(plan: Runbook) -> str:
    """Markdown, ending in a line break."""
    lines = [*_head(plan), *(line for at, hop in enumerate(plan.hops, 1) for line in _hop(at, hop))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(plan: Runbook) -> Iterator[str]:
    yield f"# Karpenter runbook of {text(plan.cluster.name)}"
    yield ""
    running = text(plan.cluster.karpenter_version or "unknown release")
    yield f"- From: {running}, objects: {STAGES[plan.cluster.stage]}"
    yield f"- To: {text(plan.target or 'none')}"
    yield f"- By: {text(path_line(hop.lands for hop in plan.hops) or 'nothing left to do')}"
    yield f"- Read: {text(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"- Note: {text(note)}" for note in plan.notes)
    yield ""


def _hop(at: int, hop: RunbookHop) -> Iterator[str]:
    lands = hop.lands
    yield f"## {at}. Hop {lands.hop}: land on {text(lands.release)}"
    yield ""
    yield f"Now: {VERDICTS[hop.verdict]}, {hop.done_percent} % done."
    yield ""
    yield from (f"- {text(line)}" for line in landing(lands))
    yield ""
    for phase in PHASES:
        steps = [step for step in hop.steps if step.phase == phase]
        if steps:
            yield f"Phase {phase}: {len(steps)} to do"
            yield ""
        for step in steps:
            yield from finding_section(step)
    yield from _close(lands)


def landing(step: PathStep) -> Iterator[str]:
    """What is to be known about a landing, a line each."""
    if step.why:
        yield f"Why here: {step.why}"
    fits = {True: "fits", False: "does not fit: move Kubernetes first", None: "not known whether it fits"}
    yield f"Kubernetes {step.kubernetes.min} to {step.kubernetes.max}: {fits[step.kubernetes_fits]}"
    yield from (f"Needs: {need}" for need in step.needs)
    yield from (f"Note: {note}" for note in step.notes)
    yield f"Way back: {', '.join(step.rollback_to) or 'none'}"
    yield from (f"Before going back: {caveat}" for caveat in step.caveats)


def _close(step: PathStep) -> Iterator[str]:
    yield f"### Land on {text(step.release)}"
    yield ""
    yield f"- [ ] CRDs of {text(step.release)} installed before the controller"
    yield f"- [ ] Controller of {text(step.release)} running and leading"
    yield f"- [ ] Scanned again, and hop {text(step.hop)} is done"
    yield ""
