"""Karpenter's own objects of each generation, in the words of the guides, as the controller keeps them."""

import json
from dataclasses import dataclass
from typing import Any

from migrations_app.karpenter.versions import minor_order, release
from migrations_app.samples.kubernetes_objects import BORN, doc, meta, owner, suffix, token
from tests.acceptance.nodes import base_labels, node, node_name, provider_id

Document = dict[str, Any]

TERMINATION = "karpenter.sh/termination"
CAPACITY = "karpenter.sh/capacity-type"
INSTANCE = "m5.xlarge"
REQUIREMENTS = (
    ("kubernetes.io/arch", "In", ["amd64"]),
    ("kubernetes.io/os", "In", ["linux"]),
    (CAPACITY, "In", ["on-demand"]),
    ("karpenter.k8s.aws/instance-category", "In", ["c", "m", "r"]),
    ("karpenter.k8s.aws/instance-generation", "Gt", ["2"]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The cluster that the objects lie in; `api` is the version of current objects, as they are read."""

    cluster: str
    version: str
    kubernetes: str
    api: str = "v1"

    @property
    def order(self) -> tuple[int, int]:
        return minor_order(release(self.version).minor)

    @property
    def hashed(self) -> tuple[str, str]:
        """The versions of the hashes of pools and of node classes."""
        if self.order < (0, 36):
            return "v1", "v1"
        if self.order < (1, 0):
            return "v2", "v2"
        return "v3", "v3" if self.order < (1, 1) else "v4" if self.order < (1, 12) else "v5"

    @property
    def discovery(self) -> Document:
        return {"karpenter.sh/discovery": self.cluster}


def _applied(document: Document) -> Document:
    """With what `kubectl apply` remembers of it."""
    kept = {"apiVersion": document["apiVersion"], "kind": document["kind"], "spec": document["spec"]}
    kept["metadata"] = {"annotations": {}, "name": document["metadata"]["name"]}
    notes = document["metadata"].setdefault("annotations", {})
    notes["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps(kept, separators=(",", ":")) + "\n"
    return document


def _rows() -> list[Document]:
    return [{"key": key, "operator": sign, "values": values} for key, sign, values in REQUIREMENTS]


def alpha_pool(place: Place) -> list[Document]:
    """The Provisioner, as the webhook completed it, and its AWSNodeTemplate."""
    spec = {
        "consolidation": {"enabled": True},
        "limits": {"resources": {"cpu": "1k"}},
        "providerRef": {"name": "default"},
        "requirements": _rows(),
        "ttlSecondsUntilExpired": 2592000,
    }
    chosen = place.discovery
    template = {"amiFamily": "AL2", "subnetSelector": chosen, "securityGroupSelector": chosen}
    hashes = {"karpenter.sh/provisioner-hash": token("hash", length=19)} if place.order >= (0, 30) else {}
    resources = {"cpu": "12", "memory": "48Gi", "pods": "174"}
    pool = doc(
        "karpenter.sh/v1alpha5", "Provisioner", metadata=meta("default", annotations=hashes, generation=1), spec=spec
    )
    made = doc("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", metadata=meta("default", generation=1), spec=template)
    found = {"subnets": [{"id": "subnet-0a1", "zone": "us-west-2a"}], "securityGroups": [{"id": "sg-0a1"}]}
    return [_applied(pool) | {"status": {"resources": resources}}, _applied(made) | {"status": found}]


def current_pool(place: Place, *, name: str = "default") -> list[Document]:
    """The NodePool and its EC2NodeClass."""
    return [_pool(place, name), _node_class(place, name)]


def _pool(place: Place, name: str) -> Document:
    v1 = place.api == "v1"
    reference = {"kind": "EC2NodeClass", "name": name}
    reference |= {"group": "karpenter.k8s.aws"} if v1 else {"apiVersion": "karpenter.k8s.aws/v1beta1"}
    if place.order < (0, 37) and not v1:
        reference = {"name": name}
    template = {"nodeClassRef": reference, "requirements": _rows()} | ({"expireAfter": "720h"} if v1 else {})
    converted = v1 and place.order < (1, 0)
    after = "0s" if converted else "1m"
    policy = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": after}
    disruption = policy if v1 else {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}
    spec = {"disruption": disruption, "limits": {"cpu": 1000}, "template": {"spec": template}}
    notes = {"karpenter.sh/nodepool-hash": token("hash", name, length=19)}
    notes |= {"karpenter.sh/nodepool-hash-version": place.hashed[0]} | _done(place)
    if converted:  # what the webhook adds to a v1beta1 pool that is read as v1
        notes |= _reference_before(name)
    made = doc(f"karpenter.sh/{place.api}", "NodePool", metadata=meta(name, annotations=notes, generation=1), spec=spec)
    status: Document = {"resources": {"cpu": "12", "memory": "48Gi", "nodes": "3", "pods": "174"}}
    if v1:
        status["conditions"] = _conditions("NodeClassReady", "ValidationSucceeded", "Ready")
    return _applied(made) | {"status": status}


def _reference_before(name: str) -> dict[str, str]:
    """The annotation in which the webhook keeps the reference of v1beta1."""
    old = {"kind": "EC2NodeClass", "name": name, "apiVersion": "karpenter.k8s.aws/v1beta1"}
    return {"compatibility.karpenter.sh/v1beta1-nodeclass-reference": json.dumps(old)}


def _node_class(place: Place, name: str) -> Document:
    terms = [{"tags": place.discovery}]
    images: Document = {"amiSelectorTerms": [{"id": "ami-0aa11bb22cc33dd44"}, {"id": "ami-0ee55ff66aa77bb88"}]}
    if place.order >= (1, 1):
        images = {"amiSelectorTerms": [{"alias": "al2023@v20260901"}]}
    elif place.order >= (0, 37) or place.api == "v1":
        images |= {"amiFamily": "AL2"}  # the guides of 0.37 and 1.0 pin the images by id
    else:
        images = {"amiFamily": "AL2"}
    spec: Document = {"role": f"KarpenterNodeRole-{place.cluster}", "subnetSelectorTerms": terms, **images}
    spec["securityGroupSelectorTerms"] = terms
    if place.order <= (1, 0) and place.api == "v1":  # made as v1beta1, whose default allowed pods to reach metadata
        spec["metadataOptions"] = {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 2, "httpTokens": "required"}
    notes = {"karpenter.k8s.aws/ec2nodeclass-hash": token("class", name, length=19)}
    notes |= {"karpenter.k8s.aws/ec2nodeclass-hash-version": place.hashed[1]} | _done(place)
    metadata = meta(name, annotations=notes, finalizers=["karpenter.k8s.aws/termination"], generation=1)
    made = doc(f"karpenter.k8s.aws/{place.api}", "EC2NodeClass", metadata=metadata, spec=spec)
    return _applied(made) | {"status": _class_status(place)}


def _class_status(place: Place) -> Document:
    requirements = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]
    status: Document = {
        "amis": [{"id": "ami-0ee55ff66aa77bb88", "name": "amazon-eks-node", "requirements": requirements}],
        "instanceProfile": f"{place.cluster}_4067990795380418201",
        "securityGroups": [{"id": "sg-0a1", "name": "cluster"}],
        "subnets": [{"id": f"subnet-0{letter}1", "zone": f"us-west-2{letter}"} for letter in "abc"],
    }
    ready = ("AMIsReady", "InstanceProfileReady", "SecurityGroupsReady", "SubnetsReady", "Ready")
    return status | ({"conditions": _conditions(*ready)} if place.order >= (0, 37) else {})


def _done(place: Place) -> dict[str, str]:
    return {"karpenter.sh/stored-version-migrated": "true"} if place.order == (1, 0) else {}


def _conditions(*kinds: str, reasons: bool = True) -> list[Document]:
    told = {"lastTransitionTime": BORN, "status": "True"}
    return [told | {"type": kind} | ({"message": "", "reason": kind} if reasons else {}) for kind in kinds]


def _launched_labels(place: Place, number: int, *, pool: str) -> dict[str, str]:
    """The labels that Karpenter gives to claim and node alike."""
    chosen = {CAPACITY: "on-demand", pool: "default", "karpenter.sh/initialized": "true"}
    shape = {
        "karpenter.k8s.aws/instance-category": "m",
        "karpenter.k8s.aws/instance-cpu": "4",
        "karpenter.k8s.aws/instance-family": "m5",
        "karpenter.k8s.aws/instance-generation": "5",
        "karpenter.k8s.aws/instance-hypervisor": "nitro",
        "karpenter.k8s.aws/instance-memory": "16384",
        "karpenter.k8s.aws/instance-size": "xlarge",
    }
    named = {"karpenter.k8s.aws/ec2nodeclass": "default"} if place.order >= (1, 1) else {}
    return base_labels(place.cluster, number, instance_type=INSTANCE) | shape | chosen | named


def machine(place: Place, number: int) -> list[Document]:
    """A Machine and its node."""
    name = f"default-{suffix(place.cluster, number)}"
    labels = _launched_labels(place, number, pool="karpenter.sh/provisioner-name")
    notes = {"karpenter.sh/managed-by": place.cluster}
    if place.order >= (0, 30):
        notes |= {"karpenter.sh/provisioner-hash": token("hash", length=19)}
        notes |= {"karpenter.k8s.aws/nodetemplate-hash": token("class", length=19)}
    by = owner("Provisioner", "default", api_version="karpenter.sh/v1alpha5", controller=False)
    spec = {
        "machineTemplateRef": {"name": "default"},
        "requirements": _rows(),
        "resources": {"requests": {"cpu": "725m", "pods": "8"}},
    }
    kinds = ("MachineLaunched", "MachineRegistered", "MachineInitialized", "Ready")
    metadata = meta(name, labels=labels, annotations=notes, finalizers=[TERMINATION], ownerReferences=[by])
    made = doc("karpenter.sh/v1alpha5", "Machine", metadata=metadata, spec=spec)
    made["status"] = _claim_status(place, number) | {"conditions": _conditions(*kinds, reasons=False)}
    return [made, _node(place, number, labels=labels, by=("Machine", name, "karpenter.sh/v1alpha5"))]


def claim(place: Place, number: int) -> list[Document]:
    """A NodeClaim and its node."""
    name = f"default-{suffix(place.cluster, number)}"
    labels = _launched_labels(place, number, pool="karpenter.sh/nodepool")
    notes = {
        "karpenter.sh/nodepool-hash": token("hash", "default", length=19),
        "karpenter.sh/nodepool-hash-version": place.hashed[0],
        "karpenter.k8s.aws/ec2nodeclass-hash": token("class", "default", length=19),
        "karpenter.k8s.aws/ec2nodeclass-hash-version": place.hashed[1],
        "karpenter.k8s.aws/tagged": "true",
    } | _done(place)
    notes |= {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"} if place.order == (1, 0) else {}
    notes |= _reference_before("default") if place.api == "v1" and place.order < (1, 0) else {}
    by = owner("NodePool", "default", api_version=f"karpenter.sh/{_written(place)}", controller=False)
    reference = {"kind": "EC2NodeClass", "name": "default", "group": "karpenter.k8s.aws"}
    if place.api == "v1beta1":
        del reference["group"]
        reference |= {"apiVersion": "karpenter.k8s.aws/v1beta1"} if place.order >= (0, 37) else {}
    spec: Document = {"nodeClassRef": reference, "requirements": _rows(), "resources": {"requests": {"cpu": "725m"}}}
    spec |= {"expireAfter": "720h"} if place.api == "v1" else {}
    kinds = ("Launched", "Registered", "Initialized", "Ready")
    finalizers = [TERMINATION]
    metadata = meta(name, labels=labels, annotations=notes, finalizers=finalizers, ownerReferences=[by], generation=1)
    made = doc(f"karpenter.sh/{place.api}", "NodeClaim", metadata=metadata, spec=spec)
    status = _claim_status(place, number) | {"conditions": _conditions(*kinds, reasons=place.order >= (0, 37))}
    return [
        made | {"status": status},
        _node(place, number, labels=labels, by=("NodeClaim", name, f"karpenter.sh/{_written(place)}")),
    ]


def _written(place: Place) -> str:
    """The version in which the controller of that release writes owner references."""
    return "v1" if place.order >= (1, 0) else "v1beta1"


def _claim_status(place: Place, number: int) -> Document:
    return {
        "allocatable": {"cpu": "3920m", "memory": "14162Mi", "pods": "58"},
        "capacity": {"cpu": "4", "memory": "15155Mi", "pods": "58"},
        "imageID": "ami-0ee55ff66aa77bb88",
        "nodeName": node_name(place.cluster, number),
        "providerID": provider_id(place.cluster, number),
    }


def _node(place: Place, number: int, *, labels: dict[str, str], by: tuple[str, str, str]) -> Document:
    kind, name, version = by
    return node(
        place.cluster,
        number,
        kubernetes=place.kubernetes,
        labels=labels | {"karpenter.sh/registered": "true"},
        finalizers=[TERMINATION],
        ownerReferences=[owner(kind, name, api_version=version)],
    )
