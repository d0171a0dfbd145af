"""Nodes to remove: which, in which order and how many at once, the pods on them, and what prevents the removal."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.plan import Forecast, RolloutLimits
from migrations_app.inventory.facts.ownership import OwnedNode, ownership
from migrations_app.inventory.facts.workloads import blocking_field, covered, protects
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import DisruptionBudget, Node, PodGroup, Workload
from migrations_app.inventory.parts import Seen
from migrations_app.inventory.pod_groups import NODES_KEPT
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.versions import Release
from migrations_app.manifests.natural_order import natural

ALPHA = "karpenter_alpha"
OWNERS = (ALPHA, "karpenter_beta", "karpenter_v1")
"""Owners whose nodes Karpenter itself drains and terminates."""
STAYS_WITH_NODE = ("DaemonSet", "Node")
"""Owners of pods that are removed with their node and start with the next one (A32)."""
PROTECTING = (labels.DO_NOT_DISRUPT, labels.DO_NOT_EVICT)
PROTECTING_NODES = (labels.DO_NOT_DISRUPT, labels.DO_NOT_CONSOLIDATE)
LOCAL = ("emptyDir", "hostPath")
MAX_NAMES_SHOWN = 10


PoolName = tuple[str, str]
"""Kind and name: a Provisioner and the NodePool that it became have the same name."""


@dataclass(frozen=True, slots=True)
class NodeRemoval:
    """One node to remove, and its owner."""

    node: Node
    owned: OwnedNode

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def pool(self) -> PoolName:
        return ("Provisioner" if self.owned.owner == ALPHA else "NodePool", self.owned.pool)

    @property
    def target(self) -> ObjectTarget:
        return node_target(self.node)


def node_target(node: Node) -> ObjectTarget:
    """The node by uid, so that no later node with the same name is meant."""
    row = kinds.NODE
    return ObjectTarget(row.group, row.versions[0], row.plural, row.kind, node.name, uid=node.metadata.uid or "")


def karpenter_nodes(inventory: Inventory) -> tuple[NodeRemoval, ...]:
    """Every node that Karpenter owns and that is not being deleted, in the order read."""
    node_of = {node.name: node for node in inventory.nodes.items}
    owned = (node for node in ownership(inventory).nodes if node.owner in OWNERS)
    return tuple(
        NodeRemoval(node_of[owned_node.name], owned_node)
        for owned_node in owned
        if not node_of[owned_node.name].metadata.deleting
    )


def alpha_nodes(inventory: Inventory, pools: Collection[str] = ()) -> tuple[NodeRemoval, ...]:
    """The nodes behind Machines; with `pools` only those of these Provisioners."""
    removals = (karpenter for karpenter in karpenter_nodes(inventory) if karpenter.owned.owner == ALPHA)
    return tuple(node_removal for node_removal in removals if not pools or node_removal.owned.pool in pools)


def nodes_by_pool(inventory: Inventory) -> Counter[str]:
    """The number of nodes of each NodePool. Nodes of a Provisioner with the same name are not counted."""
    return Counter(node.pool for node in ownership(inventory).nodes if node.owner in OWNERS and node.owner != ALPHA)


def name_list(names: Iterable[str]) -> str:
    """The names; a long list is cut and ends with the number of the rest."""
    all_names = list(names)
    more = f" and {len(all_names) - MAX_NAMES_SHOWN} more" if len(all_names) > MAX_NAMES_SHOWN else ""
    return ", ".join(all_names[:MAX_NAMES_SHOWN]) + more


def counted(count: int, noun: str) -> str:
    """Text such as `1 node` or `12 nodes`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def group_label(group: PodGroup) -> str:
    """Text such as `Deployment shop/web` or `Pod shop/one`."""
    name = group.owner_name or next(iter(group.samples), "")
    return f"{group.owner_kind or 'Pod'} {group.namespace}/{name}"


def moving_groups(inventory: Inventory) -> Iterator[PodGroup]:
    """The groups of pods that leave a node when it drains."""
    return (group for group in inventory.pods.items if group.owner_kind not in STAYS_WITH_NODE)


