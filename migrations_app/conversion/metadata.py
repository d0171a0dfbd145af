"""Metadata of converted objects: which fields are kept, and which keys of labels, annotations, tags and requirements
are refused, renamed or equivalent in each release.

Sources: CEL rules of aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml and
karpenter.k8s.aws_ec2nodeclasses.yaml; kubernetes-sigs/karpenter@v0.32.3:pkg/apis/v1alpha5/labels.go.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.schema import OPERATORS as OLD_OPERATORS
from migrations_app.conversion.schema import shown, text, text_map, wrong
from migrations_app.karpenter import labels
from migrations_app.karpenter.versions import Release, minor_order

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
_NO_CONSOLIDATION: Final = "karpenter.sh/do-not-consolidate"
_NO_EVICTION: Final = "karpenter.sh/do-not-evict"

BETA_MINORS: Final = ("0.32", "0.37")
"""Each tag that some release refuses in v1beta1 is refused by one of these."""
V1_MINORS: Final = ("1.0",)
_RESERVED_TAGS: Final[Mapping[str, tuple[str, str]]] = {
    "karpenter.sh/nodepool": ("", ""),
    "karpenter.sh/provisioner-name": ("", "0.34"),
    "karpenter.sh/managed-by": ("", "0.37"),
    "karpenter.sh/nodeclaim": ("0.35", ""),
    "karpenter.k8s.aws/ec2nodeclass": ("0.35", ""),
    "eks:eks-cluster-name": ("1.0", ""),
}
"""The first and the last minor that refuses the EC2 tag; empty: as far as is known.

aws/karpenter-provider-aws@v0.32.0 to v1.14.1:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml.
"""


def real_key(key: str) -> str:
    """The key that this one is an alias of, or the key itself."""
    return ALIASES.get(key, key)


def is_restricted(key: str) -> bool:
    """True if v1beta1 and v1 refuse this key in the labels and requirements of a NodePool."""
    if key in _ALLOWED:
        return False
    domain = key.partition("/")[0]
    return domain.endswith(_CLOSED) and not domain.endswith(_OPEN)


def open_labels(labels: dict[str, str], path: FieldPath, *, notes: FindingCollector) -> dict[str, str]:
    """The labels without those that the new API refuses; each of these is a finding."""
    for key in labels:
        if is_restricted(key):
            notes.add(
                "restricted-key-dropped", (*path, key), what=f"the label {key}={labels[key]} is refused and left out"
            )
    return {key: value for key, value in labels.items() if not is_restricted(key)}


def current_annotations(annotations: dict[str, str], path: FieldPath, *, notes: FindingCollector) -> dict[str, str]:
    """The template annotations with karpenter.sh/do-not-disrupt instead of do-not-consolidate, and without
    do-not-evict, which counts on pods alone.
    """
    current = {key: value for key, value in annotations.items() if key not in (_NO_CONSOLIDATION, _NO_EVICTION)}
    value = annotations.get(_NO_CONSOLIDATION)
    if value == "true":
        _note_replaced(_NO_CONSOLIDATION, path, what=f"is now {DO_NOT_DISRUPT}", notes=notes)
        if current.get(DO_NOT_DISRUPT) != "true":
            message = (
                f"{_NO_CONSOLIDATION} held off consolidation alone; {DO_NOT_DISRUPT} in its place also holds off drift,"
                " and before v1 expiry, so these nodes keep old images: leave it out where that is not meant"
            )
            notes.add("node-protection-widened", (*path, _NO_CONSOLIDATION), what=message)
        current[DO_NOT_DISRUPT] = "true"
    elif value is not None:
        _note_replaced(_NO_CONSOLIDATION, path, what=f'of "{value}" had no effect and is left out', notes=notes)
    if _NO_EVICTION in annotations:
        _note_replaced(
            _NO_EVICTION, path, what="counts on pods; on nodes it had no effect and is left out", notes=notes
        )
    return current


def _note_replaced(key: str, path: FieldPath, *, what: str, notes: FindingCollector) -> None:
    notes.add("deprecated-annotation-replaced", (*path, key), what=f"{key} {what}")


def is_reserved_tag(key: str, minor: str) -> bool:
    """True if a node class of that minor may not set the EC2 tag, because Karpenter sets it itself."""
    if key not in _RESERVED_TAGS:
        return key.startswith("kubernetes.io/cluster")
    first, last = _RESERVED_TAGS[key]
    at = minor_order(minor)
    return (not first or minor_order(first) <= at) and (not last or at <= minor_order(last))


def is_refused_tag(key: str, minors: Collection[str]) -> bool:
    """True if a node class of one of these minors may not set the EC2 tag."""
    return any(is_reserved_tag(key, minor) for minor in minors)


def open_tags(
    tags: dict[str, str], path: FieldPath, *, notes: FindingCollector, minors: Collection[str]
) -> dict[str, str]:
    """The EC2 tags without those that one of the minors refuses; each of these is a finding, an empty key an error."""
    for key, value in tags.items():
        if not key:
            notes.add("bad-type", path, what="a tag has an empty key")
        elif is_refused_tag(key, minors):
            notes.add("restricted-tag-dropped", (*path, key), what=f"the tag {key}={value} is refused and left out")
    return {key: value for key, value in tags.items() if not is_refused_tag(key, minors)}


_KEPT: Final = ("name", "labels", "annotations")
# All kinds are cluster-scoped, but published manifests sometimes have a namespace.
_SERVER_SIDE: Final = frozenset(
    {
        "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "selfLink", "managedFields", "ownerReferences", "generateName", "namespace", "finalizers",
    }
)  # fmt: skip
CONTROLLER_ANNOTATIONS: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "karpenter.sh/provisioner-hash",
        "karpenter.sh/nodepool-hash",
        "karpenter.sh/nodepool-hash-version",
        "karpenter.k8s.aws/nodetemplate-hash",
        "karpenter.k8s.aws/ec2nodeclass-hash",
        "karpenter.k8s.aws/ec2nodeclass-hash-version",
        "karpenter.sh/stored-version-migrated",
    }
)
_COMPATIBILITY: Final = ("compatibility.karpenter.sh/", "compatibility.karpenter.k8s.aws/")
_MARKERS: Final = (
    "meta.helm.sh/",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/tracking-id",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
)
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"


def name_of(body: Mapping[str, Any]) -> str:
    """metadata.name, or "" if it is missing or not a string."""
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def annotations_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The annotations of the object; empty if there are none."""
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}


