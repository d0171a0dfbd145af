"""Karpenter's own drift: whether it is on, and which nodes Karpenter replaces when their Provisioner changes."""

from collections.abc import Collection, Iterable

from migrations_app.actions.base import PlanningContext
from migrations_app.actions.targets import nodes
from migrations_app.actions.targets.nodes import NodeRemoval
from migrations_app.inventory.facts.controller import given_gates, installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Provisioner
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import drift_is_on

SECONDS_A_NODE = 900
"""Seconds to wait for each node that drifts: the old controllers replace nodes one after the other."""


def is_on(context: PlanningContext) -> bool | None:
    """Whether the running controller replaces nodes that drift; None if that is not known."""
    running, controller = context.running.release, installation(context.inventory)
    gate_setting = given_gates(controller) if controller else None
    gates = gate_setting.text if gate_setting else None
    settings = next((config.data for config in context.inventory.settings.items if config.data), None)
    return None if running is None else drift_is_on(running, feature_gates=gates, global_settings=settings)


def driftable_nodes(inventory: Inventory, old: Collection[Provisioner]) -> list[NodeRemoval]:
    """The nodes that drift if these Provisioners change. Drift needs a hash on both the node and the Provisioner."""
    hashed = {
        provisioner.name for provisioner in old if provisioner.metadata.annotation(labels.PROVISIONER_HASH) is not None
    }
    pool_nodes = nodes.alpha_nodes(inventory, {provisioner.name for provisioner in old}) if old else ()
    return [pool_node for pool_node in pool_nodes if pool_node.owned.can_drift and pool_node.owned.pool in hashed]


def drifting_nodes(context: PlanningContext, changing: Collection[Provisioner]) -> list[NodeRemoval]:
    """The nodes that Karpenter replaces, or may replace, by itself because the plan changes these Provisioners."""
    return [] if not changing or is_on(context) is False else driftable_nodes(context.inventory, changing)


def note(drifting: Iterable[NodeRemoval]) -> str:
    """The forecast of the drift as text; empty if no node drifts."""
    names = [node_removal.name for node_removal in drifting]
    if not names:
        return ""
    count = nodes.counted(len(names), "node")
    return f"Karpenter itself replaces {count} by drift, outside the batches and their limits: {nodes.name_list(names)}"
