"""The catalogue of loss codes: code -> severity, why it matters, where that is known from.

The same code means the same thing on the terminal, in the API and on the page. Codes are never reused.
P = aws/karpenter-provider-aws, K = kubernetes-sigs/karpenter.
"""

from typing import Final, Literal, NamedTuple


class Code(NamedTuple):
    severity: Literal["error", "action", "warn", "info"]
    why: str
    source: str


_CONVERT = "P@v0.32.10:tools/karpenter-convert/pkg/convert/convert.go"
_POOL_CRD = "P@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml"
_CLASS_CRD = "P@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"
_BETA_POOL_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.sh_nodepools.yaml"
_BETA_CLASS_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"
_ALPHA_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.sh_provisioners.yaml"
_PROVIDER = "P@v0.32.10:pkg/apis/v1alpha1/provider.go"
_SELECTORS = "P@v0.32.10:pkg/utils/nodeclass/nodeclass.go"
_POOL_HOOK = "K@v1.0.8:pkg/apis/v1/nodepool_conversion.go"
_CLASS_HOOK = "P@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go"
_BETA_GUIDE = "P@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md"
_V1_GUIDE = "P@v1.3.0:website/content/en/v1.0/upgrading/v1-migration.md"
_KUBECTL = "kubernetes/kubectl: decoding of manifests"
_OWN = "karpdash: own rule"

