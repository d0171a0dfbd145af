"""Builds evidence for the usual places (Deployment, Helm values, CRD, any object), and finds fields of the wrong
type."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from migrations_app.checks.base import Evidence, Unknown
from migrations_app.inventory.facts.controller import Installation
from migrations_app.inventory.facts.delivery_sources import Values
from migrations_app.inventory.objects.karpenter import CRD, GitOpsDelivery, NamedObject, WholeObject, Workload

MAX_TEXT_LENGTH = 200
"""The longest value that evidence shows, in characters."""
POD_SPEC = "spec.template.spec"


def at_deployment(installation: Installation, path: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a path of the controller's Deployment."""
    return Evidence(
        kind="Deployment",
        namespace=installation.namespace,
        name=installation.name,
        path=path,
        seen=seen[:MAX_TEXT_LENGTH],
        wanted=wanted,
    )


def at_deployment_of(workload: Workload, path: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a path of a controller's Deployment, one of several."""
    home, name = workload.namespace, workload.name
    return Evidence(kind="Deployment", namespace=home, name=name, path=path, seen=seen, wanted=wanted)


def at_controller(installation: Installation, path: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a path of the controller's pod spec, inside its Deployment."""
    return Evidence(
        kind="Deployment",
        namespace=installation.namespace,
        name=installation.name,
        path=f"{POD_SPEC}.{path}",
        seen=seen[:MAX_TEXT_LENGTH],
        wanted=wanted,
    )


def at_variable(installation: Installation, name: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at an environment variable of the controller's container."""
    return at_controller(installation, f"containers[].env[{name}]", seen=seen, wanted=wanted)


def at_value(values: Values, key: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a Helm value, in the object that sets the values."""
    return Evidence(
        kind=values.kind,
        namespace=values.namespace,
        name=values.name,
        path=f"{values.path}.{key}",
        seen=seen[:MAX_TEXT_LENGTH],
        wanted=wanted,
    )


def value_key(values: Values, row: Evidence) -> str:
    """The dotted Helm key that evidence of `at_value` names."""
    return row.path.removeprefix(f"{values.path}.")


def at_crd(crd: CRD, path: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a path of a CRD."""
    return Evidence(
        kind="CustomResourceDefinition", name=crd.name, path=path, seen=seen[:MAX_TEXT_LENGTH], wanted=wanted
    )


def at_object(named_object: NamedObject | GitOpsDelivery, path: str, *, seen: str, wanted: str) -> Evidence:
    """Evidence at a path of any object; without a kind in the list, the kind is the name of its type."""
    kind = named_object.kind or type(named_object).__name__
    return Evidence(
        kind=kind,
        namespace=named_object.namespace,
        name=named_object.name,
        path=path,
        seen=seen[:MAX_TEXT_LENGTH],
        wanted=wanted,
    )


MAPS: Final = "a list of maps"
TEXTS: Final = "a map of texts"
TEXT: Final = "a text"
MAP: Final = "a map"
WHOLE: Final = "a whole number"
FLAG: Final = "true or false"
LONGEST_FIELD_TEXT: Final = 200
"""The longest value that evidence shows, in characters."""

Shapes = Mapping[str, str]
T = TypeVar("T", bound=WholeObject)


def split_malformed(objects: Iterable[T], shapes: Shapes) -> tuple[tuple[Unknown, ...], tuple[T, ...]]:
    """Unknown results for objects with malformed fields, and the well-formed objects. Malformed objects are not
    judged."""
    all_objects = tuple(objects)
    unknowns = [tuple(malformed_fields([whole_object], shapes)) for whole_object in all_objects]
    well_formed = tuple(
        whole_object for whole_object, object_doubts in zip(all_objects, unknowns, strict=True) if not object_doubts
    )
    return tuple(unknown for object_doubts in unknowns for unknown in object_doubts), well_formed


def malformed_fields(objects: Iterable[WholeObject], shapes: Shapes) -> Iterator[Unknown]:
    """An Unknown for each field that does not have its declared shape or lies below something that is not a map."""
    for whole_object in objects:
        for path, shape in shapes.items():
            flaw = _flaw({"spec": whole_object.spec, "status": whole_object.status}, path, shape=shape)
            if flaw:
                yield Unknown(f"{kind_of(whole_object)} {whole_object.name}: {flaw}")


def _flaw(tree: dict[str, Any], path: str, *, shape: str) -> str:
    """What is wrong with the field or on the path to it; empty if nothing is."""
    node: Any = tree
    steps_taken: list[str] = []
    for step in path.split("."):
        if node is None:
            return ""
        if not isinstance(node, dict):
            return f"{'.'.join(steps_taken)} is no map"
        steps_taken.append(step)
        node = node.get(step)
    return "" if node is None or _fits(node, shape) else f"{path} is not {shape}"


def _fits(value: object, shape: str) -> bool:
    if shape in (MAP, TEXTS):
        return isinstance(value, dict) and (shape == MAP or all(isinstance(item, str) for item in value.values()))
    if shape == MAPS:
        return isinstance(value, list) and all(isinstance(row, dict) for row in value)
    if shape == WHOLE:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str if shape == TEXT else bool)


def kind_of(named_object: NamedObject) -> str:
    """The kind of an object; lists often omit the kind of their items, then it is the name of its type."""
    return named_object.kind or type(named_object).__name__


def at_field(named_object: NamedObject, path: str, *, seen: object, wanted: str) -> Evidence:
    """Evidence at a field of that object; long values are cut."""
    value_text = seen if isinstance(seen, str) else json.dumps(seen, default=str)
    return Evidence(
        kind=kind_of(named_object),
        name=named_object.name,
        path=path,
        seen=value_text[:LONGEST_FIELD_TEXT],
        wanted=wanted,
    )
