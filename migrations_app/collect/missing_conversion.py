"""Reads objects of a CRD without conversion in the version that their content shows (`facts/content_version.py`)."""

from dataclasses import replace
from typing import TypeVar

from migrations_app.clients.kubernetes.api import Resource
from migrations_app.collect.reading import Parts, Reading
from migrations_app.errors import ReadError
from migrations_app.inventory.facts.content_version import (
    BETA,
    changes_only_api_version,
    holds_beta,
    pruned,
    with_content_version,
)
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NodeClaim, NodePool
from migrations_app.inventory.parts import NOT_CONVERTED, OtherVersion, Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

V = TypeVar("V", NodePool, NodeClaim, EC2NodeClass)


def read_by_content(reading: Reading) -> Parts:
    """The parts of these kinds that contain v1beta1 objects labelled v1; other parts are not in the result."""
    parts = {
        "nodepools": _read(reading, kinds.NODE_POOL, part="nodepools", projection=NodePool),
        "nodeclaims": _read(reading, kinds.NODE_CLAIM, part="nodeclaims", projection=NodeClaim),
        "ec2nodeclasses": _read(reading, kinds.EC2_NODE_CLASS, part="ec2nodeclasses", projection=EC2NodeClass),
    }
    return {name: part for name, part in parts.items() if part is not None}


def _read(reading: Reading, kind: Kind, *, part: str, projection: type[V]) -> Seen[V] | None:
    crd = next((crd for crd in reading.found["crds"].items if crd.name == kind.crd_name), None)
    labelled = reading.found[part]
    if (
        crd is None
        or not changes_only_api_version(crd)
        or not isinstance(labelled, Seen)
        or labelled.other_version is not None
    ):
        return None
    return _as_stored(reading, kind, labelled=labelled, projection=projection)


def _as_stored(reading: Reading, kind: Kind, *, labelled: Seen[V], projection: type[V]) -> Seen[V] | None:
    odd = [
        node_pool
        for node_pool in labelled.items
        if _labelled(node_pool, labelled.served, version="v1") and holds_beta(node_pool)
    ]
    if not odd:
        return None
    by_name = _in_beta(reading, kind, projection=projection) if BETA in reading.served(kind) else {}
    lost: set[str] = {node_pool.name for node_pool in odd if node_pool.name not in by_name and pruned(node_pool)}
    content = {node_pool.name: by_name.get(node_pool.name) or with_content_version(node_pool) for node_pool in odd}
    return replace(
        labelled,
        items=tuple(
            content.get(node_pool.name, node_pool) for node_pool in labelled.items if node_pool.name not in lost
        ),
        quarantined=(*labelled.quarantined, *(_set_aside(kind, name) for name in sorted(lost))),
        other_version=_other_version(kind, odd=len(odd), total=len(labelled.items)),
    )


def _other_version(kind: Kind, *, odd: int, total: int) -> OtherVersion:
    words = f"{odd} of {total} objects labelled v1 contain v1beta1: their CRD has no conversion"
    return OtherVersion(kind.api_version("v1"), NOT_CONVERTED, words)


def _set_aside(kind: Kind, name: str) -> UnparsableObject:
    why = "holds v1beta1 and was read as v1, which drops fields"
    return UnparsableObject(kind.kind, "", name, "$.apiVersion", why, NOT_CONVERTED)


def _labelled(item: NodePool | NodeClaim | EC2NodeClass, served: str | None, *, version: str) -> bool:
    return (item.api_version or served or "").rpartition("/")[2] == version


def _in_beta(reading: Reading, kind: Kind, *, projection: type[V]) -> dict[str, V]:
    """The objects that the server returns as v1beta1, by name. Empty if that list fails."""
    try:
        listed = reading.listed(Resource(kind.group, BETA, kind.plural), projection)
    except ReadError:
        return {}
    return {
        node_pool.name: with_content_version(node_pool)
        for node_pool in listed.items
        if _labelled(node_pool, listed.served, version=BETA)
    }
