"""Evidence that points at one of the places most checks of the platform speak of."""

from migrations_app.checks.values import Evidence
from migrations_app.inventory.installation import Installation, Values
from migrations_app.inventory.objects import CRD, Delivery, Named

LONGEST = 200
"""Characters of a value that evidence shows."""
POD_SPEC = "spec.template.spec"


def at_deployment(found: Installation, path: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in the Deployment, at any path."""
    return Evidence(
        kind="Deployment", namespace=found.namespace, name=found.name, path=path, seen=seen[:LONGEST], wanted=wanted
    )


def at_controller(found: Installation, path: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in the Deployment; the path is told from the pod's spec on."""
    return Evidence(
        kind="Deployment",
        namespace=found.namespace,
        name=found.name,
        path=f"{POD_SPEC}.{path}",
        seen=seen[:LONGEST],
        wanted=wanted,
    )


def at_variable(found: Installation, name: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in a variable of the controller's container."""
    return at_controller(found, f"containers[].env[{name}]", seen=seen, wanted=wanted)


def at_value(values: Values, key: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in the Helm values, at the object that gives them."""
    return Evidence(
        kind=values.kind,
        namespace=values.namespace,
        name=values.name,
        path=f"{values.path}.{key}",
        seen=seen[:LONGEST],
        wanted=wanted,
    )


def value_key(values: Values, row: Evidence) -> str:
    """The dotted key of the Helm value that such evidence names."""
    return row.path.removeprefix(f"{values.path}.")


def at_crd(crd: CRD, path: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in a CRD."""
    return Evidence(kind="CustomResourceDefinition", name=crd.name, path=path, seen=seen[:LONGEST], wanted=wanted)


def at(one: Named | Delivery, path: str, *, seen: str, wanted: str) -> Evidence:
    """A cause in any object; its kind is that of its projection where the list leaves it out."""
    kind = one.kind or type(one).__name__
    return Evidence(kind=kind, namespace=one.namespace, name=one.name, path=path, seen=seen[:LONGEST], wanted=wanted)