CATALOGUE: Final[dict[str, Code]] = {
    # error: the object is not converted
    "launch-template-unsupported": Code(
        "error", "From v1beta1 on Karpenter builds every launch template itself and accepts none.", _CONVERT
    ),
    "ubuntu-needs-ami-terms": Code(
        "error", "v1 has neither an Ubuntu family nor an Ubuntu alias, so images must be named.", _CLASS_HOOK
    ),
    "custom-needs-ami-terms": Code("error", "A Custom image family knows no images of its own.", _BETA_CLASS_CRD),
    "ami-family-missing": Code(
        "error", "v1beta1 requires amiFamily; without it the images are unknown.", _BETA_CLASS_CRD
    ),
    "no-provider": Code("error", "A NodePool needs a node class, and this object names none.", _BETA_POOL_CRD),
    "no-nodeclass-ref": Code("error", "v1 requires the node class by group, kind and name.", _POOL_CRD),
    "provider-unknown-field": Code(
        "error", "The inline provider is decoded strictly; this field never took effect.", _PROVIDER
    ),
    "bad-quantity": Code(
        "error",
        "This is no Kubernetes quantity, so its meaning is unknown.",
        "kubernetes/apimachinery:pkg/api/resource/quantity.go",
    ),
    "bad-duration": Code("error", "This is no duration that Karpenter accepts.", _BETA_POOL_CRD),
    "bad-type": Code(
        "error", "The API server would refuse this value; guessing another could change what runs.", _ALPHA_CRD
    ),
    "name-missing": Code("error", "An object without metadata.name cannot be applied or referred to.", _KUBECTL),
    "consolidate-after-missing": Code(
        "error", "WhenEmpty means nothing without the time to wait; v1beta1 refuses it.", _BETA_POOL_CRD
    ),
    "duplicate-key": Code("error", "One of the two values was meant, and nobody but the author knows which.", _OWN),
    "duplicate-object": Code(
        "error", "Both would be applied under one name, and the later would overwrite the earlier.", _OWN
    ),
    "not-yaml": Code("error", "The text cannot be read as YAML or JSON.", _OWN),
    "file-unreadable": Code("error", "The file cannot be opened or decoded.", _OWN),
    "too-large": Code("error", "Input this large is refused before it is read.", _OWN),
    "no-way-back": Code(
        "error", "Going back to v1beta1 is what Karpenter's own webhook does during a rollback.", _POOL_HOOK
    ),
    "nothing-to-convert": Code(
        "error", "The input holds no Karpenter object of a generation that can be converted.", _CONVERT
    ),
    # action: converted, a person decides before it is applied
    "node-role-placeholder": Code(
        "action",
        "v1beta1 needs the name of the node role; the old object names an instance profile at most.",
        _BETA_GUIDE,
    ),
    "role-is-arn": Code("action", "The field takes the name of a role, not its ARN.", "P#9028"),
    "kubelet-nodeclass-missing": Code(
        "action", "In v1 kubelet settings live in the node class, and that is not in the input.", _V1_GUIDE
    ),
    "too-many-terms": Code("action", "The API server accepts only so many entries here.", _BETA_CLASS_CRD),
    "selector-missing": Code(
        "action", "Subnets and security groups must be selected by at least one term.", _BETA_CLASS_CRD
    ),
    "volume-size-format": Code(
        "action", "The API server accepts whole Gi, G, Ti or T within the limits of EBS.", _CLASS_CRD
    ),
    "ebs-size-missing": Code("action", "A volume needs a size or a snapshot.", _BETA_CLASS_CRD),
    "kubelet-invalid": Code("action", "The API server refuses this combination of kubelet settings.", _BETA_POOL_CRD),
    "same-name-result": Code(
        "action", "Two results share kind and name; applying both lets one overwrite the other.", _OWN
    ),
    # warn: behaviour may change
    "consolidation-was-off": Code(
        "warn", "v1beta1 consolidates by default; it stays off only because that is written out.", _BETA_POOL_CRD
    ),
    "consolidation-and-ttl": Code(
        "warn", "The old API forbids both; consolidation wins and also removes empty nodes.", _BETA_GUIDE
    ),
    "consolidate-after-odd": Code(
        "warn", "v1beta1 forbids this pair, v1 allows it, so now it takes effect.", _POOL_HOOK
    ),
    "provider-and-ref": Code("warn", "Only one of the two can be used, and the inline provider wins.", _CONVERT),
    "provider-ref-foreign": Code("warn", "The reference names a kind that this tool does not convert.", _CONVERT),
    "template-resources-dropped": Code("warn", "v1 has no resources in the template of a NodePool.", _POOL_CRD),
    "selector-empty-value": Code(
        "warn", "An empty value was a wildcard in old releases and is refused now.", _PROVIDER
    ),
    "selector-id-exclusive": Code("warn", "An id excludes every other filter of its term.", _BETA_CLASS_CRD),
    "comma-in-tag-value": Code(
        "warn",
        "From 0.33 on a comma in a tag value is taken literally.",
        "P@v0.33.0:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    "ami-tag-requirements-lost": Code(
        "warn", "Tags on images no longer limit where an image is used; only its architecture does.", _BETA_GUIDE
    ),
    "metadata-options-completed": Code("warn", "The new API fills gaps with other values than EC2 did.", _PROVIDER),
    "imds-ipv6": Code(
        "warn",
        "On IPv6 clusters the old default kept the IPv6 metadata endpoint on.",
        "P@v0.32.10:pkg/providers/launchtemplate",
    ),
    "container-runtime-dropped": Code(
        "warn", "The new API has no containerRuntime; nodes run containerd.", _BETA_GUIDE
    ),
    "restricted-key-dropped": Code(
        "warn", "The new API refuses this key, and without it other nodes may be launched.", _BETA_POOL_CRD
    ),
    "restricted-tag-dropped": Code(
        "warn", "Karpenter sets this tag itself and refuses it from users.", _BETA_CLASS_CRD
    ),
    "label-pins-default": Code(
        "warn",
        "Adding the default beside this label would leave no instance to launch.",
        "P@v0.32.10:pkg/apis/v1alpha5/provisioner.go",
    ),
    "nodeclass-name-clash": Code("warn", "Two node classes of one name would overwrite each other.", _OWN),
    "nodeclass-split": Code("warn", "Nodes of a pool whose class name changes drift and are replaced.", _V1_GUIDE),
    "nodeclass-other-users": Code(
        "warn", "NodePools outside the input would get these kubelet settings too.", _V1_GUIDE
    ),
    "expire-forceful": Code(
        "warn", "v1 drains an expired node at once: no replacement first, no budget, no do-not-disrupt.", _V1_GUIDE
    ),
    "expire-implicit": Code("warn", "720h is the API's default, not something the author wrote.", _BETA_POOL_CRD),
    "ami-alias-latest": Code("warn", "Nodes roll whenever AWS publishes an image; v1 can pin a version.", _CLASS_HOOK),
    "al2-end": Code(
        "warn",
        "No AL2 images are published for Kubernetes 1.33 and later.",
        "P@v1.14.1:website/content/en/docs/concepts/nodeclasses.md",
    ),
    "al2023-gpu": Code(
        "warn", "The AL2023 alias picks no accelerated image; such pools need explicit terms.", _V1_GUIDE
    ),
    "al2023-userdata": Code("warn", "In v1 Karpenter's own NodeConfig wins over fields of the user's.", _V1_GUIDE),
    "ubuntu-as-al2": Code("warn", "The user data formats agree today and may part ways.", _CLASS_HOOK),
    "unregistered-taint": Code(
        "warn", "v1 expects the kubelet to register with karpenter.sh/unregistered:NoExecute.", _V1_GUIDE
    ),
    "gitops-marker": Code("warn", "The owner named by this marker would revert or prune the object.", "P#6867"),
    "unknown-field": Code(
        "warn", "The API does not know this field, so it had no effect and is not carried over.", _ALPHA_CRD
    ),
    "consolidation-never-lost": Code(
        "warn", "The webhook turned Never into 0s and so switched consolidation on.", _POOL_HOOK
    ),
    # info: worth knowing
    "container-runtime-default": Code(
        "info", "The new API has no containerRuntime; nodes run containerd as before.", _BETA_GUIDE
    ),
    "default-requirements-added": Code(
        "info",
        "The alpha webhook added these; nothing adds them in v1beta1.",
        "P@v0.32.10:pkg/apis/v1alpha5/provisioner.go",
    ),
    "provider-ref-rewritten": Code("info", "A NodePool must refer to an EC2NodeClass.", _CONVERT),
    "metadata-stripped": Code(
        "info", "These belong to the stored object or to controllers, not to a manifest.", _KUBECTL
    ),
    "later-defaults": Code(
        "info",
        "Releases after 0.32 do more to a NodePool than a Provisioner ever saw.",
        "P@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md",
    ),
    "metadata-options-explicit": Code(
        "info", "v1 lowers the default hop limit to 1, which cuts pods off from the metadata service.", _CLASS_CRD
    ),
    "kubelet-moved": Code("info", "In v1 kubelet settings belong to the node class.", _V1_GUIDE),
    "deprecated-annotation-replaced": Code("info", "The old key works up to 0.37 and is ignored in v1.", _V1_GUIDE),
    "public-ip-default": Code(
        "info", "Up to 0.37 Karpenter sent false for private subnets; v1 sends nothing.", _V1_GUIDE
    ),
    "machine-not-migrated": Code(
        "info", "The controller keeps Machines until their nodes are replaced.", "K@v0.32.3:pkg/utils/nodeclaim"
    ),
    "nodeclaim-view-only": Code(
        "info", "NodeClaims belong to the controller; never apply one.", "K@v1.0.8:pkg/apis/v1/nodeclaim_conversion.go"
    ),
    "already-v1": Code("info", "There is nothing to do.", _OWN),
    "already-v1beta1": Code("info", "There is nothing to do for this target.", _OWN),
    "skipped-kind": Code("info", "Objects of other kinds are left alone.", _CONVERT),
}
