"""Base types of every projection: metadata, owners, conditions.

Field names follow the API in snake case. Absent and null read as None or the default; a wrong type raises
msgspec.ValidationError with the field's path, and the object becomes an UnparsableObject.
"""

from typing import Any

import msgspec

from migrations_app.manifests import JsonMap

Strings = dict[str, str]


class Projection(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Ignores unknown fields by design, because newer servers add fields."""


class OwnerReference(Projection, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ManagedField(Projection, frozen=True):
    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None


class Metadata(Projection, frozen=True):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Strings | None = None
    annotations: Strings | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[ManagedField] | None = None

    def label(self, key: str) -> str | None:
        return (self.labels or {}).get(key)

    def annotation(self, key: str) -> str | None:
        return (self.annotations or {}).get(key)

    def owner(self, *kinds: str) -> OwnerReference | None:
        return next((ref for ref in self.owner_references or () if ref.kind in kinds), None)

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None


class NamedObject(Projection, frozen=True):
    """An object with metadata. `kind` and `api_version` may be empty in typed lists; `Seen.served` then has the
    version.
    """

    kind: str = ""
    api_version: str = ""
    metadata: Metadata = Metadata()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or ""


class WholeObject(NamedObject, frozen=True):
    """A small object kept completely: pools, classes, templates, GitOps objects. `spec` and `status` are plain JSON."""

    spec: JsonMap | None = None
    status: JsonMap | None = None

    def get(self, path: str, default: Any = None) -> Any:  # noqa: ANN401 - the tree is the API's own JSON
        """The value at a dotted path below the object, such as `spec.template.spec.nodeClassRef.name`."""
        node: Any = {"spec": self.spec, "status": self.status}
        for step in path.split("."):
            if not isinstance(node, dict) or step not in node or node[step] is None:
                return default
            node = node[step]
        return node


class NodeCapacity(Projection, frozen=True):
    """Quantities of the whole machine; numbers and strings are both accepted."""

    cpu: str | int | float | None = None
    pods: str | int | float | None = None


class StatusCondition(Projection, frozen=True):
    type: str = ""
    status: str = ""
    reason: str | None = None
