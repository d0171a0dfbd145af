"""Finds the object of a change in an inventory, and makes inventories with other objects in their parts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from migrations_app.checks.changes import ChangeTarget
from migrations_app.inventory.inventory import Fact, Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.cluster import ClusterRole, NetworkPolicy
from migrations_app.inventory.parts import Part, Seen
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

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
"""By kind the parts that may hold its objects, and the type they are read as. A Deployment may be in two parts."""
SHARED: Final = frozenset(("webhooks", "deliveries"))
"""Parts that hold objects of several kinds; each object names its kind."""

T = TypeVar("T")


def find_object(inventory: Inventory, target: ChangeTarget) -> o.NamedObject | NotShown:
    """The object of the target, or the reason why it is not found."""
    if target.kind not in KINDS:
        return NotShown("kind_not_read", target.kind)
    names = KINDS[target.kind][0]
    parts = [inventory.part(name) for name in names]
    candidates = (
        part.items[index]
        for name, part in zip(names, parts, strict=True)
        for index in positions(inventory, name).get(target.name, ())
    )
    target_object = next(
        (item for item in candidates if isinstance(item, o.NamedObject) and is_target(item, target)), None
    )
    if target_object is not None:
        return target_object
    all_read = all(isinstance(part, Seen) for part in parts)
    return NotShown("target_gone" if all_read else "part_not_read", f"{target.kind} {target.name}")


def positions(inventory: Inventory, part: str) -> Mapping[str, Sequence[int]]:
    """Maps the name of each object to its indexes in the part. Cached with the inventory and passed on by
    `with_object`, since a plan of thousands of nodes looks up each of them.
    """
    if (positions, part) not in inventory.known:
        indexes: dict[str, list[int]] = {}
        for index, item in enumerate(inventory.part(part).items):
            if isinstance(item, o.NamedObject):
                indexes.setdefault(item.name, []).append(index)
        inventory.known[positions, part] = Fact(indexes, frozenset((part,)))
    known: Mapping[str, Sequence[int]] = inventory.known[positions, part].value
    return known


def is_target(candidate: object, target: ChangeTarget) -> bool:
    """Whether the candidate, from a part that holds the target's kind, is the target."""
    if not isinstance(candidate, o.NamedObject) or not isinstance(candidate, KINDS[target.kind][1]):
        return False
    shared = set(KINDS[target.kind][0]) & SHARED
    return (
        candidate.name == target.name
        and target.namespace in ("", candidate.namespace)
        and (not shared or candidate.kind == target.kind)
    )


def with_object(inventory: Inventory, before: o.NamedObject, *, after: o.NamedObject, kind: str) -> Inventory:
    """The inventory with `after` in place of `before`, in each part that holds `before`."""
    changed = {}
    for name in KINDS[kind][0]:
        part = inventory.part(name)
        index = next(
            (index for index in positions(inventory, name).get(before.name, ()) if part.items[index] == before), None
        )
        if isinstance(part, Seen) and index is not None:
            changed[name] = with_items(part, (*part.items[:index], after, *part.items[index + 1 :]))
    changed_inventory = with_parts(inventory, changed)
    if after.name == before.name:
        changed_inventory.known.update({(positions, name): inventory.known[positions, name] for name in changed})
    return changed_inventory


def with_items(part: Seen[T], items: tuple[T, ...]) -> Seen[T]:
    """The part with these items and an adjusted total."""
    total = None if part.total is None else part.total - len(part.items) + len(items)
    return replace(part, items=items, total=total)


def with_parts(inventory: Inventory, changed: Mapping[str, Part[object]]) -> Inventory:
    """The inventory with these parts in place of its own, without cached facts."""
    return replace(inventory, **changed) if changed else inventory  # type: ignore[arg-type] # parts by their names
