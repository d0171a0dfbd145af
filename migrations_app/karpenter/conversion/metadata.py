"""The metadata of a manifest: what stays, and what belonged to the stored object or to controllers."""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion.losses import Notes
from migrations_app.karpenter.conversion.shapes import shown, text, text_map, wrong

_KEPT: Final = ("name", "labels", "annotations")
# All kinds are cluster-scoped, yet public manifests do carry a namespace.
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
    """metadata.name, or "" when there is none that can be shown."""
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def annotations_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The annotations of the object, empty when there are none."""
    metadata = body.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _checked(body: Mapping[str, Any], notes: Notes) -> Mapping[str, Any]:
    metadata = body.get("metadata")
    if metadata is None:
        notes.add("name-missing", ("metadata", "name"), what="metadata.name is missing")
        return {}
    if not isinstance(metadata, Mapping):
        wrong(metadata, ("metadata",), notes=notes, wanted="a map")
        return {}
    if metadata.get("name") in (None, ""):
        notes.add("name-missing", ("metadata", "name"), what="metadata.name is missing")
    else:
        text(metadata["name"], ("metadata", "name"), notes=notes)
    return metadata


def _is_ours(key: str) -> bool:
    return key in CONTROLLER_ANNOTATIONS or key.startswith(_COMPATIBILITY)


def cleaned(body: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Name, labels and annotations of the object, cleaned; one note lists what went."""
    metadata = _checked(body, notes)
    result: dict[str, Any] = {"name": metadata.get("name")}
    gone = [key for key in metadata if key in _SERVER_SIDE]
    for key in ("labels", "annotations"):
        if metadata.get(key) is not None:
            found = text_map(metadata[key], ("metadata", key), notes=notes) or {}
            if key == "annotations":
                gone += [f"annotation {name}" for name in found if _is_ours(name)]
                found = {name: value for name, value in found.items() if not _is_ours(name)}
            if found:
                result[key] = found
    for key in metadata:
        if key not in _SERVER_SIDE and key not in _KEPT:
            notes.add(
                "unknown-field", ("metadata", key), what=f"{key} is left out; its value was {shown(metadata[key])}"
            )
    if body.get("status"):
        gone.append("status")
    if gone:
        notes.add("metadata-stripped", ("metadata",), what=f"left out: {', '.join(gone)}")
    return result


def _is_marker(key: str, value: str) -> bool:
    return key.startswith(_MARKERS) or (key == _MANAGED_BY and value == "Helm")


def without_markers(metadata: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The metadata of a live alpha object without the marks of its owner: the new object must not be pruned by it."""
    result = dict(metadata)
    for part in ("labels", "annotations"):
        found: dict[str, str] = result.get(part) or {}
        for key in [key for key, value in found.items() if _is_marker(key, value)]:
            notes.add(
                "gitops-marker", ("metadata", part, key), what=f"{key}={found[key]} is left out of the new object"
            )
        kept = {key: value for key, value in found.items() if not _is_marker(key, value)}
        result.pop(part, None)
        if kept:
            result[part] = kept
    return result


def warn_of_markers(metadata: Mapping[str, Any], notes: Notes) -> None:
    """Notes that the repository behind a live object must change too, else its tool reverts the object."""
    for part in ("labels", "annotations"):
        found: dict[str, str] = metadata.get(part) or {}
        for key, value in found.items():
            if _is_marker(key, value):
                notes.add(
                    "gitops-marker", ("metadata", part, key), what=f"{key}={value}: change the source repository too"
                )
