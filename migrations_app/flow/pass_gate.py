"""After a step: does the cluster show what it was to bring, and is it calm enough for the next one (A24)."""

import msgspec
from django.utils import timezone

from migrations_app.actions.conditions import all_hold
from migrations_app.actions.gate import Gate, Picture, Said, judge
from migrations_app.actions.plan import Step
from migrations_app.actions.progress import GATE, Place
from migrations_app.clients.writer import Writer
from migrations_app.flow import journal
from migrations_app.flow.baseline import baseline
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Work
from migrations_app.flow.waiting import wait_for
from migrations_app.flow.watch import picture

MOST_SAID = 10
VERIFY_SECONDS = 60
"""How long a step without a gate may take to show what it was to bring."""


def pass_gate(work: Work, writer: Writer, *, here: Place) -> bool:
    """True once the gate is passed and written down; False: wait. Raises Halt, Lost, CouldNotLook."""
    step, waited = here.step, _waited(work)
    gate = step.after or Gate(pending_above=None, seconds=VERIFY_SECONDS)
    if not here.skipped and not _brought(writer, step):
        if waited >= gate.seconds:
            raise Halt("not_verified", f"{step.title}: after {gate.seconds} s the cluster does not show it")
        return wait_for(work, "the cluster to show it")
    if step.after is None:
        return _passed(work, step, reason="verified")
    now = picture(writer, standing=gate.gone)
    journal.note(work, picture=msgspec.to_builtins(now))
    said = judge(gate, before=baseline(work), now=now, waited=waited)
    words = _words(said, now)
    if said.judgement == "pause":
        raise Halt("gate", f"{step.title}: {words}")
    return _passed(work, step, reason="gate passed") if said.judgement == "go" else wait_for(work, words)


def _words(said: Said, now: Picture) -> str:
    """The reasons, and which pods are held by what (R23)."""
    held = [f"{one.namespace}/{one.pod} on {one.node} is held by {one.by}" for one in now.blocked[:MOST_SAID]]
    more = len(now.blocked) - MOST_SAID
    return "; ".join((*said.reasons, *held, *((f"and {more} more pods are held",) if more > 0 else ())))


def _passed(work: Work, step: Step, *, reason: str) -> bool:
    journal.pass_over(work, step, verb=GATE, reason=reason)
    journal.note(work, gate_since=None)
    return True


def _brought(writer: Writer, step: Step) -> bool:
    if step.change is None or not step.brings:
        return True
    target = step.change.target
    return all_hold(step.brings, writer.read(target), uid=target.uid)


def _waited(work: Work) -> float:
    now = timezone.now()
    if work.row.gate_since is None:
        journal.note(work, gate_since=now)
        return 0.0
    return (now - work.row.gate_since).total_seconds()
