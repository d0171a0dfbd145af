"""Frozen projections of the API objects that a scan reads; pages are decoded directly into them.

Also re-exports those of `base` and `workloads`, so that callers import from one module.
"""

import msgspec

from migrations_app.inventory.objects.base import (
    ManagedField,
    Metadata,
    NamedObject,
    NodeCapacity,
    OwnerReference,
    Projection,
    StatusCondition,
    Strings,
    WholeObject,
)
from migrations_app.inventory.objects.workloads import (
    Affinity,
    BudgetSpec,
    BudgetStatus,
    Constraint,
    Container,
    ContainerState,
    ContainerStatus,
    ControllerPlacement,
    ControllerPod,
    ControllerPodStatus,
    DisruptionBudget,
    EnvironmentVariable,
    JobTemplate,
    JobTemplateSpec,
    LabelSelector,
    NodeAffinity,
    NodeTerm,
    NodeTerms,
    Placement,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodGroup,
    PodSpec,
    PodStatus,
    PodTemplate,
    Resources,
    SelectorExpression,
    Spread,
    TerminatedState,
    Toleration,
    WeightedNodeTerm,
    WeightedPodAffinityTerm,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from migrations_app.manifests import JsonMap

__all__ = [
    "CRD",
    "AWSNodeTemplate",
    "AdmissionRule",
    "AdmissionWebhook",
    "Affinity",
    "BudgetSpec",
    "BudgetStatus",
    "CRDNames",
    "CRDSpec",
    "CRDStatus",
    "CRDVersion",
    "ClaimSpec",
    "ClaimStatus",
    "ClassReference",
    "ConfigMap",
    "Constraint",
    "Container",
    "ContainerState",
    "ContainerStatus",
    "ControllerPlacement",
    "ControllerPod",
    "ControllerPodStatus",
    "ConversionWebhook",
    "CrdConversion",
    "DisruptionBudget",
    "EC2NodeClass",
    "EndpointAddress",
    "EndpointSubset",
    "Endpoints",
    "EnvironmentVariable",
    "GitOpsDelivery",
    "HelmRelease",
    "JobTemplate",
    "JobTemplateSpec",
    "KarpenterClaim",
    "LabelSelector",
    "Machine",
    "ManagedField",
    "Metadata",
    "NamedObject",
    "Node",
    "NodeAffinity",
    "NodeClaim",
    "NodePool",
    "NodeSpec",
    "NodeStatus",
    "NodeTerm",
    "NodeTerms",
    "OwnerReference",
    "Placement",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodGroup",
    "PodSpec",
    "PodStatus",
    "PodTemplate",
    "Projection",
    "Provisioner",
    "Resources",
    "SelectorExpression",
    "ServedResource",
    "ServerVersion",
    "Service",
    "ServiceAccount",
    "ServicePort",
    "ServiceReference",
    "ServiceSpec",
    "Spread",
    "StatusCondition",
    "Strings",
    "Taint",
    "TerminatedState",
    "Toleration",
    "WebhookConfiguration",
    "WebhookTarget",
    "WeightedNodeTerm",
    "WeightedPodAffinityTerm",
    "WholeObject",
    "Workload",
    "WorkloadSpec",
    "WorkloadStatus",
]


class Provisioner(WholeObject, frozen=True):
    pass


class AWSNodeTemplate(WholeObject, frozen=True):
    pass


class NodePool(WholeObject, frozen=True):
    pass


class EC2NodeClass(WholeObject, frozen=True):
    pass


class GitOpsDelivery(WholeObject, frozen=True):
    """A Flux HelmRelease/Kustomization or an Argo CD Application that delivers Karpenter."""


class ClaimStatus(Projection, frozen=True):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    node_name: str | None = None
    conditions: list["StatusCondition"] | None = None


class ClassReference(Projection, frozen=True):
    group: str | None = None
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None


class ClaimSpec(Projection, frozen=True):
    node_class_ref: ClassReference | None = None
    machine_template_ref: ClassReference | None = None
    expire_after: str | None = None


class KarpenterClaim(NamedObject, frozen=True):
    """A Machine (alpha) or a NodeClaim (beta, v1)."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus | None = None

    @property
    def provider_id(self) -> str:
        return (self.status and self.status.provider_id) or ""

    def condition(self, kind: str) -> str | None:
        statuses = (c.status for c in (self.status and self.status.conditions) or () if c.type == kind)
        return next(statuses, None)


class Machine(KarpenterClaim, frozen=True):
    pass


class NodeClaim(KarpenterClaim, frozen=True):
    pass


class Taint(Projection, frozen=True):
    key: str = ""
    value: str | None = None
    effect: str | None = None


class NodeSpec(Projection, frozen=True):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeStatus(Projection, frozen=True):
    conditions: list[StatusCondition] | None = None
    capacity: NodeCapacity | None = None


class Node(NamedObject, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus | None = None


class ServiceReference(Projection, frozen=True):
    namespace: str = ""
    name: str = ""
    port: int | None = None
    path: str | None = None


class WebhookTarget(Projection, frozen=True):
    service: ServiceReference | None = None
    url: str | None = None


class ConversionWebhook(Projection, frozen=True):
    client_config: WebhookTarget | None = None


class CrdConversion(Projection, frozen=True):
    strategy: str | None = None
    webhook: ConversionWebhook | None = None


class CRDVersion(Projection, frozen=True):
    """`fields` lists the fields of karpenter/crds.py that its schema has; None if no schema was seen."""

    name: str = ""
    served: bool = False
    storage: bool = False
    fields: list[str] | None = None


class CRDNames(Projection, frozen=True):
    kind: str = ""
    plural: str = ""


class CRDSpec(Projection, frozen=True):
    group: str = ""
    names: CRDNames = CRDNames()
    versions: list[CRDVersion] | None = None
    conversion: CrdConversion | None = None


class CRDStatus(Projection, frozen=True):
    stored_versions: list[str] | None = None
    conditions: list[StatusCondition] | None = None


class CRD(NamedObject, frozen=True):
    spec: CRDSpec = CRDSpec()
    status: CRDStatus | None = None
    conversion_owners: list[str] = []
    """Field managers that wrote fields below spec.conversion."""

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.spec.versions or () if v.served)

    @property
    def storage(self) -> str:
        return next((v.name for v in self.spec.versions or () if v.storage), "")

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple((self.status and self.status.stored_versions) or ())


class AdmissionRule(Projection, frozen=True):
    api_groups: list[str] | None = None
    resources: list[str] | None = None


class AdmissionWebhook(Projection, frozen=True):
    name: str = ""
    client_config: WebhookTarget | None = None
    rules: list[AdmissionRule] | None = None


class WebhookConfiguration(NamedObject, frozen=True):
    """A ValidatingWebhookConfiguration or MutatingWebhookConfiguration."""

    webhooks: list[AdmissionWebhook] | None = None


class ConfigMap(NamedObject, frozen=True):
    data: Strings | None = None


class ServiceAccount(NamedObject, frozen=True):
    pass


class ServicePort(Projection, frozen=True):
    name: str | None = None
    port: int | None = None


class ServiceSpec(Projection, frozen=True):
    ports: list[ServicePort] | None = None
    selector: Strings | None = None


class Service(NamedObject, frozen=True):
    spec: ServiceSpec = ServiceSpec()

    @property
    def metrics_port(self) -> int | None:
        return next((port.port for port in self.spec.ports or () if port.name == "http-metrics"), None)


class EndpointAddress(Projection, frozen=True):
    ip: str = ""


class EndpointSubset(Projection, frozen=True):
    addresses: list[EndpointAddress] | None = None
    ports: list[ServicePort] | None = None


class Endpoints(NamedObject, frozen=True):
    subsets: list[EndpointSubset] | None = None

    @property
    def ready(self) -> int:
        return sum(len(subset.addresses or ()) for subset in self.subsets or ())


class HelmRelease(Projection, frozen=True):
    """What is kept of a Helm release record: names, versions, status, and values of the Karpenter charts only."""

    name: str
    namespace: str
    revision: int
    status: str
    chart: str
    chart_version: str
    app_version: str
    config: JsonMap
    """The values given to the chart; those of the newest revision if it failed, because the next upgrade gets them."""
    defaults: JsonMap
    crds: list[str]
    """Names of the CustomResourceDefinitions in the rendered manifest."""
    updated: str = ""
    packaged: list[str] = []
    """Karpenter's own objects in the rendered manifest, as "karpenter.sh/v1beta1 NodePool"."""
    unfinished: str = ""
    """The status of the newest revision if Helm is, or was stopped, in the middle of it, or failed."""


class ServerVersion(Projection, frozen=True):
    major: str = ""
    minor: str = ""
    git_version: str = ""


class ServedResource(Projection, frozen=True):
    """One resource from discovery: what can be listed, and in which version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