def emptiest_first(inventory: Inventory, removals: Iterable[NodeRemoval]) -> tuple[NodeRemoval, ...]:
    """The nodes by their estimated number of pods, then by name; a group counts evenly on all its nodes."""
    load: dict[str, Fraction] = {}
    for group in moving_groups(inventory):
        for name in group.nodes:
            load[name] = load.get(name, Fraction(0)) + Fraction(group.count, len(group.nodes))
    return tuple(
        sorted(
            removals, key=lambda node_removal: (load.get(node_removal.name, Fraction(0)), natural(node_removal.name))
        )
    )


def batches(
    removals: Sequence[NodeRemoval], limits: RolloutLimits, *, every: Sequence[NodeRemoval]
) -> Iterator[tuple[NodeRemoval, ...]]:
    """The nodes pool by pool, as many at once as the limits allow (A33). `every`: all nodes of Karpenter."""
    sizes = Counter(node_removal.pool for node_removal in every)
    for pool in dict.fromkeys(node_removal.pool for node_removal in removals):
        pool_nodes = [node_removal for node_removal in removals if node_removal.pool == pool]
        share = sizes.get(pool, len(pool_nodes)) * limits.pool_percent // 100
        many = max(1, min(limits.batch, share))
        for start in range(0, len(pool_nodes), many):
            yield tuple(pool_nodes[start : start + many])


def controllers_on(inventory: Inventory) -> frozenset[str]:
    """The nodes on which the controller itself runs."""
    return frozenset(pod.spec.node_name for pod in inventory.controller_pods.items if pod.spec.node_name)


def refuse_controllers(inventory: Inventory, names: Collection[str]) -> None:
    """Raises Unavailable with the nodes on which the controller runs, and if it does not run at all: without it, no
    node is drained and no replacement is launched."""
    if names and all(map(_is_down, inventory.controller.items)) and inventory.controller.items:
        raise Unavailable("no pod of the controller is ready: nothing drains or replaces nodes", code="no_controller")
    controller_nodes = sorted(controllers_on(inventory) & set(names), key=natural)
    if controller_nodes:
        raise Unavailable(
            f"the controller itself runs on {name_list(controller_nodes)}: move it first", code="controller_on_node"
        )


def _is_down(workload: Workload) -> bool:
    """Whether none of its pods is ready; False if its status does not count pods. The API server leaves a 0 out: where
    its controller has observed a generation, a missing count is 0.
    """
    status = workload.status
    if workload.spec.replicas == 0 or status is None:
        return workload.spec.replicas == 0
    is_counted = status.replicas is not None or status.observed_generation is not None
    return is_counted and not status.ready_replicas


def refuse_without_finalizer(removals: Iterable[NodeRemoval]) -> None:
    """Raises Unavailable with the nodes that a deletion would not drain, since they lack the finalizer (A31)."""
    bare = [
        node_removal.name
        for node_removal in removals
        if labels.TERMINATION_FINALIZER not in (node_removal.node.metadata.finalizers or ())
    ]
    if bare:
        words = f"without the finalizer {labels.TERMINATION_FINALIZER} nothing drains {name_list(bare)}"
        raise Unavailable(words, code="finalizer_missing")


def refuse_stuck_pods(
    inventory: Inventory, names: Collection[str], *, local_data: bool, running: Release | None
) -> None:
    """Raises Unavailable with the nodes whose pods a drain must not move by itself (A32)."""
    pairs = (
        (name, list(_stuck(inventory, name, local_data=local_data, running=running)))
        for name in sorted(names, key=natural)
    )
    stuck_nodes = {name: reasons for name, reasons in pairs if reasons}
    if stuck_nodes:
        words = "; ".join(
            f"{name}: {name_list(reasons)}" for name, reasons in list(stuck_nodes.items())[:MAX_NAMES_SHOWN]
        )
        more = (
            f"; and {counted(len(stuck_nodes) - MAX_NAMES_SHOWN, 'more node')}"
            if len(stuck_nodes) > MAX_NAMES_SHOWN
            else ""
        )
        raise Unavailable(
            f"these pods or annotations prevent the replacement of nodes, unless they are listed: {words}{more}",
            code="protected",
        )


def _stuck(inventory: Inventory, name: str, *, local_data: bool, running: Release | None) -> Iterator[str]:
    node = next((candidate for candidate in inventory.nodes.items if candidate.name == name), None)
    mark = _protecting_mark(node.metadata.annotations or {}, PROTECTING_NODES) if node else ""
    if mark:
        yield f"the node's own {mark}"
    for group in moving_groups(inventory):
        reason = _stuck_reason(group, local_data=local_data, running=running)
        if reason and name in group.nodes:
            yield f"{group_label(group)} {reason}"
        elif reason and len(group.nodes) >= NODES_KEPT:
            yield f"{group_label(group)} {reason}, and not all of its nodes are known"


