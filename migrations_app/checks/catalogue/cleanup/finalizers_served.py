"""Every finalizer of Karpenter belongs to a controller that will take it off."""

from collections import Counter
from collections.abc import Iterator
from typing import cast

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.commands import NAMES_SHOWN, kubectl
from migrations_app.checks.shell import word
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import NamedObject, Node
from migrations_app.inventory.parse import is_karpenter
from migrations_app.inventory.parts import Part, Unseen, is_whole
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.releases import serves

check = Check(
    __name__,
    title="Every finalizer has a controller that takes it off",
    phase="cleanup",
    severity="warning",
    why="Deleting what carries a finalizer that nobody serves hangs for ever, and with it the drain of a node.",
    how=(
        "karpenter.sh/termination on nodes, by the generation of their labels, against the release that runs; "
        "without a controller Karpenter's finalizers on Machines, NodeClaims and node classes too."
    ),
    reads=("nodes", "controller"),
    says=(
        "{count} object carries a finalizer that nobody serves",
        "{count} objects carry finalizers that nobody serves",
    ),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/troubleshooting.md",
        "aws/karpenter-provider-aws@v0.33.12:pkg/providers/instance/instance.go",
    ),
    remedy_tools=("kubectl",),
)
WAITING = (kinds.MACHINE, kinds.NODE_CLAIM, kinds.EC2_NODE_CLASS)
GENERATIONS = {labels.NODEPOOL: ("beta", "v1"), labels.PROVISIONER_NAME: ("alpha",)}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    held, running, found = _held(case.inventory), case.running.release, installation(case.inventory)
    gone = is_whole(case.inventory.controller) if found is None else found.workload.spec.replicas == 0
    more = tuple(_orphans(case.inventory)) if gone else ()
    if not held and not more:
        yield NotApplicable("no node carries a finalizer of Karpenter")
        return
    if not gone and None in (running, found):
        yield Unknown(f"what the running controller takes off is not known: {case.running.how}")
        return
    for (made_by, kind, name), count in held.items():
        if not gone and (not made_by or running is None or any(serves(running, one) for one in made_by)):
            continue
        seen = "no controller runs" if gone else f"{running} does not act on alpha"
        path = f"metadata.finalizers[{labels.TERMINATION_FINALIZER}]"
        yield Evidence(kind=kind, name=name, path=path, seen=seen, wanted="a controller, or absent", count=count)
    yield from more


def _orphans(inventory: Inventory) -> Iterator[JudgeResult]:
    """Where no controller runs: what else it alone takes finalizers off."""
    for kind in WAITING:
        part = cast(Part[NamedObject], inventory.part(kind.plural))
        if isinstance(part, Unseen):
            yield could_not_read(kind.plural, part)
        for one in part.items:
            finalizers = one.metadata.finalizers if isinstance(one, NamedObject) else None
            held = [each for each in finalizers or () if is_karpenter(each)]
            if held and isinstance(one, NamedObject):
                path = f"metadata.finalizers[{held[0]}]"
                seen, wanted = "no controller runs", "a controller, or absent"
                yield Evidence(kind=kind.kind, name=one.name, path=path, seen=seen, wanted=wanted)


@once
def _held(inventory: Inventory) -> Counter[tuple[tuple[str, ...], str, str]]:
    """The nodes with the finalizer, counted by the generations that may have made them and by their pool."""
    return Counter((_made_by(node), *_pool(node)) for node in _carrying(inventory))


def _carrying(inventory: Inventory) -> list[Node]:
    return [one for one in inventory.nodes.items if labels.TERMINATION_FINALIZER in (one.metadata.finalizers or ())]


def _made_by(node: Node) -> tuple[str, ...]:
    return next((found for key, found in GENERATIONS.items() if node.metadata.label(key)), ())


def _pool(node: Node) -> tuple[str, str]:
    pool = node.metadata.label(labels.NODEPOOL)
    return ("NodePool", pool) if pool else ("Provisioner", node.metadata.label(labels.PROVISIONER_NAME) or "none")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    key = labels.PROVISIONER_NAME if evidence[0].kind == "Provisioner" else labels.NODEPOOL
    held, patch = _carrying(case.inventory)[:NAMES_SHOWN], '[{"op":"remove","path":"/metadata/finalizers"}]'
    yield kubectl(
        "# First see that the instance is gone: without the finalizer nobody ends it, and it goes on costing",
        f"kubectl get nodes -l {key} -o custom-columns=NAME:.metadata.name,ID:.spec.providerID",
        *(f"kubectl patch node {word(one.name)} --type=json -p '{patch}'" for one in held),
    )
