"""Where the replicas of the controller could run: which nodes its placement allows, told from what nodes show."""

from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.inventory.installation import installation
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.keys import kept_on_node
from migrations_app.inventory.objects import Expression, LabelSelector, Node, NodeTerm, Placement, Taint, Toleration
from migrations_app.inventory.selectors import selects
from migrations_app.inventory.sharing import once

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
ALWAYS = ("kubernetes.io/os", "beta.kubernetes.io/os", HOSTNAME)
"""Keys every node has; that a pod for Linux asks for Linux excludes none of ours."""
KEEPS_OFF = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Places:
    """`nodes` that would take a replica. `unknown`: keys that it asks for and that an inventory does not keep."""

    nodes: tuple[Node, ...]
    unknown: tuple[str, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted({zone for node in self.nodes if (zone := node.metadata.label(ZONE))}))


def places(inventory: Inventory, spec: Placement) -> Places:
    """The ready nodes that selector, required affinity and tolerations of the controller allow."""
    terms = _terms(spec)
    asked = {*(spec.node_selector or {}), *(row.key for term in terms for row in term.match_expressions or ())}
    unknown = tuple(sorted(key for key in asked if key not in ALWAYS and not kept_on_node(key)))
    choices = [LabelSelector(match_expressions=_telling(term)) for term in terms]
    return Places(tuple(node for node in inventory.nodes.items if _takes(node, spec, choices=choices)), unknown)


@once
def open_places(inventory: Inventory) -> Places | None:
    """The same for the controller that is installed; None where there is none."""
    found = installation(inventory)
    return places(inventory, found.workload.template.spec) if found else None


def _terms(spec: Placement) -> list[NodeTerm]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return (required.node_selector_terms if required else None) or []


def _telling(term: NodeTerm) -> list[Expression]:
    return [row for row in term.match_expressions or () if row.key not in ALWAYS]


def _takes(node: Node, spec: Placement, *, choices: list[LabelSelector]) -> bool:
    labels = node.metadata.labels or {}
    chosen = all(labels.get(key) == value for key, value in (spec.node_selector or {}).items() if key not in ALWAYS)
    return chosen and _fits(choices, labels) and _ready(node) and not any(_repelling(node, spec.tolerations or []))


def _fits(choices: list[LabelSelector], labels: dict[str, str]) -> bool:
    return not choices or any(selects(choice, labels) for choice in choices)


def _ready(node: Node) -> bool:
    conditions = (node.status.conditions if node.status else None) or ()
    down = any(one.type == "Ready" and one.status != "True" for one in conditions)
    return not down and not node.spec.unschedulable and not node.metadata.deleting


def _repelling(node: Node, tolerations: list[Toleration]) -> Iterator[Taint]:
    for taint in node.spec.taints or ():
        if taint.effect in KEEPS_OFF and not any(_tolerates(one, taint) for one in tolerations):
            yield taint


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and (toleration.value or "") == (taint.value or "")
