"""Every kind that a scan reads: group, kind, plural, versions; for Karpenter's own also the generation and the
successor.

Sources: the CRDs of each tag of aws/karpenter-provider-aws (see crds.py), API groups of kubernetes/kubernetes, CRDs
of fluxcd, argoproj, prometheus-operator, kyverno and gatekeeper. `versions` are in order of preference, newest first.
"""

from dataclasses import dataclass
from typing import Literal

KindGeneration = Literal["alpha", "beta", "v1", "beta_and_v1", ""]
"""The generation of a kind: NodePool, NodeClaim and EC2NodeClass exist in both beta and v1. Empty: not one of
Karpenter's generations.
"""

CORE_GROUP = "karpenter.sh"
AWS_GROUP = "karpenter.k8s.aws"
DRAFT_GROUP = "compute.k8s.aws"
AUTO_MODE_GROUP = "eks.amazonaws.com"
KARPENTER_GROUPS = (CORE_GROUP, AWS_GROUP, DRAFT_GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of object; `successor` is the kind that replaced it, or empty."""

    kind: str
    group: str
    plural: str
    versions: tuple[str, ...]
    generation: KindGeneration = ""
    namespaced: bool = False
    successor: str = ""
    source: str = ""

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def api_versions(self) -> tuple[str, ...]:
        return tuple(self.api_version(version) for version in self.versions)

    def generation_of(self, version: str) -> Literal["alpha", "beta", "v1", ""]:
        """The generation of an object of this kind in that version; empty if the kind has none."""
        return _GENERATIONS.get(version, "") if self.generation else ""


_GENERATIONS: dict[str, Literal["alpha", "beta", "v1"]] = {
    "v1alpha5": "alpha",
    "v1alpha1": "alpha",
    "v1beta1": "beta",
    "v1": "v1",
}

PROVISIONER = Kind(
    kind="Provisioner",
    group=CORE_GROUP,
    plural="provisioners",
    versions=("v1alpha5",),
    generation="alpha",
    successor="NodePool",
    source="kubernetes-sigs/karpenter@v0.32.10:pkg/apis/v1alpha5",
)
MACHINE = Kind(
    kind="Machine",
    group=CORE_GROUP,
    plural="machines",
    versions=("v1alpha5",),
    generation="alpha",
    successor="NodeClaim",
    source="kubernetes-sigs/karpenter@v0.32.10:pkg/apis/v1alpha5",
)
AWS_NODE_TEMPLATE = Kind(
    kind="AWSNodeTemplate",
    group=AWS_GROUP,
    plural="awsnodetemplates",
    versions=("v1alpha1",),
    generation="alpha",
    successor="EC2NodeClass",
    source="aws/karpenter-provider-aws@v0.32.10:pkg/apis/v1alpha1",
)
NODE_POOL = Kind(
    kind="NodePool",
    group=CORE_GROUP,
    plural="nodepools",
    versions=("v1", "v1beta1"),
    generation="beta_and_v1",
    source="kubernetes-sigs/karpenter@v1.0.9:pkg/apis",
)
NODE_CLAIM = Kind(
    kind="NodeClaim",
    group=CORE_GROUP,
    plural="nodeclaims",
    versions=("v1", "v1beta1"),
    generation="beta_and_v1",
    source="kubernetes-sigs/karpenter@v1.0.9:pkg/apis",
)
EC2_NODE_CLASS = Kind(
    kind="EC2NodeClass",
    group=AWS_GROUP,
    plural="ec2nodeclasses",
    versions=("v1", "v1beta1"),
    generation="beta_and_v1",
    source="aws/karpenter-provider-aws@v1.0.14:pkg/apis",
)
NODE_OVERLAY = Kind(
    kind="NodeOverlay",
    group=CORE_GROUP,
    plural="nodeoverlays",
    versions=("v1alpha1",),
    source="kubernetes-sigs/karpenter@v1.14.1:pkg/apis/v1alpha1",
)
CAPACITY_BUFFER = Kind(
    kind="CapacityBuffer",
    group="autoscaling.x-k8s.io",
    plural="capacitybuffers",
    versions=("v1beta1",),
    namespaced=True,
    source="aws/karpenter-provider-aws@v1.14.1:pkg/apis/crds",
)
DRAFT_NODE_CLASS = Kind(
    kind="NodeClass",
    group=DRAFT_GROUP,
    plural="nodeclasses",
    versions=("v1beta1",),
    successor="EC2NodeClass",
    source="aws/karpenter-provider-aws@v0.30.0:pkg/apis/crds (in no chart; applied by hand where seen)",
)
AUTO_MODE_NODE_CLASS = Kind(
    kind="NodeClass",
    group=AUTO_MODE_GROUP,
    plural="nodeclasses",
    versions=("v1",),
    source="AWS EKS User Guide, EKS Auto Mode node classes",
)

ALPHA_KINDS = (PROVISIONER, AWS_NODE_TEMPLATE, MACHINE)
CURRENT_KINDS = (NODE_POOL, EC2_NODE_CLASS, NODE_CLAIM)
OF_KARPENTER_ALONE = frozenset({PROVISIONER.kind, AWS_NODE_TEMPLATE.kind})
"""Names of former kinds that no other group is known to have. Cluster API has a Machine, EKS Auto Mode a NodeClass."""
KARPENTER_KINDS = (*ALPHA_KINDS, *CURRENT_KINDS, NODE_OVERLAY, CAPACITY_BUFFER, DRAFT_NODE_CLASS)


def _cluster(kind: str, plural: str, *, group: str, versions: str = "v1", namespaced: bool = True) -> Kind:
    return Kind(kind=kind, group=group, plural=plural, versions=tuple(versions.split()), namespaced=namespaced)


NODE = _cluster("Node", "nodes", group="", namespaced=False)
POD = _cluster("Pod", "pods", group="")
SERVICE_ACCOUNT = _cluster("ServiceAccount", "serviceaccounts", group="")
SERVICE = _cluster("Service", "services", group="")
ENDPOINTS = _cluster("Endpoints", "endpoints", group="")
ENDPOINT_SLICE = _cluster("EndpointSlice", "endpointslices", group="discovery.k8s.io", versions="v1 v1beta1")
CONFIG_MAP = _cluster("ConfigMap", "configmaps", group="")
SECRET = _cluster("Secret", "secrets", group="")
DEPLOYMENT = _cluster("Deployment", "deployments", group="apps")
STATEFUL_SET = _cluster("StatefulSet", "statefulsets", group="apps")
DAEMON_SET = _cluster("DaemonSet", "daemonsets", group="apps")
JOB = _cluster("Job", "jobs", group="batch")
CRON_JOB = _cluster("CronJob", "cronjobs", group="batch", versions="v1 v1beta1")
DISRUPTION_BUDGET = _cluster("PodDisruptionBudget", "poddisruptionbudgets", group="policy", versions="v1 v1beta1")
CRD = _cluster("CustomResourceDefinition", "customresourcedefinitions", group="apiextensions.k8s.io", namespaced=False)
VALIDATING_WEBHOOKS = _cluster(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    group="admissionregistration.k8s.io",
    namespaced=False,
)
MUTATING_WEBHOOKS = _cluster(
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    group="admissionregistration.k8s.io",
    namespaced=False,
)
ADMISSION_POLICIES = tuple(
    _cluster(kind, kind.lower().replace("policy", "policies"), group="admissionregistration.k8s.io", versions=versions,
             namespaced=False)
    for kind, versions in (
        ("ValidatingAdmissionPolicy", "v1 v1beta1"), ("MutatingAdmissionPolicy", "v1 v1beta1 v1alpha1"),
    )
)  # fmt: skip
"""Policies in CEL that the API server itself applies; from Kubernetes 1.26 on."""
FLUX_HELM_RELEASE = _cluster(
    "HelmRelease", "helmreleases", group="helm.toolkit.fluxcd.io", versions="v2 v2beta2 v2beta1"
)
FLUX_KUSTOMIZATION = _cluster(
    "Kustomization", "kustomizations", group="kustomize.toolkit.fluxcd.io", versions="v1 v1beta2 v1beta1"
)
ARGO_APPLICATION = _cluster("Application", "applications", group="argoproj.io", versions="v1alpha1")
PROMETHEUS_RULE = _cluster("PrometheusRule", "prometheusrules", group="monitoring.coreos.com")
VM_RULE = _cluster("VMRule", "vmrules", group="operator.victoriametrics.com", versions="v1beta1")
SCALED_OBJECT = _cluster("ScaledObject", "scaledobjects", group="keda.sh", versions="v1alpha1")
SCALED_JOB = _cluster("ScaledJob", "scaledjobs", group="keda.sh", versions="v1alpha1")
QUERY_KINDS = (VM_RULE, SCALED_OBJECT, SCALED_JOB)
CLUSTER_ROLE = _cluster("ClusterRole", "clusterroles", group="rbac.authorization.k8s.io", namespaced=False)
CLUSTER_ROLE_BINDING = _cluster(
    "ClusterRoleBinding", "clusterrolebindings", group="rbac.authorization.k8s.io", namespaced=False
)
NETWORK_POLICY = _cluster("NetworkPolicy", "networkpolicies", group="networking.k8s.io")
NAMESPACE = _cluster("Namespace", "namespaces", group="", namespaced=False)
PERSISTENT_VOLUME = _cluster("PersistentVolume", "persistentvolumes", group="", namespaced=False)
SERVICE_MONITOR = _cluster("ServiceMonitor", "servicemonitors", group="monitoring.coreos.com")
POD_MONITOR = _cluster("PodMonitor", "podmonitors", group="monitoring.coreos.com")
ARGO_ROLLOUT = _cluster("Rollout", "rollouts", group="argoproj.io", versions="v1alpha1")
KYVERNO_CLUSTER_POLICY = _cluster(
    "ClusterPolicy", "clusterpolicies", group="kyverno.io", versions="v1 v2beta1", namespaced=False
)
KYVERNO_POLICY = _cluster("Policy", "policies", group="kyverno.io", versions="v1 v2beta1")
GATEKEEPER_MUTATIONS = tuple(
    _cluster(kind, kind.lower(), group="mutations.gatekeeper.sh", versions="v1 v1beta1 v1alpha1", namespaced=False)
    for kind in ("Assign", "AssignMetadata", "ModifySet")
)
GATEKEEPER_CONSTRAINT = _cluster("Constraint", "*", group="constraints.gatekeeper.sh", namespaced=False)
"""Stands for the kinds that ConstraintTemplates define: each has its own name, which discovery lists."""
FLUX_GIT_REPOSITORY = _cluster(
    "GitRepository", "gitrepositories", group="source.toolkit.fluxcd.io", versions="v1 v1beta2 v1beta1"
)
FLUX_OCI_REPOSITORY = _cluster(
    "OCIRepository", "ocirepositories", group="source.toolkit.fluxcd.io", versions="v1 v1beta2"
)
FLUX_HELM_REPOSITORY = _cluster(
    "HelmRepository", "helmrepositories", group="source.toolkit.fluxcd.io", versions="v1 v1beta2 v1beta1"
)
FLUX_SOURCES = (FLUX_GIT_REPOSITORY, FLUX_OCI_REPOSITORY, FLUX_HELM_REPOSITORY)
POLICY_KINDS = (KYVERNO_CLUSTER_POLICY, KYVERNO_POLICY, *GATEKEEPER_MUTATIONS)

CLUSTER_KINDS = (
    NODE,
    POD,
    SERVICE_ACCOUNT,
    SERVICE,
    ENDPOINTS,
    ENDPOINT_SLICE,
    CONFIG_MAP,
    SECRET,
    DEPLOYMENT,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    CRON_JOB,
    DISRUPTION_BUDGET,
    CRD,
    VALIDATING_WEBHOOKS,
    MUTATING_WEBHOOKS,
    FLUX_HELM_RELEASE,
    FLUX_KUSTOMIZATION,
    ARGO_APPLICATION,
    PROMETHEUS_RULE,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    NETWORK_POLICY,
    NAMESPACE,
    PERSISTENT_VOLUME,
    SERVICE_MONITOR,
    POD_MONITOR,
    ARGO_ROLLOUT,
    *POLICY_KINDS,
    *ADMISSION_POLICIES,
    *QUERY_KINDS,
    *FLUX_SOURCES,
)
KINDS = (*KARPENTER_KINDS, AUTO_MODE_NODE_CLASS, *CLUSTER_KINDS)


def find(kind: str, *, group: str | None = None) -> Kind | None:
    """The row of that kind, in that group if one is given; None if scans do not read it."""
    return next((row for row in KINDS if row.kind == kind and group in (None, row.group)), None)


def successor(kind: Kind) -> Kind | None:
    """The kind that replaced it, or None."""
    return find(kind.successor) if kind.successor else None
