"""Builders of Karpenter's own objects in each generation, and of the nodes they own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from migrations_app.manifests import JsonMap
from migrations_app.samples.kubernetes_objects import doc, machine_labels, meta, node, owner, suffix, token

CAPACITY = "karpenter.sh/capacity-type"
TERMINATION = "karpenter.sh/termination"
SIZES = {"large": ("2", "29"), "xlarge": ("4", "58"), "2xlarge": ("8", "58"), "4xlarge": ("16", "234")}
"""vCPUs and most pods of a size of the general families."""
ARM_FAMILIES = ("m6g", "m7g", "c6g", "c7g", "r6g")

SampleRequirement = tuple[str, str, Sequence[str]]
ON_DEMAND: SampleRequirement = (CAPACITY, "In", ("on-demand",))
SPOT: SampleRequirement = (CAPACITY, "In", ("spot", "on-demand"))
AMD64: SampleRequirement = ("kubernetes.io/arch", "In", ("amd64",))
LARGE_ENOUGH: SampleRequirement = ("karpenter.k8s.aws/instance-category", "In", ("c", "m", "r"))


def _requirements(rows: Sequence[SampleRequirement]) -> list[JsonMap]:
    return [{"key": key, "operator": operator, "values": list(values)} for key, operator, values in rows]


def provisioner(name: str, *rows: SampleRequirement, template: str, **more: object) -> JsonMap:
    """A v1alpha5 Provisioner with consolidation; `more` are further fields of its spec."""
    spec: JsonMap = {
        "consolidation": {"enabled": True},
        "limits": {"resources": {"cpu": "200"}},
        "providerRef": {"name": template},
        "requirements": _requirements(rows),
    }
    metadata = meta(name, annotations={"karpenter.sh/provisioner-hash": token("hash", name, length=20)}, generation=3)
    return doc("karpenter.sh/v1alpha5", "Provisioner", metadata=metadata, spec=spec | more)


def node_template(name: str, *, cluster: str, **more: object) -> JsonMap:
    """A v1alpha1 AWSNodeTemplate with discovery by tag."""
    discovery = {"karpenter.sh/discovery": cluster}
    spec: JsonMap = {"amiFamily": "AL2", "subnetSelector": discovery, "securityGroupSelector": discovery}
    return doc("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", metadata=meta(name, generation=2), spec=spec | more)


def pool(name: str, *rows: SampleRequirement, node_class: str, version: str, **more: object) -> JsonMap:
    """A NodePool in v1beta1 or v1; `more` go to the spec of its node template."""
    reference = {"kind": "EC2NodeClass", "name": node_class} | _class_group(version)
    spec: JsonMap = {"nodeClassRef": reference, "requirements": _requirements(rows)}
    disruption: JsonMap = {"budgets": [{"nodes": "10%"}]}
    if version == "v1":
        disruption |= {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"}
        spec["expireAfter"] = "720h"
    else:
        disruption |= {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}
    metadata = meta(name, annotations={"karpenter.sh/nodepool-hash": token("hash", name, length=20)}, generation=4)
    status = {"conditions": [{"type": "Ready", "status": "True"}]} if version == "v1" else {}
    pool_spec = {"disruption": disruption, "limits": {"cpu": "200"}, "template": {"spec": spec | more}}
    return doc(f"karpenter.sh/{version}", "NodePool", metadata=metadata, spec=pool_spec, status=status)


def _class_group(version: str) -> dict[str, str]:
    return {"group": "karpenter.k8s.aws"} if version == "v1" else {"apiVersion": "karpenter.k8s.aws/v1beta1"}


def node_class(name: str, *, cluster: str, version: str, **more: object) -> JsonMap:
    """An EC2NodeClass with discovery by tag."""
    terms = [{"tags": {"karpenter.sh/discovery": cluster}}]
    image = {"amiSelectorTerms": [{"alias": "al2023@v20260901"}]} if version == "v1" else {"amiFamily": "AL2023"}
    selectors = {"subnetSelectorTerms": terms, "securityGroupSelectorTerms": terms}
    spec: JsonMap = {"role": f"KarpenterNodeRole-{cluster}"} | selectors
    metadata = meta(name, generation=2, finalizers=["karpenter.k8s.aws/termination"])
    status = {"conditions": [{"type": "Ready", "status": "True"}]} if version == "v1" else {}
    return doc(
        f"karpenter.k8s.aws/{version}", "EC2NodeClass", metadata=metadata, spec=spec | image | more, status=status
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One instance that Karpenter launched: its pool, type and zone."""

    pool: str
    number: int
    cluster: str
    kubelet: str
    instance_type: str = "m6i.2xlarge"
    capacity: str = "on-demand"
    zone: str = "eu-central-1a"

    @property
    def claim(self) -> str:
        return f"{self.pool}-{suffix(self.cluster, self.pool, self.number)}"

    @property
    def provider_id(self) -> str:
        return f"aws:///{self.zone}/i-{token(self.cluster, self.pool, self.number)}"

    @property
    def node(self) -> str:
        digits = int(token(self.cluster, self.pool, self.number, length=4), 16)
        region = self.zone[:-1]
        return f"ip-10-{20 + ord(self.zone[-1]) % 3}-{digits // 256}-{digits % 256}.{region}.compute.internal"

    @property
    def capacity_of_machine(self) -> dict[str, str]:
        """What its node says of the machine; empty for a size that no story has."""
        cpu, pods = SIZES.get(self.instance_type.partition(".")[2], ("", ""))
        return {"cpu": cpu, "pods": pods} if cpu else {}

    @property
    def labels(self) -> dict[str, str]:
        arch = "arm64" if self.instance_type.partition(".")[0] in ARM_FAMILIES else "amd64"
        return machine_labels(instance_type=self.instance_type, zone=self.zone, arch=arch) | {
            CAPACITY: self.capacity,
            "karpenter.sh/initialized": "true",
            "karpenter.sh/registered": "true",
        }


