"""Remedies that change Karpenter's own objects: where their source is first, then the command for each."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.remedies.commands import NAMES_SHOWN, from_source, kubectl, merged, names, ordered
from migrations_app.checks.shell import pointer, word
from migrations_app.inventory.facts.managers import Managed, managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NamedObject, WholeObject

RESOURCES: Final = {
    "Provisioner": ("provisioners", "provisioners.karpenter.sh"),
    "AWSNodeTemplate": ("awsnodetemplates", "awsnodetemplates.karpenter.k8s.aws"),
    "Machine": ("machines", "machines.karpenter.sh"),
    "NodePool": ("nodepools", "nodepools.karpenter.sh"),
    "EC2NodeClass": ("ec2nodeclasses", "ec2nodeclasses.karpenter.k8s.aws"),
    "NodeClaim": ("nodeclaims", "nodeclaims.karpenter.sh"),
}
"""Of each kind the part of an inventory that holds it, and its name for kubectl."""

Line = Callable[[Evidence], str]


def kept(inventory: Inventory, row: Evidence) -> Managed:
    """Who keeps the object that the evidence names; nobody in particular where it is not among the parts."""
    part = RESOURCES.get(row.kind, ("", ""))[0]
    found = inventory.part(part).items if part else ()
    own = (managed(one.metadata) for one in found if isinstance(one, NamedObject) and one.name == row.name)
    return next(own, Managed("hand"))


def changed(
    case: CheckContext, evidence: Sequence[Evidence], *, what: str, line: Line, notes: Sequence[str] = ()
) -> tuple[Remedy, ...]:
    """The change in words for the source of the first object, and a command for each object, comments before them."""
    by = kept(case.inventory, evidence[0])
    lines = dict.fromkeys(line(row) for row in evidence[:NAMES_SHOWN])
    return ordered(by, (*from_source(by, what), kubectl(*(f"# {note}" for note in notes), *lines)))


def target(row: Evidence) -> str:
    """Resource and name of the object as kubectl takes them."""
    return f"{RESOURCES[row.kind][1]} {word(row.name)}"


def patched(path: str, value: object) -> Line:
    """A command that sets that path by a merge patch; null takes the field out."""
    return lambda row: f"kubectl patch {target(row)} --type=merge -p {merged(path, value)}"


def edited(row: Evidence) -> str:
    """A command to change the object by hand, the field and what is wanted beside it."""
    wanted = "; ".join(part for part in (row.path, row.wanted) if part)
    return f"kubectl edit {target(row)}  # {' '.join(wanted.split())}"


def converted(row: Evidence) -> str:
    """A command that shows what becomes of the object; it changes nothing."""
    return f"kubectl get {target(row)} -o yaml | karpdash convert -f -"


def described(evidence: Sequence[Evidence]) -> str:
    """A command that shows the objects, all of one kind; it changes nothing."""
    names = dict.fromkeys(word(row.name) for row in chain(evidence[:NAMES_SHOWN]))
    return f"kubectl describe {RESOURCES[evidence[0].kind][1]} {' '.join(names)}"


def appended(one: WholeObject, path: str, *, value: object) -> list[dict[str, object]]:
    """The JSON patch that adds the value to a list which may be absent: nothing can be added to what is not there."""
    at, there = pointer(path), one.get(path)
    if isinstance(there, list) and there:
        return [{"op": "add", "path": f"{at}/-", "value": value}]
    return [{"op": "add", "path": at, "value": [value]}]


def machines_replaced(evidence: Sequence[Evidence]) -> Remedy:
    """How to replace Machines that nothing else will replace."""
    return kubectl(
        "# These never drift: replace them one at a time, each once its successor is ready",
        f"kubectl delete machines.karpenter.sh {names(evidence)}",
    )


def finalizers_removed(nodes: Sequence[NamedObject], *, selected_by: str) -> Remedy:
    """How to take the finalizers off nodes, the question about their instances first."""
    patch = '[{"op":"remove","path":"/metadata/finalizers"}]'
    return kubectl(
        "# First see that the instance is gone: without the finalizer nobody ends it, and it goes on costing",
        f"kubectl get nodes -l {selected_by} -o custom-columns=NAME:.metadata.name,ID:.spec.providerID",
        *(f"kubectl patch node {word(one.name)} --type=json -p '{patch}'" for one in nodes[:NAMES_SHOWN]),
    )
