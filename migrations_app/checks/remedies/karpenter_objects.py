"""Remedies that change Karpenter's own objects: in the source of the object first, then with a command for each
object."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import (
    Change,
    ChangeTarget,
    ChangeTime,
    ObjectDelete,
    ObjectPatch,
    Observation,
    PersonTask,
    group,
    with_seen,
)
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster, remedies_of
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option, pointer
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.facts.managers import BY_HAND, Managed, managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NamedObject, WholeObject
from migrations_app.inventory.parse import is_karpenter
from migrations_app.karpenter.releases import serves
from migrations_app.manifests.patches import merge_patch_at, merge_patched

RESOURCES: Final = {
    "Provisioner": ("provisioners", "provisioners.karpenter.sh"),
    "AWSNodeTemplate": ("awsnodetemplates", "awsnodetemplates.karpenter.k8s.aws"),
    "Machine": ("machines", "machines.karpenter.sh"),
    "NodePool": ("nodepools", "nodepools.karpenter.sh"),
    "EC2NodeClass": ("ec2nodeclasses", "ec2nodeclasses.karpenter.k8s.aws"),
    "NodeClaim": ("nodeclaims", "nodeclaims.karpenter.sh"),
}
"""For each kind, the part of the inventory that holds it, and its name for kubectl."""

StepOf = Callable[[Evidence], Change]
"""Returns the change for the object that a row of evidence names."""


def manager_of(inventory: Inventory, row: Evidence) -> Managed:
    """The tool that manages the object of the evidence; by hand if the object is not in the inventory."""
    named_object = found_object(inventory, row)
    return managed(named_object.metadata) if named_object else BY_HAND


def found_object(inventory: Inventory, row: Evidence) -> NamedObject | None:
    """The object that the evidence names; None if the inventory does not contain it."""
    part = RESOURCES.get(row.kind, ("", ""))[0]
    objects = inventory.part(part).items if part else ()
    return next((item for item in objects if isinstance(item, NamedObject) and item.name == row.name), None)


def change_remedies(
    case: CheckContext,
    evidence: Sequence[Evidence],
    *,
    what: str,
    line: StepOf,
    notes: Sequence[str] = (),
    when: ChangeTime = "before",
    look: Observation | None = None,
) -> tuple[Remedy, ...]:
    """The change as text for the source of the first object, and as a command for each object with comments before it.
    `look` is a read-only command to run first."""
    steps = dict.fromkeys(with_undo(replace(line(row), when=when), row, inventory=case.inventory) for row in evidence)
    first = (look,) if look else ()
    return remedies_of(group(*first, *steps, what=what, notes=tuple(notes)), manager_of(case.inventory, evidence[0]))


def with_undo(step: Change, row: Evidence, *, inventory: Inventory) -> Change:
    """The step with what was seen and its undo, if the step is a merge patch of an object that was read whole;
    otherwise unchanged. What the step itself says of the fields stands for those that were missing."""
    before = found_object(inventory, row)
    if not isinstance(step, ObjectPatch) or not isinstance(before, WholeObject):
        return step
    tree = {"spec": before.spec or {}, "status": before.status or {}}
    return with_seen(step, merge_patched(step.seen or {}, tree))


def target_of(row: Evidence) -> ChangeTarget:
    """The object that the evidence names."""
    return ChangeTarget(row.kind, row.name, resource=_resource(row.kind))


def _resource(kind: str) -> str:
    """The name of the kind for kubectl. Raises KeyError if it is neither a kind of Karpenter nor Node."""
    return "nodes" if kind == "Node" else RESOURCES[kind][1]


def merge_patch_of(path: str, value: object, *, default: object = None) -> StepOf:
    """Returns a function that makes a merge patch which sets that path; null removes the field. `default` is what
    stands in a missing field by then, from the CRDs or the conversion."""
    body, seen = merge_patch_at(path, value), None if default is None else merge_patch_at(path, default)
    done = f"{path} is {json.dumps(value)}" if value is not None else f"{path} is gone"
    return lambda row: ObjectPatch(target=target_of(row), body=body, seen=seen, done=done)


def edit_task(row: Evidence) -> PersonTask:
    """A task to edit the object, with the field and the wanted value."""
    task = "; ".join(part for part in (row.path, row.wanted) if part)
    return PersonTask(target=target_of(row), what=task, why="the value is a choice")


def conversion_task(row: Evidence) -> PersonTask:
    """A task with a pipe that shows the converted object; it changes nothing."""
    target = target_of(row)
    get = ("kubectl", "get", target.resource, no_option(row.name), "-o", "yaml")
    reason = "where it is written is a choice, and so is what it says about losses"
    return PersonTask(target=target, pipe=(get, ("karpdash", "convert", "-f", "-")), why=reason)


def describe_remedy(evidence: Sequence[Evidence], *notes: str) -> Remedy:
    """Commands that show the objects, one for each kind; they change nothing."""
    return in_cluster(describe_commands(evidence, *notes))


def describe_commands(evidence: Sequence[Evidence], *notes: str) -> Change:
    """The same commands as a change, to be used as a step of a fix."""
    kinds = dict.fromkeys(row.kind for row in evidence[:NAMES_SHOWN])
    steps = (read_command("kubectl", "describe", _resource(kind), *_named(evidence, kind)) for kind in kinds)
    return group(*steps, notes=notes)


def _named(evidence: Sequence[Evidence], kind: str) -> Sequence[str]:
    return tuple(dict.fromkeys(no_option(row.name) for row in evidence[:NAMES_SHOWN] if row.kind == kind))


def append_patch(whole_object: WholeObject, path: str, *, value: object) -> list[dict[str, object]]:
    """The JSON patch that appends the value to a list; if the list is missing or empty, it creates the list, because a
    patch cannot append to a missing list. It is refused if the list has changed since the scan."""
    at, current = pointer(path), whole_object.get(path)
    as_seen: dict[str, object] = {"op": "test", "path": at, "value": current}
    if isinstance(current, list) and current:
        return [as_seen, {"op": "add", "path": f"{at}/-", "value": value}]
    return [as_seen, {"op": "add", "path": at, "value": [value]}]


def append_undo(whole_object: WholeObject, path: str, *, value: object) -> list[dict[str, object]]:
    """The JSON patch that undoes `append_patch`. It is refused if the value is at another place by then."""
    at, current = pointer(path), whole_object.get(path)
    if isinstance(current, list) and current:
        last = f"{at}/{len(current)}"
        return [{"op": "test", "path": last, "value": value}, {"op": "remove", "path": last}]
    return [{"op": "test", "path": at, "value": [value]}, {"op": "remove", "path": at}]


def delete_claims(
    evidence: Sequence[Evidence], *notes: str, when: ChangeTime = "before", needs: tuple[str, ...] = ()
) -> Change:
    """Deletes each Machine, NodeClaim or Node, one after the other has gone."""
    steps = (
        ObjectDelete(
            target=target,
            when=when,
            needs=needs,
            alone=True,
            finalizers="its node is drained and its instance ended first",
            final="the instance is ended",
            done=f"{target.kind} {target.name} and its instance are gone",
        )
        for target in dict.fromkeys(map(target_of, evidence))
    )
    return group(*steps, notes=notes)


def remove_finalizers(
    nodes: Sequence[NamedObject], *, selected_by: str, beside: Sequence[tuple[ChangeTarget, NamedObject]] = ()
) -> Remedy:
    """Removes Karpenter's finalizers from nodes and from the objects in `beside`; the first step shows the instances of
    the nodes."""
    columns = "custom-columns=NAME:.metadata.name,ID:.spec.providerID"
    note = "First check that the instance is terminated: without the finalizer it keeps running and is billed"
    look = Observation(pipe=(("kubectl", "get", "nodes", "-l", selected_by, "-o", columns),), notes=(note,))
    targets = (*beside, *((ChangeTarget("Node", node.name, resource="node"), node) for node in nodes))
    return in_cluster(group(look, *(_without_finalizers(target, named_object) for target, named_object in targets)))


def controller_task(case: CheckContext, evidence: Sequence[Evidence]) -> Remedy | None:
    """A task after which a controller removes the finalizers itself, each after its instance has ended: start the one
    that is scaled to zero, or take the upgrade again after a rollback. None if no controller will."""
    controller, coming = installation(case.inventory), case.hop.release
    if controller is None:
        return None
    what = ""
    if controller.workload.spec.replicas == 0:
        what = f"scale Deployment {controller.namespace}/{controller.name} up again"
    elif all(row.kind == "NodePool" for row in evidence) and serves(coming, "beta"):
        what = f"take the upgrade to {coming}, which acts on NodePools"
    task = PersonTask(
        what=f"{what}, and leave the finalizers to the controller",
        why="without a finalizer the instance of a deleted object keeps running and is billed",
        where="one_controller_runs, and the runbook of the upgrade",
    )
    return in_cluster(task) if what else None


def _without_finalizers(target: ChangeTarget, named_object: NamedObject) -> Change:
    """Removes only Karpenter's finalizers; the patch is refused if the list has changed since the scan."""
    numbered = [(at, name) for at, name in enumerate(named_object.metadata.finalizers or ()) if is_karpenter(name)]
    steps: list[dict[str, Any]] = []
    for at, name in reversed(numbered):
        path = f"/metadata/finalizers/{at}"
        steps += [{"op": "test", "path": path, "value": name}, {"op": "remove", "path": path}]
    return ObjectPatch(
        target=target,
        body=tuple(steps),
        final="nobody ends what it stands for in AWS any more",
        done=f"{target.kind} {named_object.name} has no finalizer of Karpenter",
    )
