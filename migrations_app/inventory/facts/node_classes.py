"""Pools and node classes in detail: manifests for conversion, kubelet settings, and user data that skips the
registration taint.

Manifests leave out status and everything that only the server or Karpenter writes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from migrations_app.conversion.kubelet import kubelet_meaning
from migrations_app.conversion.metadata import CONTROLLER_ANNOTATIONS
from migrations_app.inventory.facts.node_pools import USER_DATA, class_name, family, own_claims, own_pools, text
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.base import WholeObject
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NodePool
from migrations_app.inventory.parts import Part
from migrations_app.karpenter import labels
from migrations_app.karpenter.release_facts import CUSTOM, starts_kubelet
from migrations_app.manifests import JsonMap
from migrations_app.manifests.nesting import parse_json

CONVERTIBLE_PARTS: Final = {
    "provisioners": "Provisioner",
    "awsnodetemplates": "AWSNodeTemplate",
    "nodepools": "NodePool",
    "ec2nodeclasses": "EC2NodeClass",
}
"""Inventory parts and the kind of their objects."""


def convertible(inventory: Inventory) -> tuple[JsonMap, ...]:
    """The manifests of all objects of these kinds, by kind and name; parts that could not be read contribute none."""
    return tuple(tree for part, kind in CONVERTIBLE_PARTS.items() for tree in _trees(inventory.part(part), kind))


def _trees(part: Part[Any], kind: str) -> Iterator[JsonMap]:
    served = getattr(part, "served", None) or ""
    for template in sorted(part.items, key=lambda item: str(item.name)):
        yield _tree(template, kind=template.kind or kind, api_version=template.api_version or served)


def _tree(whole_object: WholeObject, *, kind: str, api_version: str) -> JsonMap:
    stored = whole_object.metadata.annotations or {}
    annotations = {key: text for key, text in stored.items() if key not in CONTROLLER_ANNOTATIONS}
    metadata: JsonMap = {"name": whole_object.name}
    if whole_object.metadata.labels:
        metadata["labels"] = whole_object.metadata.labels
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": whole_object.spec or {}}


RESOLVED = ("amis", "subnets", "securityGroups")
"""The lists in the status of a node class that the controller fills with what the terms in its spec select."""


def unresolved_lists(owner: WholeObject) -> tuple[str, ...]:
    """The lists that are empty in the status of a node class, if the controller has written another part of it.

    It empties the list of terms that select nothing: aws/karpenter-provider-aws@v0.34.13:pkg/controllers/nodeclass.
    """
    status = owner.status if isinstance(owner, EC2NodeClass) else None
    written = status and any(status.get(name) for name in (*RESOLVED, "instanceProfile"))
    return tuple(name for name in RESOLVED if written and status and not status.get(name))


PATH = "spec.template.spec.kubelet"
ANNOTATION = f"metadata.annotations[{labels.KUBELET_COMPATIBILITY}]"
_MAPS = ("systemReserved", "kubeReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod")


def kubelet_of(pool: NodePool) -> tuple[str, dict[str, Any] | None]:
    """The path of the pool's kubelet settings and their value; an empty path without any, None as value if they cannot
    be read.

    1.0 keeps what v1beta1 had in the pool in an annotation.
    """
    own = pool.get(PATH)
    if own is not None:
        return PATH, own if _readable(own) else None
    parked = pool.metadata.annotation(labels.KUBELET_COMPATIBILITY)
    if not parked:
        return "", {}
    try:
        kubelet = parse_json(parked)
    except ValueError:
        return ANNOTATION, None
    return ANNOTATION, kubelet if _readable(kubelet) else None


@once
def kubelet_meanings(inventory: Inventory) -> dict[str, set[str | None]]:
    """For each node class that pools name, the different kubelet settings that these pools have now, as `same_meaning`
    writes them. None stands for settings that cannot be read; a pool without settings has those of its class."""
    own = {ec2nodeclass.name: ec2nodeclass.get("spec.kubelet") for ec2nodeclass in inventory.ec2nodeclasses.items}
    meanings: dict[str, set[str | None]] = {}
    for pool in own_pools(inventory):
        kubelet = kubelet_of(pool)[1]
        meaning = None if kubelet is None else same_meaning(kubelet) or same_meaning(own.get(class_name(pool)))
        if class_name(pool):
            meanings.setdefault(class_name(pool), set()).add(meaning)
    return meanings


def same_meaning(settings: object) -> str:
    """A text that is equal for kubelet settings with the same meaning; empty for none and for unreadable settings."""
    if not isinstance(settings, dict) or not _readable(settings):
        return ""
    return kubelet_meaning({name: value for name, value in settings.items() if value is not None})


def kubelet_text(kubelet: Mapping[str, Any]) -> str:
    """The settings as JSON, with values as they are written; without settings that are empty."""
    written = {name: value for name, value in kubelet.items() if value not in (None, {}, [])}
    return json.dumps(written, sort_keys=True, default=str)


def _readable(kubelet: object) -> bool:
    return isinstance(kubelet, dict) and all(isinstance(kubelet.get(name), dict | None) for name in _MAPS)


BARRED = "UnregisteredTaintNotFound"
"""The reason in a claim's Registered condition if its node joined without the taint."""


@dataclass(frozen=True, slots=True)
class UntaintedNodeClass:
    """A node class whose user data starts the kubelet without the taint; `how` names the call."""

    node_class: EC2NodeClass
    how: str


def untainted(classes: Iterable[EC2NodeClass]) -> Iterator[UntaintedNodeClass]:
    """The node classes whose nodes would join without the taint karpenter.sh/unregistered."""
    for ec2_node_class in classes:
        user_data = text(ec2_node_class, USER_DATA)
        if labels.UNREGISTERED_TAINT in user_data:
            continue
        call = starts_kubelet(family(ec2_node_class), user_data)
        if family(ec2_node_class) == CUSTOM:
            yield UntaintedNodeClass(
                ec2_node_class,
                "amiFamily Custom, and user data without the taint" if user_data else "Custom, no user data",
            )
        elif call:
            yield UntaintedNodeClass(ec2_node_class, f"{call} called without the taint")


@once
def barred_claims(inventory: Inventory) -> tuple[str, ...]:
    """Names of the claims whose nodes were rejected because the taint is missing."""
    return tuple(
        claim.name
        for claim in own_claims(inventory)
        for condition in (claim.status and claim.status.conditions) or ()
        if condition.type == "Registered" and condition.status != "True" and condition.reason == BARRED
    )
