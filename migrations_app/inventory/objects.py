"""Frozen projections of the API objects a scan reads; pages are decoded straight into them.

Field names follow the API in snake case. Absent and null read as None or the default, never as an error; a wrong type
raises msgspec.ValidationError with the field's path, and the object is quarantined. Sizes: only what checks ask for.
"""

from typing import Any

import msgspec

Tree = dict[str, Any]
Strings = dict[str, str]


class Projection(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Unknown fields are ignored, by design: newer servers add fields."""


class OwnerReference(Projection):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ManagedField(Projection):
    manager: str | None = None
    operation: str | None = None


class Metadata(Projection):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Strings | None = None
    annotations: Strings | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[ManagedField] | None = None

    def label(self, key: str) -> str | None:
        return (self.labels or {}).get(key)

    def annotation(self, key: str) -> str | None:
        return (self.annotations or {}).get(key)

    def owner(self, *kinds: str) -> OwnerReference | None:
        return next((ref for ref in self.owner_references or () if ref.kind in kinds), None)

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None


class Named(Projection):
    """Anything with metadata. `kind` and `api_version` may be empty inside typed lists; `Seen.served` says more."""

    kind: str = ""
    api_version: str = ""
    metadata: Metadata = Metadata()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or ""


class WholeObject(Named):
    """A small object kept whole: pools, classes, templates, GitOps objects. `spec` and `status` are plain JSON."""

    spec: Tree | None = None
    status: Tree | None = None

    def get(self, path: str, default: Any = None) -> Any:  # noqa: ANN401 - the tree is the API's own JSON
        """The value at a dotted path below the object, such as `spec.template.spec.nodeClassRef.name`."""
        here: Any = {"spec": self.spec, "status": self.status}
        for step in path.split("."):
            if not isinstance(here, dict) or step not in here or here[step] is None:
                return default
            here = here[step]
        return here


class Provisioner(WholeObject):
    pass


class AWSNodeTemplate(WholeObject):
    pass


class NodePool(WholeObject):
    pass


class EC2NodeClass(WholeObject):
    pass


class Delivery(WholeObject):
    """A Flux HelmRelease/Kustomization or an Argo CD Application that delivers Karpenter."""


class ClaimStatus(Projection):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    node_name: str | None = None
    conditions: list["Condition"] | None = None


class Condition(Projection):
    type: str = ""
    status: str = ""
    reason: str | None = None


class ClassReference(Projection):
    group: str | None = None
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None


class ClaimSpec(Projection):
    node_class_ref: ClassReference | None = None
    machine_template_ref: ClassReference | None = None
    expire_after: str | None = None


class Claim(Named):
    """A Machine (alpha) or a NodeClaim (beta, v1)."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus | None = None

    @property
    def provider_id(self) -> str:
        return (self.status and self.status.provider_id) or ""

    def condition(self, kind: str) -> str | None:
        found = (c.status for c in (self.status and self.status.conditions) or () if c.type == kind)
        return next(found, None)


class Machine(Claim):
    pass


class NodeClaim(Claim):
    pass


class Taint(Projection):
    key: str = ""
    value: str | None = None
    effect: str | None = None


class NodeSpec(Projection):
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeInfo(Projection):
    kubelet_version: str | None = None


class NodeStatus(Projection):
    conditions: list[Condition] | None = None
    node_info: NodeInfo | None = None


class Node(Named):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus | None = None


class Toleration(Projection):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Expression(Projection):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeTerm(Projection):
    match_expressions: list[Expression] | None = None


class WeightedNodeTerm(Projection):
    weight: int | None = None
    preference: NodeTerm | None = None


class NodeTerms(Projection):
    node_selector_terms: list[NodeTerm] | None = None


class NodeAffinity(Projection):
    required_during_scheduling_ignored_during_execution: NodeTerms | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedNodeTerm] | None = None


class PodAffinityTerm(Projection):
    topology_key: str | None = None


class WeightedPodAffinityTerm(Projection):
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Projection):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Projection):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Spread(Projection):
    topology_key: str | None = None


class EnvironmentVariable(Projection):
    name: str = ""
    value: str | None = None


class Container(Projection):
    name: str = ""
    image: str | None = None
    env: list[EnvironmentVariable] | None = None
    args: list[str] | None = None


class Placement(Projection):
    """Where a pod may run: the part of a pod spec that upgrade checks read."""

    node_name: str | None = None
    node_selector: Strings | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Spread] | None = None
    host_network: bool | None = None
    service_account_name: str | None = None


class PodStatus(Projection):
    phase: str | None = None


class Pod(Named):
    spec: Placement = Placement()
    status: PodStatus | None = None


class ControllerPlacement(Placement):
    containers: list[Container] | None = None