def _checked(body: Mapping[str, Any], notes: FindingCollector) -> Mapping[str, Any]:
    metadata = body.get("metadata")
    if metadata is None:
        notes.add("name-missing", ("metadata", "name"), what="metadata.name is missing")
        return {}
    if not isinstance(metadata, Mapping):
        wrong(metadata, ("metadata",), notes=notes, expected="a map")
        return {}
    if metadata.get("name") in (None, ""):
        notes.add("name-missing", ("metadata", "name"), what="metadata.name is missing")
    else:
        text(metadata["name"], ("metadata", "name"), notes=notes)
    return metadata


def _is_ours(key: str) -> bool:
    return key in CONTROLLER_ANNOTATIONS or key.startswith(_COMPATIBILITY)


def cleaned(body: Mapping[str, Any], notes: FindingCollector) -> dict[str, Any]:
    """Name, labels and annotations of the object, cleaned; one finding lists what was removed."""
    metadata = _checked(body, notes)
    result: dict[str, Any] = {"name": metadata.get("name")}
    removed = [key for key in metadata if key in _SERVER_SIDE]
    for key in ("labels", "annotations"):
        if metadata.get(key) is not None:
            texts = text_map(metadata[key], ("metadata", key), notes=notes) or {}
            if key == "annotations":
                removed += [f"annotation {name}" for name in texts if _is_ours(name)]
                texts = {name: value for name, value in texts.items() if not _is_ours(name)}
            if texts:
                result[key] = texts
    for key in metadata:
        if key not in _SERVER_SIDE and key not in _KEPT:
            notes.add(
                "unknown-field", ("metadata", key), what=f"{key} is left out; its value was {shown(metadata[key])}"
            )
    if body.get("status"):
        removed.append("status")
    if removed:
        notes.add("metadata-stripped", ("metadata",), what=f"left out: {', '.join(removed)}")
    return result


def _is_marker(key: str, value: str) -> bool:
    return key.startswith(_MARKERS) or (key == _MANAGED_BY and value == "Helm")


def without_markers(metadata: dict[str, Any], notes: FindingCollector) -> dict[str, Any]:
    """The metadata of a live alpha object without the owner's marks, so that its tool does not prune the new object."""
    result = dict(metadata)
    for part in ("labels", "annotations"):
        texts: dict[str, str] = result.get(part) or {}
        for key in [key for key, value in texts.items() if _is_marker(key, value)]:
            notes.add(
                "gitops-marker", ("metadata", part, key), what=f"{key}={texts[key]} is left out of the new object"
            )
        remaining = {key: value for key, value in texts.items() if not _is_marker(key, value)}
        result.pop(part, None)
        if remaining:
            result[part] = remaining
    return result


def warn_of_markers(metadata: Mapping[str, Any], notes: FindingCollector) -> None:
    """Adds a finding that the source repository of a live object must change too, or its tool reverts the object."""
    for part in ("labels", "annotations"):
        texts: dict[str, str] = metadata.get(part) or {}
        for key, value in texts.items():
            if _is_marker(key, value):
                notes.add(
                    "gitops-marker", ("metadata", part, key), what=f"{key}={value}: change the source repository too"
                )


OPERATORS: Final = (*OLD_OPERATORS, "Gte", "Lte")
"""The last two are accepted from 1.9 on. aws/karpenter-provider-aws@v1.9.0:pkg/apis/crds."""
_ASKED_OF_NODES: Final = "requirements"


def accepted(key: str, target_release: Release) -> bool:
    """Whether that release accepts the key in a NodePool; newer releases accept more keys than v1beta1."""
    if labels.retired(key, target_release, kind="label"):
        return False
    return not is_restricted(key) or _opened(key, target_release)


def _opened(key: str, target_release: Release) -> bool:
    """Whether a release up to that one accepts the key; releases newer than the tables keep accepting it."""
    row = labels.find(key, kind="label")
    if row is None or _ASKED_OF_NODES not in row.objects:
        return False
    return not row.first_seen or any(
        minor_order(_minor(first)) <= minor_order(target_release.minor) for first in row.first_seen
    )


def _minor(first: str) -> str:
    return ".".join(first.split(".")[:2])
