"""After a step: does the cluster show what it was to bring, and is it calm enough for the next one (A24)."""

import msgspec
from django.utils import timezone

from migrations_app.actions.conditions import all_hold
from migrations_app.actions.gate import Gate, judge
from migrations_app.actions.plan import Step
from migrations_app.actions.progress import GATE
from migrations_app.clients.writer import Writer
from migrations_app.flow import journal
from migrations_app.flow.baseline import baseline
from migrations_app.flow.halt import Halt
from migrations_app.flow.journal import Work
from migrations_app.flow.watch import picture
from migrations_app.models.rollout import Rollout

VERIFY_SECONDS = 60
"""How long a step without a gate may take to show what it was to bring."""


def pass_gate(work: Work, writer: Writer, *, step: Step) -> bool:
    """True once the gate is passed and written down; False: wait. Raises Halt, Lost, CouldNotLook."""
    waited = _waited(work)
    gate = step.after or Gate(pending_above=None, seconds=VERIFY_SECONDS)
    if not _brought(writer, step):
        if waited >= gate.seconds:
            raise Halt("not_verified", f"{step.title}: after {gate.seconds} s the cluster does not show it")
        return False
    if step.after is None:
        return _passed(work, step, reason="verified")
    now = picture(writer, standing=gate.gone)
    Rollout.objects.filter(pk=work.row.pk).update(picture=msgspec.to_builtins(now))
    said = judge(gate, before=baseline(work), now=now, waited=waited)
    if said.judgement == "pause":
        raise Halt("gate", f"{step.title}: {'; '.join(said.reasons)}")
    return said.judgement == "go" and _passed(work, step, reason="gate passed")


def _passed(work: Work, step: Step, *, reason: str) -> bool:
    journal.pass_over(work, step, verb=GATE, reason=reason)
    Rollout.objects.filter(pk=work.row.pk).update(gate_since=None)
    work.row.gate_since = None
    return True


def _brought(writer: Writer, step: Step) -> bool:
    if step.change is None or not step.brings:
        return True
    target = step.change.target
    return all_hold(step.brings, writer.read(target), uid=target.uid)


def _waited(work: Work) -> float:
    now = timezone.now()
    if work.row.gate_since is None:
        Rollout.objects.filter(pk=work.row.pk).update(gate_since=now)
        work.row.gate_since = now
    return (now - work.row.gate_since).total_seconds()