def held_pods(inventory: Inventory, names: Collection[str], *, running: Release | None) -> tuple[str, ...]:
    """Pods and marks that hold the drain of these nodes, or that do not come back elsewhere, as text."""
    nodes_by_reason: dict[str, list[str]] = {}
    for name in sorted(names, key=natural):
        for reason in _stuck(inventory, name, local_data=False, running=running):
            nodes_by_reason.setdefault(reason, []).append(name)
    return tuple(f"on {name_list(where)}: {reason}" for reason, where in nodes_by_reason.items())


def _stuck_reason(group: PodGroup, *, local_data: bool, running: Release | None) -> str:
    mark, value = _protecting_mark(group.markers, PROTECTING), group.markers.get(labels.DO_NOT_DISRUPT, "")
    if not group.owner_kind:
        return "has no controller"
    if mark:
        return f"is marked {mark}"
    if protects(value, running):
        return f"is marked {labels.DO_NOT_DISRUPT} for {value}"
    local_kinds = [kind for kind in group.storage if kind in LOCAL]
    return "" if local_data or not local_kinds else f"keeps data on the node ({', '.join(local_kinds)})"


def _protecting_mark(annotations: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((key for key in keys if annotations.get(key) == "true"), "")


def forecast(
    inventory: Inventory,
    names: Collection[str],
    *,
    lost: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Forecast:
    """The effect of removing these nodes in numbers. `lost`: what cannot be restored; `also`: further reasons for
    delay; `beside`: what controllers do outside the steps; empty texts are left out.
    """
    pods, exact = _count(inventory, names)
    bare = None if pods is None or not isinstance(inventory.pdbs, Seen) else _unbudgeted(inventory, names)
    return Forecast(
        nodes=len(names),
        pods=pods,
        pods_without_budget=bare,
        blocked=(*blockers(inventory, names), *also),
        at_least=not exact,
        cannot_be_undone=lost,
        beside=tuple(words for words in beside if words),
    )


def _count(inventory: Inventory, names: Collection[str]) -> tuple[int | None, bool]:
    """Number of pods that have to move, None if pods were not seen; False if the number is a lower bound."""
    if not isinstance(inventory.pods, Seen):
        return None, True
    counts = [_pods_on(group, names) for group in moving_groups(inventory)]
    return sum(many for many, _ in counts), all(exact for _, exact in counts) and not inventory.pods.quarantined


def _pods_on(group: PodGroup, names: Collection[str]) -> tuple[int, bool]:
    matching = sum(name in names for name in group.nodes)
    known = len(group.nodes) < NODES_KEPT
    if matching == len(group.nodes) and known:
        return (group.count if matching else 0), True
    return matching, (matching == 0 and known) or group.count == len(group.nodes)


def _unbudgeted(inventory: Inventory, names: Collection[str]) -> int:
    covered_ids = {id(group) for group, _ in covered(inventory)}
    return sum(_pods_on(group, names)[0] for group in moving_groups(inventory) if id(group) not in covered_ids)


def blockers(inventory: Inventory, names: Collection[str]) -> Iterator[str]:
    """Budgets that currently allow no eviction on these nodes, as text."""
    reasons: dict[str, None] = {}
    for group, budgets in covered(inventory):
        if group.owner_kind not in STAYS_WITH_NODE and any(name in names for name in group.nodes):
            reasons |= dict.fromkeys(_blocking_budgets(group, budgets))
    yield from reasons


def _blocking_budgets(group: PodGroup, budgets: tuple[DisruptionBudget, ...]) -> Iterator[str]:
    if len(budgets) > 1:
        names = ", ".join(budget.name for budget in budgets)
        yield f"{group_label(group)} is under {len(budgets)} budgets ({names}): an eviction is refused"
    for budget in budgets:
        status = budget.status
        if status is not None and status.disruptions_allowed == 0 and status.expected_pods:
            path, seen = blocking_field(budget)
            yield f"PodDisruptionBudget {budget.namespace}/{budget.name} lets no pod go: {path} {seen}"
