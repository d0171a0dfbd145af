"""The catalogue of finding codes: for each code its severity, reason and source.

A code means the same on the terminal, in the API and on the page. Codes are never reused. P =
aws/karpenter-provider-aws, K = kubernetes-sigs/karpenter.
"""

from typing import Final, Literal, NamedTuple


class FindingCode(NamedTuple):
    severity: Literal["error", "action", "warn", "info"]
    why: str
    source: str


_CONVERT = "P@v0.32.10:tools/karpenter-convert/pkg/convert/convert.go"
_POOL_CRD = "P@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml"
_CLASS_CRD = "P@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"
_CRDS = "P@v0.32.10 to v1.14.1:pkg/apis/crds"
_BETA_POOL_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.sh_nodepools.yaml"
_BETA_CLASS_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"
_ALPHA_CRD = "P@v0.32.10:pkg/apis/crds/karpenter.sh_provisioners.yaml"
_PROVIDER = "P@v0.32.10:pkg/apis/v1alpha1/provider.go"
_POOL_HOOK = "K@v1.0.8:pkg/apis/v1/nodepool_conversion.go"
_CLASS_HOOK = "P@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go"
_AL2023 = "P@v1.0.14 and v1.4.0:pkg/providers/amifamily/al2023.go"
_BETA_GUIDE = "P@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md"
_V1_GUIDE = "P@v1.3.0:website/content/en/v1.0/upgrading/v1-migration.md"
_KUBECTL = "kubernetes/kubectl: decoding of manifests"
_VALUES = "P@v0.28.0 to v1.14.1:charts/karpenter/values.yaml"
_HELM = "helm/helm:pkg/chartutil/coalesce.go"
_OWN = "karpdash: own rule"

