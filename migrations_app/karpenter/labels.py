"""Keys of labels, annotations, taints, finalizers and EC2 tags: constants for those used in code, and the table of
all.

ALIASES maps labels of old Kubernetes to the stable labels that Karpenter reads them as. Source:
kubernetes-sigs/karpenter@v0.37.7:pkg/apis/v1beta1/labels.go, NormalizedLabels.
"""

from migrations_app.karpenter.table_types import KeyKind, LabelRow
from migrations_app.karpenter.tables.annotation_rows import ANNOTATION_ROWS
from migrations_app.karpenter.tables.label_rows import INSTANCE_ROWS, LABEL_ROWS
from migrations_app.karpenter.tables.mark_rows import MARK_ROWS
from migrations_app.karpenter.versions import Release

# Owner of a node
PROVISIONER_NAME = "karpenter.sh/provisioner-name"
NODEPOOL = "karpenter.sh/nodepool"
NODECLAIM = "karpenter.sh/nodeclaim"
EC2_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
NODEGROUP = "eks.amazonaws.com/nodegroup"
COMPUTE_TYPE = "eks.amazonaws.com/compute-type"
INITIALIZED = "karpenter.sh/initialized"
REGISTERED = "karpenter.sh/registered"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
SPOT = "spot"
ON_DEMAND = "on-demand"
RESERVED = "reserved"

# Disruption
DO_NOT_EVICT = "karpenter.sh/do-not-evict"
DO_NOT_CONSOLIDATE = "karpenter.sh/do-not-consolidate"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
LEGACY_TAINT = "karpenter.sh/legacy"
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
DISRUPTION_TAINT = "karpenter.sh/disruption"
DISRUPTED_TAINT = "karpenter.sh/disrupted"
UNREGISTERED_TAINT = "karpenter.sh/unregistered"
TERMINATION_FINALIZER = "karpenter.sh/termination"
NODE_CLASS_FINALIZER = "karpenter.k8s.aws/termination"

# Drift hashes
PROVISIONER_HASH = "karpenter.sh/provisioner-hash"
NODEPOOL_HASH = "karpenter.sh/nodepool-hash"
NODEPOOL_HASH_VERSION = "karpenter.sh/nodepool-hash-version"
EC2_NODE_CLASS_HASH = "karpenter.k8s.aws/ec2nodeclass-hash"
EC2_NODE_CLASS_HASH_VERSION = "karpenter.k8s.aws/ec2nodeclass-hash-version"

# Between the generations
STORED_VERSION_DONE = "karpenter.sh/stored-version-migrated"
KUBELET_COMPATIBILITY = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
NODE_CLASS_REFERENCE_COMPATIBILITY = "compatibility.karpenter.sh/v1beta1-nodeclass-reference"
PROVIDER_COMPATIBILITY = "compatibility.karpenter.sh/provider"
UBUNTU_COMPATIBILITY = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"
ALIAS_VERSION_COMPATIBILITY = "compatibility.karpenter.k8s.aws/v1-alias-version"
CLUSTER_NAME_TAGGED = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
MANAGED_BY_CLUSTER = "karpenter.sh/managed-by"
CLUSTER_NAME_TAG = "eks:eks-cluster-name"

# Which tool delivers an object: Helm, Flux, Argo CD, and the chart's own labels.
# Sources: charts/karpenter/templates/_helpers.tpl of aws/karpenter-provider-aws; documentation of the three tools.
APP_NAME = "app.kubernetes.io/name"
APP_INSTANCE = "app.kubernetes.io/instance"
APP_VERSION = "app.kubernetes.io/version"
APP_MANAGED_BY = "app.kubernetes.io/managed-by"
HELM_CHART = "helm.sh/chart"
HELM_RELEASE_NAME = "meta.helm.sh/release-name"
HELM_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
FLUX_HELM_NAME = "helm.toolkit.fluxcd.io/name"
FLUX_HELM_NAMESPACE = "helm.toolkit.fluxcd.io/namespace"
FLUX_KUSTOMIZE_NAME = "kustomize.toolkit.fluxcd.io/name"
FLUX_KUSTOMIZE_NAMESPACE = "kustomize.toolkit.fluxcd.io/namespace"
ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
ROLE_ARN = "eks.amazonaws.com/role-arn"
ROLE_AUDIENCE = "eks.amazonaws.com/audience"

PROVIDER_ID_PREFIX = "aws:///"
"""aws:///<zone>/<instance id>: links a Node, its Machine or NodeClaim, and the instance."""

KEYS: tuple[LabelRow, ...] = (*LABEL_ROWS, *INSTANCE_ROWS, *ANNOTATION_ROWS, *MARK_ROWS)


def find(key: str, *, kind: KeyKind | None = None, table: tuple[LabelRow, ...] = KEYS) -> LabelRow | None:
    """The row of that key, in that role if one is given; None for an unknown key."""
    return next((row for row in table if row.key == key and kind in (None, row.kind)), None)


def retired(key: str, running: Release, *, kind: KeyKind | None = None, table: tuple[LabelRow, ...] = KEYS) -> bool:
    """Whether that release ignores the key in every role asked about; False for an unknown key."""
    rows = [row for row in table if row.key == key and kind in (None, row.kind)]
    return bool(rows) and all(row.retired_in(running) for row in rows)


def replacement(key: str, *, kind: KeyKind | None = None) -> str:
    """What replaces the key, mostly another key; empty if nothing does."""
    row = find(key, kind=kind)
    return row.replacement if row else ""


ALIASES: dict[str, str] = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
