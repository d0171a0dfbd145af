"""Which plans can be rehearsed: those that change only what the simulator answers to."""

from migrations_app.actions.plan import Plan
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
    )
)
"""Kinds whose changes are played. A twin has definitions with open schemas, and no Deployments."""


def unplayed_kinds(plan: Plan) -> tuple[str, ...]:
    """The kinds of objects that the plan changes and that no rehearsal plays; empty if it can be rehearsed."""
    return tuple(sorted({target.kind for target in plan.targets} - PLAYED))