def _conditions(prefix: str, status: Mapping[str, str] | None = None) -> list[JsonMap]:
    states = {f"{prefix}{word}": "True" for word in ("Launched", "Registered", "Initialized")} | {"Ready": "True"}
    return [{"type": kind, "status": value, "reason": kind} for kind, value in (states | dict(status or {})).items()]


def machine(launched: Launched, *, template: str, hashed: bool = True) -> list[JsonMap]:
    """A Machine and its node. `hashed=False`: launched before 0.30, so it can never drift."""
    labels = launched.labels | {"karpenter.sh/provisioner-name": launched.pool}
    annotations = {"karpenter.sh/managed-by": launched.cluster}
    if hashed:
        annotations["karpenter.sh/provisioner-hash"] = token("hash", launched.pool, length=20)
    by = owner("Provisioner", launched.pool, api_version="karpenter.sh/v1alpha5", controller=False)
    metadata = meta(
        launched.claim, labels=labels, annotations=annotations, finalizers=[TERMINATION], ownerReferences=[by]
    )
    status = {
        "providerID": launched.provider_id,
        "nodeName": launched.node,
        "conditions": _conditions("Machine"),
    }
    spec = {"machineTemplateRef": {"name": template}}
    document = doc("karpenter.sh/v1alpha5", "Machine", metadata=metadata, spec=spec, status=status)
    return [
        document,
        _node_of(launched, labels, by=owner("Machine", launched.claim, api_version="karpenter.sh/v1alpha5")),
    ]


def claim(
    launched: Launched,
    *,
    node_class: str,
    version: str,
    born_as: str = "",
    annotations: Mapping[str, str] | None = None,
    status: Mapping[str, str] | None = None,
) -> list[JsonMap]:
    """A NodeClaim and its node. `born_as` is the API version in the node's owner reference."""
    labels = launched.labels | {"karpenter.sh/nodepool": launched.pool}
    by = owner("NodePool", launched.pool, api_version=f"karpenter.sh/{born_as or version}", controller=False)
    marks = {"karpenter.sh/nodepool-hash": token("hash", launched.pool, length=20)} | dict(annotations or {})
    metadata = meta(launched.claim, labels=labels, annotations=marks, finalizers=[TERMINATION], ownerReferences=[by])
    reference = {"kind": "EC2NodeClass", "name": node_class} | _class_group(version)
    state = {"providerID": launched.provider_id, "nodeName": launched.node, "conditions": _conditions("", status)}
    spec: JsonMap = {"nodeClassRef": reference} | ({"expireAfter": "720h"} if version == "v1" else {})
    document = doc(f"karpenter.sh/{version}", "NodeClaim", metadata=metadata, spec=spec, status=state)
    node_owner = owner("NodeClaim", launched.claim, api_version=f"karpenter.sh/{born_as or version}")
    return [document, _node_of(launched, labels, by=node_owner)]


def _node_of(launched: Launched, labels: Mapping[str, str], *, by: JsonMap) -> JsonMap:
    return node(
        launched.node,
        kubelet=launched.kubelet,
        provider_id=launched.provider_id,
        labels=dict(labels) | {"kubernetes.io/hostname": launched.node},
        capacity=launched.capacity_of_machine,
        finalizers=[TERMINATION],
        ownerReferences=[by],
    )
