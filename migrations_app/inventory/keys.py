"""Which label, annotation and taint keys of ordinary objects an inventory keeps."""

KARPENTER_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
NODE_KEYS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "alpha.eksctl.io/nodegroup-name",
    }
)
BETA_NODE_KEYS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)
"""Labels of old Kubernetes, under which pods still ask for nodes."""
TEMPLATE_KEYS = BETA_NODE_KEYS | {"node.kubernetes.io/unschedulable"}
"""What is looked for in templates only: its controller makes every pod of a DaemonSet tolerate a cordon."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_karpenter(key: str) -> bool:
    """Whether the key's domain is one of Karpenter's or lies below one."""
    # Asked a dozen times of each pod, nearly always of a key of somebody else.
    if "karpenter." not in key:
        return False
    domain, slash, _ = key.partition("/")
    return bool(slash) and (domain in KARPENTER_DOMAINS or domain.endswith((".karpenter.sh", ".karpenter.k8s.aws")))


def kept_on_node(key: str) -> bool:
    return key in NODE_KEYS or is_karpenter(key) or key.startswith("eks.amazonaws.com/")
