"""How the lists and maps of an object merge: as one value, as a set, or item by item by their keys.

A shape is the JSON schema of a custom resource, or the name of a core kind, whose lists are identified by their field
name. A value with shape None has no schema: its maps merge by key, its lists as one value. Source:
kubernetes/kubernetes@v1.20.2:api/openapi-spec (x-kubernetes-list-type, x-kubernetes-patch-merge-key).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from migrations_app.twin.objects.structural import LIST_KEYS, LIST_TYPE, MAP_TYPE

Shape = Mapping[str, Any] | str | None

_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containerStatuses": ("name",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "finalizers": (),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))
_WHOLE_MAPS = frozenset(
    {"selector", "labelSelector", "namespaceSelector", "objectSelector", "fieldRef", "resourceFieldRef"}
)
CORE = "*"


def below(shape: Shape, key: str) -> Shape:
    """Returns the shape of a member of a map."""
    if isinstance(shape, str) or key == "metadata":
        return key
    if shape is None:
        return None
    properties, other_fields = shape.get("properties") or {}, shape.get("additionalProperties")
    inner = properties.get(key, other_fields)
    return inner if isinstance(inner, Mapping) else None


def within(shape: Shape) -> Shape:
    """Returns the shape of the items of a list."""
    if isinstance(shape, str):
        return CORE
    inner = (shape or {}).get("items")
    return inner if isinstance(inner, Mapping) else None


def merges(value: Any, shape: Shape) -> bool:  # noqa: ANN401 - plain JSON
    """Returns whether the value is a map or list whose members merge one by one."""
    if isinstance(value, Mapping):
        return shape not in _WHOLE_MAPS if isinstance(shape, str) else (shape or {}).get(MAP_TYPE) != "atomic"
    return isinstance(value, list) and _keys(value, shape) is not None


def _keys(value: list[Any], shape: Shape) -> tuple[str, ...] | None:
    """The keys of the items; empty for a set, None for a list that is one value."""
    if isinstance(shape, str):
        if shape == "ports":
            return next((keys for keys in _PORT_KEYS if all(keys[0] in item for item in value)), None)
        return _BY_NAME.get(shape)
    kind = (shape or {}).get(LIST_TYPE)
    if kind == "set":
        return ()
    return tuple((shape or {}).get(LIST_KEYS) or ()) or None if kind == "map" else None


def members(value: Any, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:  # noqa: ANN401 - plain JSON
    """Yields the members of a map or list that merges: path element as in fieldsV1, value, shape."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield f"f:{key}", member, below(shape, key)
        return
    keys = _keys(value, shape)
    for item in value:
        if not keys:
            yield f"v:{_json(item)}", item, within(shape)
        else:
            item_keys = {key: item.get(key, "TCP") for key in keys if key in item or key == "protocol"}
            yield f"k:{_json(item_keys)}", item, within(shape)


def _json(value: Any) -> str:  # noqa: ANN401 - plain JSON
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
