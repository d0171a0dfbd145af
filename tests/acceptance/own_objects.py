"""Karpenter's own objects as findings name them, and how they are spoiled."""

from typing import Any

from tests.acceptance import clusters, pools
from tests.acceptance.planting import Document, Plant, every, one

POOL, CLASS, CLAIM = "NodePool", "EC2NodeClass", "NodeClaim"
PROVISIONER, TEMPLATE, MACHINE = "Provisioner", "AWSNodeTemplate", "Machine"

ALPHA_IS_LEFT = frozenset(
    {
        "alpha_crds_outlive_chart",
        "drift_enabled_for_rollout",
        "legacy_machines_gone",
        "legacy_node_templates_gone",
        "legacy_provisioners_gone",
        "nodes_owned_by_nodeclaims",
        "old_provisioners_fenced",
        "provisioners_hold_no_nodes",
    }
)
"""What is said where a Provisioner, its template, a Machine and its node are left on 0.32."""


def of(kind: str, path: str, name: str = "default") -> dict[str, Any]:
    return {"kind": kind, "object": name, "path": path}


def claim_name(cluster: str) -> str:
    found = clusters.objects(clusters.find(cluster))
    return str(next(o["metadata"]["name"] for o in found if o["kind"] in (CLAIM, MACHINE)))


def requirement(key: str, values: list[str], *, sign: str = "In") -> Plant:
    def plant(documents: list[Document]) -> None:
        for pool in every(documents, POOL):
            pool["spec"]["template"]["spec"]["requirements"].append({"key": key, "operator": sign, "values": values})

    return plant


def without_requirement(kind: str, key: str) -> Plant:
    def plant(documents: list[Document]) -> None:
        spec = one(documents, kind)["spec"]
        spec = spec["template"]["spec"] if kind == POOL else spec
        spec["requirements"] = [row for row in spec["requirements"] if row["key"] != key]

    return plant


def alpha_left(documents: list[Document]) -> None:
    """A Provisioner of before with its template, a Machine and its node."""
    place = clusters.find("finished-032").place
    documents.extend([*pools.alpha_pool(place), *pools.machine(place, 30)])


def node_name(cluster: str) -> str:
    found = clusters.objects(clusters.find(cluster))
    return next(
        str(o["metadata"]["name"])
        for o in found
        if o["kind"] == "Node" and "karpenter.sh/nodepool" in o["metadata"]["labels"]
    )
