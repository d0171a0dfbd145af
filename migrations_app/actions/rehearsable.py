"""Which plans can be rehearsed: those whose changes a twin and its simulator react to; and why others cannot."""

from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from migrations_app.actions.base import Action
from migrations_app.actions.plan import Plan, Step
from migrations_app.karpenter import kinds

PLAYED: frozenset[str] = frozenset(
    kind.kind
    for kind in (
        kinds.NODE,
        kinds.PROVISIONER,
        kinds.MACHINE,
        kinds.NODE_POOL,
        kinds.NODE_CLAIM,
        kinds.AWS_NODE_TEMPLATE,
        kinds.EC2_NODE_CLASS,
        kinds.CRD,
        kinds.MUTATING_WEBHOOKS,
        kinds.VALIDATING_WEBHOOKS,
    )
)
"""Kinds whose changes are played. A CRD decides what is served, stored and converted, not which fields are valid."""
_WORKLOADS = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET, kinds.CRON_JOB, kinds.JOB)
_RESTART = "its pods start anew one after another, and the simulator has no controller that does that"
_WHY: Mapping[str, str] = {
    **{kind.kind: _RESTART for kind in _WORKLOADS},
    kinds.POD.kind: "a twin keeps of a pod only what decides where it runs",
    "Secret": "helm runs against a real API server only, and its own preview has run it there already",
}
_OTHERWISE = "nothing in the simulator answers to them"


def unplayed_kinds(plan: Plan) -> tuple[str, ...]:
    """The kinds of objects that the plan changes and that no rehearsal plays; empty if it can be rehearsed."""
    return tuple(sorted({target.kind for target in plan.targets} - PLAYED))


def why_unplayed(plan: Plan) -> str:
    """Why the plan cannot be rehearsed, in words for people; empty if it can."""
    reasons: dict[str, list[str]] = {}
    for kind in unplayed_kinds(plan):
        reasons.setdefault(_WHY.get(kind, _OTHERWISE), []).append(kind)
    return "; ".join(
        f"changes of {', '.join(kind_names)} are not rehearsed: {reason}" for reason, kind_names in reasons.items()
    )


def replaced_workloads(plan: Plan) -> tuple[str, ...]:
    """The workloads for whose new pods the plan waits, which no rehearsal replaces; as text, each once."""
    gates = (step.after.workload for step in plan.steps if step.after is not None)
    return tuple(dict.fromkeys(gate.target.display_name for gate in gates if gate is not None))


def playable(plan: Plan) -> Plan:
    """The plan as a twin can play it: it does not wait for the pods of a workload, which nobody replaces there, and
    does not compare the Deployment of the controller, which a twin does not have: that is done on the reading.
    """
    return replace(plan, steps=tuple(map(_without_replacement, plan.steps)), controllers=UNSET)


def _without_replacement(step: Step) -> Step:
    if step.after is None or step.after.workload is None:
        return step
    return replace(step, after=replace(step.after, workload=None))


def restarts_workloads(action: Action) -> bool:
    """Whether the action changes workloads, so that no twin has what it changes."""
    return any(need.plural == kind.plural and need.group == kind.group for need in action.may for kind in _WORKLOADS)
