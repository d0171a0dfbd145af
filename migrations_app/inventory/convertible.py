"""The objects that a conversion takes, as manifests: what a repository would hold of them.

Status and what only the server and Karpenter write are left out, since they change without anybody's doing."""

from collections.abc import Iterator
from typing import Any, Final

from migrations_app.inventory.bones import Tree, WholeObject
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.seen import Part
from migrations_app.karpenter.conversion.metadata import CONTROLLER_ANNOTATIONS

CONVERTIBLE_PARTS: Final = {
    "provisioners": "Provisioner",
    "awsnodetemplates": "AWSNodeTemplate",
    "nodepools": "NodePool",
    "ec2nodeclasses": "EC2NodeClass",
}
"""Parts of the inventory and the kind of their objects."""


def convertible(inventory: Inventory) -> tuple[Tree, ...]:
    """Every such object that was seen, by kind and name; nothing stands for parts that could not be read."""
    return tuple(tree for part, kind in CONVERTIBLE_PARTS.items() for tree in _trees(inventory.part(part), kind))


def _trees(part: Part[Any], kind: str) -> Iterator[Tree]:
    served = getattr(part, "served", None) or ""
    for one in sorted(part.items, key=lambda item: str(item.name)):
        yield _tree(one, kind=one.kind or kind, api_version=one.api_version or served)


def _tree(one: WholeObject, *, kind: str, api_version: str) -> Tree:
    given = one.metadata.annotations or {}
    annotations = {key: text for key, text in given.items() if key not in CONTROLLER_ANNOTATIONS}
    metadata: Tree = {"name": one.name}
    if one.metadata.labels:
        metadata["labels"] = one.metadata.labels
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": one.spec or {}}
