"""Builders of the ClusterRole that the chart grants the controller, and its binding."""

from collections.abc import Iterable, Mapping

from migrations_app.karpenter.tables.rbac_rows import RbacRight, rights_needed
from migrations_app.karpenter.versions import release
from migrations_app.manifests import JsonMap
from migrations_app.samples.kubernetes_objects import doc, meta

RBAC = "rbac.authorization.k8s.io"


def cluster_roles(
    version: str,
    *,
    namespace: str,
    webhooks: bool = True,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> list[JsonMap]:
    """One ClusterRole with what the release needs, bound to the service account karpenter of that namespace."""
    metadata = meta("karpenter-core", labels=dict(labels or {}), annotations=dict(annotations or {}))
    role = doc(
        f"{RBAC}/v1",
        "ClusterRole",
        metadata=metadata,
        rules=_rules(rights_needed(release(version), webhooks=webhooks)),
    )
    binding = doc(
        f"{RBAC}/v1",
        "ClusterRoleBinding",
        metadata=metadata,
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "karpenter-core"},
        subjects=[{"kind": "ServiceAccount", "name": "karpenter", "namespace": namespace}],
    )
    return [role, binding]


def _rules(rights: Iterable[RbacRight]) -> list[JsonMap]:
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), {})[right.verb] = None
    return [
        {"apiGroups": [group], "resources": [name], "verbs": list(verb_names)}
        for (group, name), verb_names in verbs.items()
    ]
