"""Prunes and defaults objects by the structural schema of their CustomResourceDefinition.

Source: kubernetes/apiextensions-apiserver@v0.20.2:pkg/apiserver/schema (pruning, defaulting).
"""

import copy
from collections.abc import Mapping
from typing import Any

from migrations_app.manifests import JsonMap

Schema = Mapping[str, Any]

KEEP = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_HEAD = ("apiVersion", "kind", "metadata")


def admitted(document: JsonMap, schema: Schema | None) -> JsonMap:
    """Returns the object without unknown fields and with its defaults; the same object if nothing changes."""
    if schema is None:
        return document
    body = {key: value for key, value in document.items() if key not in _HEAD}
    properties = {key: value for key, value in (schema.get("properties") or {}).items() if key not in _HEAD}
    plain = {**schema, "properties": properties}
    admitted_body = defaulted(pruned(body, plain), plain)
    return (
        document if admitted_body == body else {key: document[key] for key in _HEAD if key in document} | admitted_body
    )


def pruned(value: Any, schema: Schema) -> Any:  # noqa: ANN401 - plain JSON
    """Returns the value without fields that the schema does not have."""
    if isinstance(value, list):
        items = schema.get("items")
        return [pruned(item, items) for item in value] if isinstance(items, Mapping) else value
    if not isinstance(value, Mapping):
        return value
    properties, other_fields = schema.get("properties") or {}, schema.get("additionalProperties")
    keep = bool(schema.get(KEEP)) or other_fields is True
    known_fields: JsonMap = {}
    for key, member in value.items():
        if key in properties:
            known_fields[key] = pruned(member, properties[key])
        elif isinstance(other_fields, Mapping):
            known_fields[key] = pruned(member, other_fields)
        elif keep or (schema.get(EMBEDDED) and key in _HEAD):
            known_fields[key] = member
    return known_fields


def defaulted(value: Any, schema: Schema) -> Any:  # noqa: ANN401 - plain JSON
    """Returns the value with defaults for missing fields; a null that is not allowed counts as missing."""
    if isinstance(value, list):
        items = schema.get("items")
        return [defaulted(item, items) for item in value] if isinstance(items, Mapping) else value
    if not isinstance(value, Mapping):
        return value
    properties, other_fields = schema.get("properties") or {}, schema.get("additionalProperties")
    filled: JsonMap = {}
    for key, member in value.items():
        inner = properties.get(key, other_fields)
        if not isinstance(inner, Mapping):
            filled[key] = member
        elif member is not None or inner.get("nullable") or key not in properties:
            filled[key] = defaulted(member, inner)
    for key, inner in properties.items():
        if key not in filled and "default" in inner:
            filled[key] = defaulted(copy.deepcopy(inner["default"]), inner)
    return filled
