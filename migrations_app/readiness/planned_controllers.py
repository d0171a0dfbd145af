"""The Deployments of the controller as a plan keeps them, to compare them again at its start."""

from migrations_app.actions.base import refuse_unread
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.running_controller import PlannedController
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds
from migrations_app.readiness.stage import controller_container


def planned_controllers(inventory: Inventory) -> tuple[PlannedController, ...]:
    """Each Deployment of the controller with its image; empty if there is none. Raises Unavailable `not_seen` if they
    could not be read: nothing could tell at the start whether another release runs."""
    refuse_unread(inventory.controller, "controller")
    row = kinds.DEPLOYMENT
    return tuple(
        PlannedController(
            deployment=ObjectTarget(row.group, "v1", row.plural, row.kind, workload.name, namespace=workload.namespace),
            container=container.name or "",
            image=container.image or "",
        )
        for workload in inventory.controller.items
        if (container := controller_container(workload)) is not None
    )
