"""The types of the fields that the twin reads; as on a real server, a document with other types is not decoded."""

from collections.abc import Mapping
from typing import Any

import msgspec

from migrations_app.twin.objects.kinds import CRD, Place

Strings = dict[str, str]


class _WireType(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Fields that are not declared may have any type."""


class _Object(_WireType, frozen=True):
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


class _OwnerType(_WireType, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _MetadataType(_WireType, frozen=True):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Strings | None = None
    annotations: Strings | None = None
    finalizers: list[str] | None = None
    owner_references: list[_OwnerType] | None = None
    managed_fields: list[dict[str, Any]] | None = None


class _Resources(_WireType, frozen=True):
    requests: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None


class _Container(_WireType, frozen=True):
    name: str = ""
    image: str = ""
    resources: _Resources = _Resources()


class _Toleration(_WireType, frozen=True):
    key: str | None = None
    operator: str | None = None
    effect: str | None = None


class _PodSpecType(_WireType, frozen=True):
    containers: list[_Container] | None = None
    tolerations: list[_Toleration] | None = None
    node_name: str | None = None
    termination_grace_period_seconds: int | None = None


class _Condition(_WireType, frozen=True):
    type: str = ""
    status: str = ""


class _PodStatusType(_WireType, frozen=True):
    phase: str | None = None
    conditions: list[_Condition] | None = None


class _PodType(_WireType, frozen=True):
    spec: _PodSpecType | None = None
    status: _PodStatusType | None = None


class _Taint(_WireType, frozen=True):
    key: str = ""
    effect: str = ""


class _NodeType(_WireType, frozen=True):
    taints: list[_Taint] | None = None
    unschedulable: bool | None = None


class _NodeState(_WireType, frozen=True):
    capacity: dict[str, Any] | None = None


class _Node(_WireType, frozen=True):
    spec: _NodeType | None = None
    status: _NodeState | None = None


class _Expression(_WireType, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class _Selector(_WireType, frozen=True):
    match_labels: Strings | None = None
    match_expressions: list[_Expression] | None = None


class _BudgetSpecType(_WireType, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: _Selector | None = None


class _BudgetStatusType(_WireType, frozen=True):
    observed_generation: int | None = None
    disruptions_allowed: int | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disrupted_pods: Strings | None = None


class _BudgetType(_WireType, frozen=True):
    spec: _BudgetSpecType | None = None
    status: _BudgetStatusType | None = None


class _SchemaType(_WireType, frozen=True):
    type: str = ""
    properties: "dict[str, _SchemaType] | None" = None
    additional_properties: "bool | _SchemaType | None" = None
    items: "_SchemaType | None" = None
    required: list[str] | None = None
    enum: list[Any] | None = None
    nullable: bool = False
    all_of: "list[_SchemaType] | None" = None
    any_of: "list[_SchemaType] | None" = None
    one_of: "list[_SchemaType] | None" = None
    not_: "_SchemaType | None" = msgspec.field(default=None, name="not")
    pattern: str | None = None
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    multiple_of: float | None = None
    min_length: int = 0
    max_length: int | None = None
    min_items: int = 0
    max_items: int | None = None
    min_properties: int = 0
    max_properties: int | None = None
    list_keys: list[str] | None = msgspec.field(default=None, name="x-kubernetes-list-map-keys")


class _SchemaHolder(_WireType, frozen=True):
    schema: _SchemaType | None = msgspec.field(default=None, name="openAPIV3Schema")


class _Version(_WireType, frozen=True):
    name: str = ""
    served: bool = False
    storage: bool = False
    schema: _SchemaHolder | None = None
    subresources: dict[str, Any] | None = None


class _Service(_WireType, frozen=True):
    namespace: str = ""
    name: str = ""


class _ClientConfig(_WireType, frozen=True):
    service: _Service | None = None
    url: str | None = None


class _ConversionHook(_WireType, frozen=True):
    client_config: _ClientConfig | None = None


class _Conversion(_WireType, frozen=True):
    strategy: str = ""
    webhook: _ConversionHook | None = None


class _Names(_WireType, frozen=True):
    plural: str = ""
    kind: str = ""


class _DefinitionSpec(_WireType, frozen=True):
    group: str = ""
    scope: str = ""
    names: _Names | None = None
    versions: list[_Version] | None = None
    conversion: _Conversion | None = None


class _DefinitionStatus(_WireType, frozen=True):
    stored_versions: list[str] | None = None
    conditions: list[_Condition] | None = None


class _Definition(_WireType, frozen=True):
    spec: _DefinitionSpec | None = None
    status: _DefinitionStatus | None = None


class _WebhookRuleType(_WireType, frozen=True):
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    operations: list[str] | None = None
    resources: list[str] | None = None


class _Hook(_WireType, frozen=True):
    name: str = ""
    client_config: _ClientConfig | None = None
    rules: list[_WebhookRuleType] | None = None
    object_selector: _Selector | None = None
    namespace_selector: _Selector | None = None


class _Hooks(_WireType, frozen=True):
    webhooks: list[_Hook] | None = None


class _Preconditions(_WireType, frozen=True):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(_WireType, frozen=True):
    """The options of a deletion."""

    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    dry_run: list[str] | None = None


class EvictionBody(_WireType, frozen=True):
    """The body of an eviction."""

    metadata: _MetadataType | None = None
    delete_options: DeleteOptions | None = None


class BindingBody(_WireType, frozen=True):
    """The body of a binding."""

    target: _OwnerType


_ADMISSION = "admissionregistration.k8s.io"
_WIRE_TYPES: Mapping[Place, type[_WireType]] = {
    ("", "pods"): _PodType,
    ("", "nodes"): _Node,
    ("policy", "poddisruptionbudgets"): _BudgetType,
    CRD.place: _Definition,
    (_ADMISSION, "validatingwebhookconfigurations"): _Hooks,
    (_ADMISSION, "mutatingwebhookconfigurations"): _Hooks,
}


def object_decode_error(document: Mapping[str, Any], place: Place, *, custom: bool = False) -> str:
    """Returns the field of the object whose type the server does not decode; empty if there is none."""
    odd_metadata = decode_error(document.get("metadata") or {}, _MetadataType)
    return odd_metadata or ("" if custom else decode_error(document, _WIRE_TYPES.get(place, _Object)))


def decode_error(document: object, wire_type: type[_WireType]) -> str:
    """As `object_decode_error`, for a document that is no stored object, such as the body of an eviction."""
    try:
        msgspec.convert(document, wire_type)
    except (msgspec.ValidationError, RecursionError) as error:
        return str(error) or "nested too deep"
    return ""