class PodTemplate(Projection):
    metadata: Metadata = Metadata()
    spec: ControllerPlacement = ControllerPlacement()


class LabelSelector(Projection):
    match_labels: Strings | None = None


class WorkloadSpec(Projection):
    replicas: int | None = None
    template: PodTemplate = PodTemplate()
    job_template: "JobTemplate | None" = None
    selector: LabelSelector | None = None


class JobTemplateSpec(Projection):
    template: PodTemplate = PodTemplate()


class JobTemplate(Projection):
    metadata: Metadata = Metadata()
    spec: JobTemplateSpec = JobTemplateSpec()


class WorkloadStatus(Projection):
    ready_replicas: int | None = None


class Workload(Named):
    """A Deployment, StatefulSet, DaemonSet, Job or CronJob: placement and annotations of its pods."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus | None = None

    @property
    def template(self) -> PodTemplate:
        return self.spec.job_template.spec.template if self.spec.job_template else self.spec.template


class BudgetSpec(Projection):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(Projection):
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None


class DisruptionBudget(Named):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus | None = None


class ServiceReference(Projection):
    namespace: str = ""
    name: str = ""
    port: int | None = None
    path: str | None = None


class WebhookTarget(Projection):
    service: ServiceReference | None = None
    url: str | None = None


class ConversionWebhook(Projection):
    client_config: WebhookTarget | None = None


class Conversion(Projection):
    strategy: str | None = None
    webhook: ConversionWebhook | None = None


class CRDVersion(Projection):
    name: str = ""
    served: bool = False
    storage: bool = False


class CRDNames(Projection):
    kind: str = ""
    plural: str = ""


class CRDSpec(Projection):
    group: str = ""
    names: CRDNames = CRDNames()
    versions: list[CRDVersion] | None = None
    conversion: Conversion | None = None


class CRDStatus(Projection):
    stored_versions: list[str] | None = None
    conditions: list[Condition] | None = None


class CRD(Named):
    spec: CRDSpec = CRDSpec()
    status: CRDStatus | None = None

    @property
    def served(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.spec.versions or () if v.served)

    @property
    def storage(self) -> str:
        return next((v.name for v in self.spec.versions or () if v.storage), "")

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple((self.status and self.status.stored_versions) or ())


class AdmissionRule(Projection):
    api_groups: list[str] | None = None
    resources: list[str] | None = None


class AdmissionWebhook(Projection):
    name: str = ""
    client_config: WebhookTarget | None = None
    failure_policy: str | None = None
    rules: list[AdmissionRule] | None = None


class WebhookConfiguration(Named):
    """A Validating- or MutatingWebhookConfiguration."""

    webhooks: list[AdmissionWebhook] | None = None


class ConfigMap(Named):
    data: Strings | None = None


class ServiceAccount(Named):
    pass


class ServicePort(Projection):
    name: str | None = None
    port: int | None = None


class ServiceSpec(Projection):
    ports: list[ServicePort] | None = None
    selector: Strings | None = None


class Service(Named):
    spec: ServiceSpec = ServiceSpec()


class EndpointAddress(Projection):
    ip: str = ""


class EndpointSubset(Projection):
    addresses: list[EndpointAddress] | None = None
    ports: list[ServicePort] | None = None


class Endpoints(Named):
    subsets: list[EndpointSubset] | None = None

    @property
    def ready(self) -> int:
        return sum(len(subset.addresses or ()) for subset in self.subsets or ())


class HelmRelease(Projection):
    """What is kept of a Helm release record: names, versions, status and the values of the Karpenter charts only."""

    name: str
    namespace: str
    revision: int
    status: str
    chart: str
    chart_version: str
    app_version: str
    config: Tree
    defaults: Tree
    crds: list[str]
    """Names of the CustomResourceDefinitions in the rendered manifest."""
    updated: str = ""


class ServerVersion(Projection):
    major: str = ""
    minor: str = ""
    git_version: str = ""


class ServedResource(Projection):
    """One resource of discovery: what may be listed, and in which version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool


class PodGroup(Projection):
    """Pods alike in what upgrade checks ask for; memory follows the number of groups, not of pods."""

    namespace: str
    owner_kind: str
    owner_name: str
    markers: Strings
    """Annotations and labels of the pods whose keys are Karpenter's."""
    placement: list["Constraint"]
    """Selectors, affinities, spread keys and tolerations that name a Karpenter key."""
    count: int
    samples: list[str]
    """Names of the first pods of the group, at most three."""
    nodes: list[str]
    """Nodes they run on, at most 50; kept only for groups with markers or without an owner."""


class Constraint(Projection):
    """One mention of a Karpenter key in a placement. `path` as in spec.nodeSelector or spec.tolerations."""

    path: str
    key: str
    value: str