CATALOGUE: Final[dict[str, FindingCode]] = {
    # error: the object is not converted
    "launch-template-unsupported": FindingCode(
        "error", "From v1beta1 on Karpenter builds every launch template itself and accepts none.", _CONVERT
    ),
    "ubuntu-needs-ami-terms": FindingCode(
        "error", "v1 has neither an Ubuntu family nor an Ubuntu alias, so images must be named.", _CLASS_HOOK
    ),
    "custom-needs-ami-terms": FindingCode(
        "error", "A Custom image family knows no images of its own.", _BETA_CLASS_CRD
    ),
    "ami-family-missing": FindingCode(
        "error", "v1beta1 requires amiFamily; without it the images are unknown.", _BETA_CLASS_CRD
    ),
    "no-provider": FindingCode("error", "A NodePool needs a node class, and this object names none.", _BETA_POOL_CRD),
    "no-nodeclass-ref": FindingCode("error", "v1 requires the node class by group, kind and name.", _POOL_CRD),
    "provider-unknown-field": FindingCode(
        "error", "The inline provider is decoded strictly; this field never took effect.", _PROVIDER
    ),
    "bad-quantity": FindingCode(
        "error",
        "This is no Kubernetes quantity, so its meaning is unknown.",
        "kubernetes/apimachinery:pkg/api/resource/quantity.go",
    ),
    "bad-duration": FindingCode("error", "This is no duration that Karpenter accepts.", _BETA_POOL_CRD),
    "bad-type": FindingCode(
        "error", "The API server would refuse this value; guessing another could change what runs.", _ALPHA_CRD
    ),
    "name-missing": FindingCode("error", "An object without metadata.name cannot be applied or referred to.", _KUBECTL),
    "consolidate-after-missing": FindingCode(
        "error", "WhenEmpty means nothing without the time to wait; v1beta1 refuses it.", _BETA_POOL_CRD
    ),
    "duplicate-key": FindingCode(
        "error", "One of the two values was meant, and nobody but the author knows which.", _OWN
    ),
    "duplicate-object": FindingCode(
        "error", "Both would be applied under one name, and the later would overwrite the earlier.", _OWN
    ),
    "not-yaml": FindingCode("error", "The text cannot be read as YAML or JSON.", _OWN),
    "file-unreadable": FindingCode("error", "The file cannot be opened or decoded.", _OWN),
    "too-large": FindingCode("error", "Input this large is refused before it is read.", _OWN),
    "values-no-map": FindingCode("error", "Values of a chart are one map of keys.", _HELM),
    "values-template": FindingCode(
        "error", "A template is no values file before it is rendered, and what it becomes is not known here.", _OWN
    ),
    "values-not-read": FindingCode(
        "error", "The strict reader takes one document without anchors, aliases, tags and repeated keys.", _OWN
    ),
    "values-secret": FindingCode(
        "error", "What is printed ends in logs and scroll-back; a file of its own does not.", _OWN
    ),
    "no-way-back": FindingCode(
        "error", "Going back to v1beta1 is what Karpenter's own webhook does during a rollback.", _POOL_HOOK
    ),
    "nothing-to-convert": FindingCode(
        "error", "The input holds no Karpenter object of a generation that can be converted.", _CONVERT
    ),
    "unknown-api-version": FindingCode(
        "error", "No known release serves the kind in this version, so nobody knows what its fields mean.", _CRDS
    ),
    # action: converted, but a decision is required before it is applied
    "values-lost": FindingCode(
        "action", "The chart says nothing of a value it does not read, and nothing takes over what it did.", _VALUES
    ),
    "values-cluster-name": FindingCode(
        "action", "From 0.33 on the controller ends where it is not told the name of its cluster.", _VALUES
    ),
    "node-role-placeholder": FindingCode(
        "action",
        "v1beta1 needs the name of the node role; the old object names an instance profile at most.",
        _BETA_GUIDE,
    ),
    "role-is-arn": FindingCode("action", "The field takes the name of a role, not its ARN.", "P#9028"),
    "kubelet-nodeclass-missing": FindingCode(
        "action", "In v1 kubelet settings live in the node class, and that is not in the input.", _V1_GUIDE
    ),
    "too-many-terms": FindingCode("action", "The API server accepts only so many entries here.", _BETA_CLASS_CRD),
    "selector-missing": FindingCode(
        "action", "Subnets and security groups must be selected by at least one term.", _BETA_CLASS_CRD
    ),
    "selector-term-empty": FindingCode(
        "action", "A term that names no filter selects nothing by itself; the API server refuses it.", _BETA_CLASS_CRD
    ),
    "api-refuses": FindingCode(
        "action", "The API server refuses the object as it is printed; only its author knows what was meant.", _CRDS
    ),
    "older-field": FindingCode(
        "action",
        "No release of v1 has this field: the API server refuses it, or drops it where fields are not validated.",
        "P@v1.0.0 to v1.14.1:pkg/apis/crds",
    ),
    "volume-size-format": FindingCode(
        "action", "The API server accepts whole Gi, G, Ti or T within the limits of EBS.", _CLASS_CRD
    ),
    "ebs-size-missing": FindingCode("action", "A volume needs a size or a snapshot.", _BETA_CLASS_CRD),
    "kubelet-invalid": FindingCode(
        "action", "The API server refuses this combination of kubelet settings.", _BETA_POOL_CRD
    ),
    "same-name-result": FindingCode(
        "action", "Two results share kind and name; applying both lets one overwrite the other.", _OWN
    ),
    # warn: behaviour may change
    "consolidation-was-off": FindingCode(
        "warn", "v1beta1 consolidates by default; it stays off only because that is written out.", _BETA_POOL_CRD
    ),
    "consolidation-and-ttl": FindingCode(
        "warn", "The old API forbids both; consolidation wins and also removes empty nodes.", _BETA_GUIDE
    ),
    "consolidate-after-odd": FindingCode(
        "warn", "v1beta1 forbids this pair, v1 allows it, so now it takes effect.", _POOL_HOOK
    ),
    "provider-and-ref": FindingCode("warn", "Only one of the two can be used, and the inline provider wins.", _CONVERT),
    "provider-ref-foreign": FindingCode(
        "warn", "The reference names a kind that this tool does not convert.", _CONVERT
    ),
    "template-resources-dropped": FindingCode("warn", "v1 has no resources in the template of a NodePool.", _POOL_CRD),
    "selector-empty-value": FindingCode(
        "warn", "An empty value was a wildcard in old releases and is refused now.", _PROVIDER
    ),
    "selector-id-exclusive": FindingCode("warn", "An id excludes every other filter of its term.", _BETA_CLASS_CRD),
    "comma-in-tag-value": FindingCode(
        "warn",
        "From 0.33 on a comma in a tag value is taken literally.",
        "P@v0.33.0:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
    "ami-tag-requirements-lost": FindingCode(
        "warn",
        "Tags on images no longer limit where an image is used; only its architecture does.",
        "P@v0.32.10:pkg/providers/amifamily/ami.go",
    ),
    "metadata-options-completed": FindingCode(
        "warn", "The new API fills gaps with other values than EC2 did.", _PROVIDER
    ),
    "imds-ipv6": FindingCode(
        "warn",
        "On IPv6 clusters the old default kept the IPv6 metadata endpoint on.",
        "P@v0.32.10:pkg/providers/launchtemplate",
    ),
    "container-runtime-dropped": FindingCode(
        "warn", "The new API has no containerRuntime; nodes run containerd.", _BETA_GUIDE
    ),
    "restricted-key-dropped": FindingCode(
        "warn", "The new API refuses this key, and without it other nodes may be launched.", _BETA_POOL_CRD
    ),
    "restricted-tag-dropped": FindingCode(
        "warn", "Karpenter sets this tag itself and refuses it from users.", _BETA_CLASS_CRD
    ),
    "label-pins-default": FindingCode(
        "warn",
        "Adding the default beside this label would leave no instance to launch.",
        "P@v0.32.10:pkg/apis/v1alpha5/provisioner.go",
    ),
    "node-protection-widened": FindingCode(
        "warn",
        "do-not-consolidate has no successor of its own: do-not-disrupt holds off every voluntary disruption.",
        "K@v1.0.8:designs/v1-api.md",
    ),
    "nodeclass-name-clash": FindingCode("warn", "Two node classes of one name would overwrite each other.", _OWN),
    "nodeclass-split": FindingCode(
        "warn", "Nodes of a pool whose class name changes drift and are replaced.", _V1_GUIDE
    ),
    "nodeclass-other-users": FindingCode(
        "warn", "NodePools outside the input would get these kubelet settings too.", _V1_GUIDE
    ),
    "expire-forceful": FindingCode(
        "warn", "v1 drains an expired node at once: no replacement first, no budget, no do-not-disrupt.", _V1_GUIDE
    ),
    "expire-implicit": FindingCode(
        "warn", "720h is the API's default, not something the author wrote.", _BETA_POOL_CRD
    ),
    "ami-alias-latest": FindingCode(
        "warn", "Nodes roll whenever AWS publishes an image; v1 can pin a version.", _CLASS_HOOK
    ),
    "al2-end": FindingCode(
        "warn",
        "No AL2 images are published for Kubernetes 1.33 and later.",
        "P@v1.14.1:website/content/en/docs/concepts/nodeclasses.md",
    ),
    "al2023-gpu": FindingCode(
        "warn",
        "From 1.0 on the AL2023 alias picks the NVIDIA or Neuron image for accelerators; 1.0.0 to 1.0.2 swap the two.",
        _AL2023,
    ),
    "al2023-gpu-no-image": FindingCode(
        "warn",
        "The AL2023 alias has images for NVIDIA and Neuron on x86_64, from 1.4 on for NVIDIA on arm64, and no others.",
        _AL2023,
    ),
    "al2023-userdata": FindingCode(
        "warn", "In v1 Karpenter's own NodeConfig wins over fields of the user's.", _V1_GUIDE
    ),
    "ubuntu-as-al2": FindingCode("warn", "The user data formats agree today and may part ways.", _CLASS_HOOK),
    "unregistered-taint": FindingCode(
        "warn", "v1 expects the kubelet to register with karpenter.sh/unregistered:NoExecute.", _V1_GUIDE
    ),
    "gitops-marker": FindingCode("warn", "The owner named by this marker would revert or prune the object.", "P#6867"),
    "unknown-field": FindingCode(
        "warn", "The API does not know this field, so it had no effect and is not carried over.", _ALPHA_CRD
    ),
    "consolidation-never-lost": FindingCode(
        "warn", "The webhook turned Never into 0s and so switched consolidation on.", _POOL_HOOK
    ),
    "values-default-changed": FindingCode(
        "warn", "Whoever does not give the value gets another one with the new chart.", _VALUES
    ),
    "values-unknown": FindingCode("warn", "No known chart ever read a value of that name.", _VALUES),
    "values-comments-lost": FindingCode(
        "warn", "Values that are merged, or written in braces, are written anew without their comments.", _OWN
    ),
    # info: worth knowing
    "values-moved": FindingCode("info", "The chart reads the same value by another name.", _VALUES),
    "values-left-out": FindingCode("info", "The chart does not read it any more, and nothing is lost.", _VALUES),
    "values-name-override": FindingCode(
        "info", "The conversion webhook is called by the name of the controller's Service.", _VALUES
    ),
    "container-runtime-default": FindingCode(
        "info", "The new API has no containerRuntime; nodes run containerd as before.", _BETA_GUIDE
    ),
    "default-requirements-added": FindingCode(
        "info",
        "The alpha webhook added these; nothing adds them in v1beta1.",
        "P@v0.32.10:pkg/apis/v1alpha5/provisioner.go",
    ),
    "provider-ref-rewritten": FindingCode("info", "A NodePool must refer to an EC2NodeClass.", _CONVERT),
    "metadata-stripped": FindingCode(
        "info", "These belong to the stored object or to controllers, not to a manifest.", _KUBECTL
    ),
    "later-defaults": FindingCode(
        "info",
        "Releases after 0.32 do more to a NodePool than a Provisioner ever saw.",
        "P@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md",
    ),
    "metadata-options-explicit": FindingCode(
        "info", "v1 lowers the default hop limit to 1, which cuts pods off from the metadata service.", _CLASS_CRD
    ),
    "kubelet-moved": FindingCode("info", "In v1 kubelet settings belong to the node class.", _V1_GUIDE),
    "deprecated-annotation-replaced": FindingCode(
        "info", "Old keys count up to 0.37 and are ignored in v1; do-not-evict never counted on nodes.", _V1_GUIDE
    ),
    "public-ip-default": FindingCode(
        "info", "Up to 0.37 Karpenter sent false for private subnets; v1 sends nothing.", _V1_GUIDE
    ),
    "machine-not-migrated": FindingCode(
        "info", "The controller keeps Machines until their nodes are replaced.", "K@v0.32.3:pkg/utils/nodeclaim"
    ),
    "nodeclaim-view-only": FindingCode(
        "info", "NodeClaims belong to the controller; never apply one.", "K@v1.0.8:pkg/apis/v1/nodeclaim_conversion.go"
    ),
    "already-v1": FindingCode("info", "There is nothing to do.", _OWN),
    "already-v1beta1": FindingCode("info", "There is nothing to do for this target.", _OWN),
    "skipped-kind": FindingCode("info", "Objects of other kinds are left alone.", _CONVERT),
}
