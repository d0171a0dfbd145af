"""Builds pools, node classes and related objects for tests of checks: valid ones, and the same with changed fields."""

import copy
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.manifests import JsonMap
from migrations_app.samples import karpenter_objects as kinds
from tests.builders.clusters import ACluster, a_cluster, reads, result_of, result_without

GONE = object()
"""For `put`: takes the field out."""
AUTO_MODE = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
REFERENCE = "spec.template.spec.nodeClassRef"
KUBERNETES = {"0.30": "1.27", "0.32": "1.28", "1.": "1.30"}


def put(doc: JsonMap, changes: Mapping[str, Any]) -> JsonMap:
    """Returns a copy of the document with these values at these dotted paths; missing maps are created."""
    made = copy.deepcopy(doc)
    for path, value in changes.items():
        *parents, last = path.split(".")
        here = made
        for step in parents:
            here = here.setdefault(step, {})
        if value is GONE:
            here.pop(last, None)
        else:
            here[last] = value
    return made


def a_pool(changes: Mapping[str, Any] | None = None, *rows: Any, name: str = "web", version: str = "v1") -> JsonMap:
    """Returns a NodePool of the class default that may launch on-demand, with these changes."""
    made = kinds.pool(name, *(rows or (kinds.ON_DEMAND,)), node_class="default", version=version)
    return put(made, changes or {})


def a_class(changes: Mapping[str, Any] | None = None, *, name: str = "default", version: str = "v1") -> JsonMap:
    """Returns an EC2NodeClass with pinned AL2023 images (v1) or the family AL2023 (v1beta1), with these changes."""
    return put(kinds.node_class(name, cluster="test", version=version), changes or {})


def a_provisioner(changes: Mapping[str, Any] | None = None, *, name: str = "web") -> JsonMap:
    """Returns a Provisioner that consolidates, with these changes."""
    return put(kinds.provisioner(name, kinds.ON_DEMAND, template="default"), changes or {})


def a_template(changes: Mapping[str, Any] | None = None, *, name: str = "default") -> JsonMap:
    """Returns an AWSNodeTemplate with AL2 images, with these changes."""
    return put(kinds.node_template(name, cluster="test"), changes or {})


def a_claim(changes: Mapping[str, Any] | None = None, *, version: str = "v1", number: int = 1) -> list[JsonMap]:
    """Returns a NodeClaim of the pool web, with these changes, and its node."""
    launched = kinds.Launched(pool="web", number=number, cluster="test", kubelet="v1.30.4")
    found, node = kinds.claim(launched, node_class="default", version=version)
    return [put(found, changes or {}), node]


def a_machine(changes: Mapping[str, Any] | None = None) -> list[JsonMap]:
    """Returns a Machine of the Provisioner web, with these changes, and its node."""
    launched = kinds.Launched(pool="web", number=1, cluster="test", kubelet="v1.28.4")
    found, node = kinds.machine(launched, template="default")
    return [put(found, changes or {}), node]


def at(version: str, *docs: JsonMap, kubernetes: str = "") -> ACluster:
    """Returns a cluster on that release with these objects; its Kubernetes version fits the release."""
    fitting = next((minor for prefix, minor in KUBERNETES.items() if version.startswith(prefix)), "1.29")
    return a_cluster(version, kubernetes=kubernetes or fitting).with_docs(*docs)


def row(kind: str, name: str, path: str, *, seen: str, wanted: str) -> Evidence:
    return Evidence(kind=kind, name=name, path=path, seen=seen, wanted=wanted)


def found(check: str, hop: str, cluster: ACluster) -> tuple[str, tuple[Evidence, ...]]:
    """Returns status and evidence of the finding."""
    status, _, evidence = result_of(check, hop, cluster)
    return status, evidence


def answer(check: str, hop: str, cluster: ACluster) -> tuple[str, str]:
    """Returns status and summary of the finding."""
    return result_of(check, hop, cluster)[:2]


def unseen_is_unknown(check: str, hop: str, *, version: str, skip: Iterable[str] = ()) -> None:
    """Asserts that the check is unknown whenever one of the parts that it reads is unseen."""
    for part in reads(check):
        if part not in skip:
            words = result_without(check, hop, at(version), part=part)
            assert words == ("unknown", f"{part} could not be read: forbidden"), part


def parses(remedies: Iterable[Remedy]) -> list[str]:
    """Returns the tools of the remedies, after checking that bash parses the commands."""
    kept = list(remedies)
    for one in kept:
        if one.how in ("kubectl", "helm"):
            subprocess.run(["bash", "-n"], input=one.text, text=True, check=True, timeout=10)
    return [one.how for one in kept]
