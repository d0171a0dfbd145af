"""Drafts of converted objects, and the inputs of a conversion: its options and the names known from the cluster."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.manifests.writer import Plain

CLASS_GROUP: Final = "karpenter.k8s.aws"
CLASS_KIND: Final = "EC2NodeClass"
LONGEST_NAME: Final = 63
"""Of a new node class: from 1.1 on its name is the value of a label, and Kubernetes refuses a longer one."""


class ObjectDraft:
    """A result with what later steps need: its kubelet settings and whether it is for viewing only."""

    def __init__(self, body: dict[str, Any], notes: FindingCollector) -> None:
        self.body = body
        self.notes = notes
        self.kubelet: Mapping[str, Any] | None = None
        self.kubelet_at: FieldPath = ()
        self.view_only = False

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def class_name(self) -> str | None:
        """The EC2NodeClass that this v1 NodePool uses; None if it uses another kind."""
        reference = template_spec(self.body).get("nodeClassRef") or {}
        is_ec2 = reference.get("group") == CLASS_GROUP and reference.get("kind") == CLASS_KIND
        return reference.get("name") if is_ec2 else None

    def use_class(self, name: str) -> None:
        """Points this v1 NodePool at another node class."""
        reference = self.body["spec"]["template"]["spec"]["nodeClassRef"]
        self.body = replaced(self.body, ("spec", "template", "spec", "nodeClassRef"), value={**reference, "name": name})


def template_spec(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """spec.template.spec of a NodePool; empty if a part of the path is missing."""
    spec = body.get("spec") or {}
    inner_spec: Mapping[str, Any] = (spec.get("template") or {}).get("spec") or {}
    return inner_spec


def replaced(body: Plain, path: tuple[str, ...], *, value: Plain) -> dict[str, Any]:
    """A copy of the object with another value at the path; values beside the path are shared."""
    first, *rest = path
    inner = replaced(body.get(first) or {}, tuple(rest), value=value) if rest else value
    return {**body, first: inner}


def free_name(base: str, taken: Collection[str]) -> str:
    """The name, shortened to what a label takes, with the suffix -2, -3 ... if it is taken."""
    name, number = base[:LONGEST_NAME].rstrip("-."), 1
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = f"{base[: LONGEST_NAME - len(suffix)].rstrip('-.')}{suffix}"
    return name


def manifest(api_version: str, kind: str, *, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """A manifest with its keys in the usual order."""
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def filled(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """The pairs without None, empty maps and empty lists."""
    return {key: value for key, value in pairs.items() if value is not None and value not in ({}, [])}


def spec_of(body: Mapping[str, Any]) -> Plain:
    """The spec unchanged; an empty map if there is none."""
    spec = body.get("spec")
    return {} if spec is None else spec


TargetVersion = Literal["v1beta1", "v1"]

PLACEHOLDER: Final = "$KARPENTER_NODE_ROLE"


@dataclass(frozen=True, slots=True)
class Options:
    """`to`: None converts each object to its next generation. `live`: objects of a cluster, to be applied there."""

    to: TargetVersion | None = None
    ignore_defaults: bool = False
    node_role: str | None = None
    keep_instance_profile: bool = False
    live: bool = False


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Facts from a cluster or an account; empty if neither was read."""

    role_of_profile: Mapping[str, str] = field(default_factory=dict)
    default_profile: str | None = None
    ipv6: bool | None = None
    nodes_of_pool: Mapping[str, int] = field(default_factory=dict)
    all_pools_given: bool = False
    never_consolidated: frozenset[str] = frozenset()
    """NodePools whose stored v1beta1 copy has consolidateAfter: Never."""
