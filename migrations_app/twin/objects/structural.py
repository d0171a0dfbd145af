"""The structural schema of a CustomResourceDefinition: what is pruned and defaulted, and how lists merge.

Source: kubernetes/apiextensions-apiserver@v0.20.2:pkg/apiserver/schema (pruning, defaulting).
"""

import copy
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
Tree = dict[str, Any]

KEEP = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_HEAD = ("apiVersion", "kind", "metadata")


def admitted(document: Tree, schema: Schema | None) -> Tree:
    """The object without unknown fields and with its defaults; the same object if nothing changes."""
    if schema is None:
        return document
    body = {key: value for key, value in document.items() if key not in _HEAD}
    properties = {key: value for key, value in (schema.get("properties") or {}).items() if key not in _HEAD}
    plain = {**schema, "properties": properties}
    found = defaulted(pruned(body, plain), plain)
    return document if found == body else {key: document[key] for key in _HEAD if key in document} | found


def pruned(value: Any, schema: Schema) -> Any:  # noqa: ANN401 - plain JSON
    """The value without fields that the schema does not name."""
    if isinstance(value, list):
        items = schema.get("items")
        return [pruned(one, items) for one in value] if isinstance(items, Mapping) else value
    if not isinstance(value, Mapping):
        return value
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    keep = bool(schema.get(KEEP)) or more is True
    found: Tree = {}
    for key, held in value.items():
        if key in properties:
            found[key] = pruned(held, properties[key])
        elif isinstance(more, Mapping):
            found[key] = pruned(held, more)
        elif keep or (schema.get(EMBEDDED) and key in _HEAD):
            found[key] = held
    return found


def defaulted(value: Any, schema: Schema) -> Any:  # noqa: ANN401 - plain JSON
    """The value with the defaults of absent fields; null where it is not allowed counts as absent."""
    if isinstance(value, list):
        items = schema.get("items")
        return [defaulted(one, items) for one in value] if isinstance(items, Mapping) else value
    if not isinstance(value, Mapping):
        return value
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    found: Tree = {}
    for key, held in value.items():
        inner = properties.get(key, more)
        if not isinstance(inner, Mapping):
            found[key] = held
        elif held is not None or inner.get("nullable") or key not in properties:
            found[key] = defaulted(held, inner)
    for key, inner in properties.items():
        if key not in found and "default" in inner:
            found[key] = defaulted(copy.deepcopy(inner["default"]), inner)
    return found
