"""Makes a plan on a twin, like a preview on the cluster: for clusters that are only read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from migrations_app.actions import registry
from migrations_app.actions.base import PlanningContext, Unavailable
from migrations_app.actions.plan import ClusterIdentity, Plan, RolloutLimits, numbered
from migrations_app.errors import InvalidInput
from migrations_app.execution.proof import prove_steps
from migrations_app.inventory.inventory import Inventory
from migrations_app.readiness.stage import detect_running_release
from migrations_app.rehearsals.play import RehearsalStage
from migrations_app.rehearsals.twin_access import RehearsalWriter

UNNAMED = ClusterIdentity(kube_system_uid="rehearsal", ca="", endpoint="")
"""The identity for a cluster that is only read: its plan can be rehearsed, never carried out."""


def plan_on(
    stage: RehearsalStage, inventory: Inventory, *, action: str, parameters: Mapping[str, Any], limits: RolloutLimits
) -> Plan:
    """The plan of that action. Raises InvalidInput if there is no such action or it cannot be planned."""
    planned_action = registry.find(action)
    if planned_action is None:
        known = ", ".join(sorted(all_action.id for all_action in registry.all_actions()))
        raise InvalidInput(f"there is no action {action!r}; there are {known}", code="unknown_action", where="action")
    if planned_action.needs_chart:
        raise Unavailable(f"{action} plans from a chart, which a rehearsal does not fetch", code="needs_chart")
    writer = RehearsalWriter(stage.twin, UNNAMED, state=stage.simulator.state)
    targets = dict.fromkeys(planned_action.objects_to_read(inventory, parameters))
    context = PlanningContext(
        inventory=inventory,
        running=detect_running_release(inventory),
        objects={target: read for target in targets if (read := writer.read(target)) is not None},
        now=inventory.taken_at,
        limits=limits,
    )
    steps = numbered(planned_action.steps(context, parameters))
    plan = Plan(
        action=planned_action.id,
        title=planned_action.title,
        parameters=dict(parameters),
        cluster=inventory.cluster,
        identity=UNNAMED,
        steps=steps,
        limits=limits,
        forecast=planned_action.forecast(context, parameters),
        author="",
        snapshot="",
        policy=0,
    )
    return msgspec.structs.replace(plan, steps=prove_steps(writer, steps).steps)
