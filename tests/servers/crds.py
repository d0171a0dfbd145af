"""Small CRDs with Karpenter's real groups, kinds and versions, and a schema that accepts everything.

They are written from the table below, not copied: a scan reads only names, versions and conversion of a CRD.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Document = dict[str, Any]


class Shape(NamedTuple):
    """One CRD: `versions` are served; the first one is stored."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]


_ALPHA = (
    Shape("karpenter.sh", "Provisioner", "provisioners", ("v1alpha5",)),
    Shape("karpenter.sh", "Machine", "machines", ("v1alpha5",)),
    Shape("karpenter.k8s.aws", "AWSNodeTemplate", "awsnodetemplates", ("v1alpha1",)),
)


def _current(*versions: str) -> tuple[Shape, ...]:
    return (
        Shape("karpenter.sh", "NodePool", "nodepools", versions),
        Shape("karpenter.sh", "NodeClaim", "nodeclaims", versions),
        Shape("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses", versions),
    )


SETS: dict[str, tuple[Shape, ...]] = {
    "none": (),
    "alpha": _ALPHA,  # up to 0.31
    "alpha_and_beta": (*_ALPHA, *_current("v1beta1")),  # 0.32
    "beta": _current("v1beta1"),  # 0.33 to 0.37 before the v1 CRDs
    "beta_with_v1": _current("v1beta1", "v1"),  # the last patches of 0.33 to 0.37: both served, beta stored
    "v1_with_beta": _current("v1", "v1beta1"),  # 1.0: both served, v1 stored
    "v1": _current("v1"),  # 1.1 and later
}


def documents(set_name: str, *, conversion_webhook: bool = False) -> list[Document]:
    """Returns the CustomResourceDefinitions of SETS[set_name]; a conversion webhook names a service that does not
    exist.
    """
    return [document(shape, conversion_webhook=conversion_webhook) for shape in SETS[set_name]]


def document(shape: Shape, *, conversion_webhook: bool = False) -> Document:
    """One CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{shape.plural}.{shape.group}"},
        "spec": {
            "group": shape.group,
            "scope": "Cluster",
            "names": {
                "kind": shape.kind,
                "listKind": f"{shape.kind}List",
                "plural": shape.plural,
                "singular": shape.kind.lower(),
                "categories": ["karpenter"],
            },
            "versions": [_version(name, stored=name == shape.versions[0]) for name in shape.versions],
            "conversion": _WEBHOOK if conversion_webhook else {"strategy": "None"},
        },
    }


def without_rules(part: Any) -> Any:
    """Returns the document without CEL rules: server-side apply of a 1.20 server refuses that unknown field."""
    if isinstance(part, dict):
        return {key: without_rules(value) for key, value in part.items() if key != "x-kubernetes-validations"}
    if isinstance(part, list):
        return [without_rules(value) for value in part]
    return part


def groups_and_plurals(definitions: Iterable[Document]) -> list[tuple[str, str, str]]:
    """Returns (group, version, plural) of everything that these CRDs serve."""
    return [
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"])
        for crd in definitions
        for version in crd["spec"]["versions"]
        if version["served"]
    ]


def _version(name: str, *, stored: bool) -> Document:
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }


_WEBHOOK: Document = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1beta1", "v1"],
        "clientConfig": {"service": {"name": "karpenter", "namespace": "kube-system", "port": 8443, "path": "/"}},
    },
}
