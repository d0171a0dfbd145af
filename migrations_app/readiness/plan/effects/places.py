"""Where an inventory holds the object of a change, and the same inventory with other objects in that part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from migrations_app.checks.changes import ChangeTarget
from migrations_app.inventory.inventory import Fact, Inventory
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


def found(inventory: Inventory, target: ChangeTarget) -> o.NamedObject | NotShown:
    """The object that is meant, or why it is not there."""
    if target.kind not in KINDS:
        return NotShown("kind_not_read", target.kind)
    names = KINDS[target.kind][0]
    parts = [inventory.part(name) for name in names]
    named = (
        part.items[at]
        for name, part in zip(names, parts, strict=True)
        for at in positions(inventory, name).get(target.name, ())
    )
    target_object = next((item for item in named if isinstance(item, o.NamedObject) and is_target(item, target)), None)
    if target_object is not None:
        return target_object
    whole = all(isinstance(part, Seen) for part in parts)
    return NotShown("target_gone" if whole else "part_not_read", f"{target.kind} {target.name}")


def positions(inventory: Inventory, part: str) -> Mapping[str, Sequence[int]]:
    """By name, where objects stand in the part. Worked out once for an inventory and handed on by `with_object`,
    since a plan of thousands of nodes asks for each of them.
    """
    if (positions, part) not in inventory.known:
        places: dict[str, list[int]] = {}
        for at, item in enumerate(inventory.part(part).items):
            if isinstance(item, o.NamedObject):
                places.setdefault(item.name, []).append(at)
        inventory.known[positions, part] = Fact(places, frozenset((part,)))
    known: Mapping[str, Sequence[int]] = inventory.known[positions, part].value
    return known


def is_target(candidate: object, target: ChangeTarget) -> bool:
    """Whether it is the object that is meant, in a part that holds its kind."""
    if not isinstance(candidate, o.NamedObject) or not isinstance(candidate, KINDS[target.kind][1]):
        return False
    shared = set(KINDS[target.kind][0]) & SHARED
    return (
        candidate.name == target.name
        and target.namespace in ("", candidate.namespace)
        and (not shared or candidate.kind == target.kind)
    )


def with_object(inventory: Inventory, before: o.NamedObject, *, after: o.NamedObject, kind: str) -> Inventory:
    """The inventory with `after` in the place of `before`, in each part that holds it."""
    changed = {}
    for name in KINDS[kind][0]:
        part = inventory.part(name)
        at = next((at for at in positions(inventory, name).get(before.name, ()) if part.items[at] == before), None)
        if isinstance(part, Seen) and at is not None:
            changed[name] = with_items(part, (*part.items[:at], after, *part.items[at + 1 :]))
    here = with_parts(inventory, changed)
    if after.name == before.name:
        here.known.update({(positions, name): inventory.known[positions, name] for name in changed})
    return here


def with_items(part: Seen[T], items: tuple[T, ...]) -> Seen[T]:
    """The part with these items; the count of all objects follows."""
    total = None if part.total is None else part.total - len(part.items) + len(items)
    return replace(part, items=items, total=total)


def with_parts(inventory: Inventory, changed: Mapping[str, Part[object]]) -> Inventory:
    """The inventory with these parts, and nothing known of the old ones."""
    return replace(inventory, **changed) if changed else inventory  # type: ignore[arg-type] # parts by their names
