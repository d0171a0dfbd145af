"""Fails for each object with a finalizer of Karpenter that no running controller removes."""

from collections.abc import Iterator
from typing import cast

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.karpenter_objects import controller_task, found_object, remove_finalizers, target_of
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.facts.finalizers import WAITING, finalizer_nodes, first_finalizer, held_nodes, pool_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.inventory.parts import Part, Unseen, is_whole
from migrations_app.karpenter import labels
from migrations_app.karpenter.releases import serves

check = Check(
    __name__,
    title="Every finalizer has a controller that removes it",
    phase="cleanup",
    severity="warning",
    why="An object with an orphaned finalizer stays terminating for ever, and a node never finishes its drain.",
    how=(
        "Compares karpenter.sh/termination on nodes, by the generation of their labels, with the running version; "
        "without a controller also Karpenter's finalizers on Machines, NodeClaims and node classes."
    ),
    reads=("nodes", "controller"),
    says=("{count} object has an orphaned finalizer", "{count} objects have orphaned finalizers"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl",),
)
WANTED, NODE_PATH = "a controller, or absent", f"metadata.finalizers[{labels.TERMINATION_FINALIZER}]"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    counts, running, controller = held_nodes(case.inventory), case.running.release, installation(case.inventory)
    gone = is_whole(case.inventory.controller) if controller is None else controller.workload.spec.replicas == 0
    others = tuple(_other_objects(case.inventory)) if gone else ()
    if not counts and not others:
        return (yield NotApplicable("no node carries a finalizer of Karpenter"))
    if not gone and None in (running, controller):
        return (yield Unknown(f"what the running controller takes off is not known: {case.running.how}"))
    for (generations, kind, name), count in counts.items():
        acts = [serves(running, item) for item in generations] if running else [True]
        if not gone and None in acts:
            return (yield Unknown(f"which objects {running} acts on is not known"))
        if gone or (acts and not any(acts)):
            seen = "no controller runs" if gone else f"{running} does not act on {generations[0]}"
            yield Evidence(kind=kind, name=name, path=NODE_PATH, seen=seen, wanted=WANTED, count=count)
    yield from others


def _other_objects(inventory: Inventory) -> Iterator[JudgeResult]:
    """Evidence for objects other than Karpenter's whose finalizer only a controller removes, if none runs."""
    for kind in WAITING:
        part = cast(Part[NamedObject], inventory.part(kind.plural))
        if isinstance(part, Unseen):
            yield could_not_read(kind.plural, part)
        for item in part.items:
            if finalizer := first_finalizer(item):
                path, seen = f"metadata.finalizers[{finalizer}]", "no controller runs"
                yield Evidence(kind=kind.kind, name=item.name, path=path, seen=seen, wanted=WANTED)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    if task := controller_task(case, evidence):
        return (yield task)
    key = labels.PROVISIONER_NAME if evidence[0].kind == "Provisioner" else labels.NODEPOOL
    pools, inventory = {(row.kind, row.name) for row in evidence}, case.inventory
    objects = [(target_of(row), found_object(inventory, row)) for row in evidence]
    blocked = [(target, item) for target, item in objects if item and first_finalizer(item)]
    # A controller removes the finalizers of nodes of other pools.
    nodes = [item for item in finalizer_nodes(inventory) if pool_of(item) in pools]
    yield remove_finalizers(nodes, selected_by=key, beside=blocked)
