"""Where an inventory holds the object of a change, and the same inventory with other objects in that part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from migrations_app.checks.changes import ChangeTarget
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.cluster import ClusterRole, NetworkPolicy
from migrations_app.inventory.parts import Part, Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown

KINDS: Final[Mapping[str, tuple[tuple[str, ...], type[o.NamedObject]]]] = {
    "Provisioner": (("provisioners",), o.Provisioner),
    "AWSNodeTemplate": (("awsnodetemplates",), o.AWSNodeTemplate),
    "Machine": (("machines",), o.Machine),
    "NodePool": (("nodepools",), o.NodePool),
    "EC2NodeClass": (("ec2nodeclasses",), o.EC2NodeClass),
    "NodeClaim": (("nodeclaims",), o.NodeClaim),
    "Node": (("nodes",), o.Node),
    "Deployment": (("controller", "deployments"), o.Workload),
    "StatefulSet": (("statefulsets",), o.Workload),
    "DaemonSet": (("daemonsets",), o.Workload),
    "Job": (("jobs",), o.Workload),
    "CronJob": (("cronjobs",), o.Workload),
    "PodDisruptionBudget": (("pdbs",), o.DisruptionBudget),
    "CustomResourceDefinition": (("crds",), o.CRD),
    "ServiceAccount": (("controller_accounts",), o.ServiceAccount),
    "Service": (("services",), o.Service),
    "Endpoints": (("endpoints",), o.Endpoints),
    "ConfigMap": (("settings", "aws_auth"), o.ConfigMap),
    "ValidatingWebhookConfiguration": (("webhooks",), o.WebhookConfiguration),
    "MutatingWebhookConfiguration": (("webhooks",), o.WebhookConfiguration),
    "Application": (("deliveries",), o.GitOpsDelivery),
    "HelmRelease": (("deliveries",), o.GitOpsDelivery),
    "Kustomization": (("deliveries",), o.GitOpsDelivery),
    "ClusterRole": (("controller_rbac",), ClusterRole),
    "NetworkPolicy": (("network_policies",), NetworkPolicy),
}
"""Of each kind the parts that may hold its objects, and how they are read. A Deployment may be in two parts."""
SHARED: Final = frozenset(("webhooks", "deliveries"))
"""Parts that hold several kinds; their objects name their own."""

T = TypeVar("T")
N = TypeVar("N", bound=o.NamedObject)


def found(inventory: Inventory, target: ChangeTarget) -> o.NamedObject | NotShown:
    """The object that is meant, or why it is not there."""
    if target.kind not in KINDS:
        return NotShown("kind_not_read", target.kind)
    names, shape = KINDS[target.kind]
    parts = [inventory.part(name) for name in names]
    named = (each for part in parts for each in _of_name(part.items, target.name, shape=shape))
    one = next((each for each in named if is_target(each, target)), None)
    if one is not None:
        return one
    whole = all(isinstance(part, Seen) for part in parts)
    return NotShown("target_gone" if whole else "part_not_read", f"{target.kind} {target.name}")


def _of_name(items: Sequence[object], name: str, *, shape: type[N]) -> list[N]:
    """Those of that name. A plan of thousands of nodes asks once for each, so nothing else is looked at here."""
    return [each for each in items if isinstance(each, shape) and each.metadata.name == name]


def is_target(one: object, target: ChangeTarget) -> bool:
    """Whether it is the object that is meant, in a part that holds its kind."""
    if not isinstance(one, o.NamedObject) or not isinstance(one, KINDS[target.kind][1]):
        return False
    shared = set(KINDS[target.kind][0]) & SHARED
    return (
        one.name == target.name and target.namespace in ("", one.namespace) and (not shared or one.kind == target.kind)
    )


def with_object(inventory: Inventory, before: o.NamedObject, *, after: o.NamedObject, kind: str) -> Inventory:
    """The inventory with `after` in the place of `before`, in each part that holds it."""
    changed = {}
    for name in KINDS[kind][0]:
        part = inventory.part(name)
        if isinstance(part, Seen) and before in part.items:
            at = part.items.index(before)
            changed[name] = with_items(part, (*part.items[:at], after, *part.items[at + 1 :]))
    return with_parts(inventory, changed)


def with_items(part: Seen[T], items: tuple[T, ...]) -> Seen[T]:
    """The part with these items; the count of all objects follows."""
    total = None if part.total is None else part.total - len(part.items) + len(items)
    return replace(part, items=items, total=total)


def with_parts(inventory: Inventory, changed: Mapping[str, Part[object]]) -> Inventory:
    """The inventory with these parts, and nothing known of the old ones."""
    return replace(inventory, **changed) if changed else inventory  # type: ignore[arg-type] # parts by their names
