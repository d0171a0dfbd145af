"""A CustomResourceDefinition with two served versions, for tests of the twin; nothing of Karpenter."""

from typing import Any

Tree = dict[str, Any]
NAME = "gadgets.twin.example"
_SPEC: Tree = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "mode": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "any": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "limits": {"type": "object", "properties": {"cpu": {"type": "string", "default": "1"}}},
        "steps": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}},
        },
        "note": {"type": "string", "nullable": True},
        "at": {"type": "string", "format": "date-time"},
    },
}
_SCHEMA: Tree = {
    "type": "object",
    "required": ["spec"],
    "properties": {"spec": _SPEC, "status": {"type": "object", "properties": {"phase": {"type": "string"}}}},
}


def definition(*, storage: str = "v1", conversion: Tree | None = None, schema: Tree | None = None) -> Tree:
    """The CustomResourceDefinition, whose objects are stored in that version."""
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == storage,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema or _SCHEMA},
        }
        for name in ("v1", "v1beta1")
    ]
    names = {"kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets", "singular": "gadget"}
    spec = {"group": "twin.example", "scope": "Namespaced", "names": names, "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": spec | ({"conversion": conversion} if conversion else {}),
    }


def gadget(name: str, *, version: str = "v1", **spec: Any) -> Tree:
    """A Gadget; without a spec it has the smallest that is allowed."""
    head = {"apiVersion": f"twin.example/{version}", "kind": "Gadget", "metadata": {"name": name}}
    return head | {"spec": spec or {"size": 1}}


def path(name: str = "", *, version: str = "v1", namespace: str = "default") -> str:
    """The path of the list or of one object."""
    found = f"/apis/twin.example/{version}/namespaces/{namespace}/gadgets"
    return f"{found}/{name}" if name else found
