"""Keys of labels, annotations and tags: which the new API refuses, which have a new name, which mean the same.

Sources: CEL rules of aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml and
karpenter.k8s.aws_ec2nodeclasses.yaml; kubernetes-sigs/karpenter@v0.32.3:pkg/apis/v1alpha5/labels.go.
"""

from typing import Final

from migrations_app.karpenter.conversion.losses import Notes, Path

OS: Final = "kubernetes.io/os"
ARCH: Final = "kubernetes.io/arch"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
INSTANCE_FAMILY: Final = "karpenter.k8s.aws/instance-family"
INSTANCE_CATEGORY: Final = "karpenter.k8s.aws/instance-category"
INSTANCE_GENERATION: Final = "karpenter.k8s.aws/instance-generation"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"

ALIASES: Final = {
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
}

_ALLOWED: Final = frozenset(
    {
        OS,
        ARCH,
        ZONE,
        REGION,
        INSTANCE_TYPE,
        CAPACITY_TYPE,
        "node.kubernetes.io/windows-build",
        *ALIASES,
        *(
            f"karpenter.k8s.aws/instance-{name}"
            for name in (
                "hypervisor", "encryption-in-transit-supported", "category", "family", "generation", "size",
                "local-nvme", "cpu", "cpu-manufacturer", "memory", "ebs-bandwidth", "network-bandwidth", "gpu-name",
                "gpu-manufacturer", "gpu-count", "gpu-memory", "accelerator-name", "accelerator-manufacturer",
                "accelerator-count",
            )
        ),
    }
)  # fmt: skip
_CLOSED: Final = ("karpenter.sh", "karpenter.k8s.aws", "kubernetes.io", "k8s.io")
_OPEN: Final = ("node.kubernetes.io", "node-restriction.kubernetes.io", "kops.k8s.io")
_REPLACED: Final = ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-evict")

_BETA_TAGS: Final = frozenset({"karpenter.sh/provisioner-name", "karpenter.sh/nodepool", "karpenter.sh/managed-by"})
_V1_TAGS: Final = frozenset(
    {"karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "eks:eks-cluster-name"}
)


def real_key(key: str) -> str:
    """The key that this one is another name for, or the key itself."""
    return ALIASES.get(key, key)


def is_restricted(key: str) -> bool:
    """True when v1beta1 and v1 refuse this key among the labels and requirements of a NodePool."""
    if key in _ALLOWED:
        return False
    domain = key.partition("/")[0]
    return domain.endswith(_CLOSED) and not domain.endswith(_OPEN)


def open_labels(labels: dict[str, str], at: Path, *, notes: Notes) -> dict[str, str]:
    """The labels without those the new API refuses, each noted."""
    for key in labels:
        if is_restricted(key):
            notes.add(
                "restricted-key-dropped", (*at, key), what=f"the label {key}={labels[key]} is refused and left out"
            )
    return {key: value for key, value in labels.items() if not is_restricted(key)}


def current_annotations(annotations: dict[str, str], at: Path, *, notes: Notes) -> dict[str, str]:
    """The template annotations with karpenter.sh/do-not-disrupt in place of its two predecessors."""
    kept = {key: value for key, value in annotations.items() if key not in _REPLACED}
    for key in _REPLACED:
        value = annotations.get(key)
        if value == "true":
            kept.setdefault(DO_NOT_DISRUPT, "true")
            notes.add("deprecated-annotation-replaced", (*at, key), what=f"{key} is now {DO_NOT_DISRUPT}")
        elif value is not None:
            notes.add(
                "deprecated-annotation-replaced", (*at, key), what=f'{key}: "{value}" had no effect and is left out'
            )
    return kept


def _refused_tag(key: str, *, v1: bool) -> bool:
    return key in (_V1_TAGS if v1 else _BETA_TAGS) or key.startswith("kubernetes.io/cluster")


def open_tags(tags: dict[str, str], at: Path, *, notes: Notes, v1: bool) -> dict[str, str]:
    """The EC2 tags without those that Karpenter sets itself, each noted; an empty key is an error."""
    for key, value in tags.items():
        if not key:
            notes.add("bad-type", at, what="a tag has an empty key")
        elif _refused_tag(key, v1=v1):
            notes.add("restricted-tag-dropped", (*at, key), what=f"the tag {key}={value} is refused and left out")
    return {key: value for key, value in tags.items() if not _refused_tag(key, v1=v1)}
