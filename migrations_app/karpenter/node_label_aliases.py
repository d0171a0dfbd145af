"""Labels of old Kubernetes and the stable ones that Karpenter takes them for.

Source: kubernetes-sigs/karpenter@v0.37.7:pkg/apis/v1beta1/labels.go, NormalizedLabels.
"""

ALIASES: dict[str, str] = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
