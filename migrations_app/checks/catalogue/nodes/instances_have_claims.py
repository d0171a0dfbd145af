"""Fails if more instances have Karpenter's tags than there are Machines, NodeClaims and nodes."""

from collections.abc import Iterable, Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    LowerBound,
    NotApplicable,
    Remedy,
    Unknown,
)
from migrations_app.checks.remedies.lost_nodes import compare_instances
from migrations_app.inventory.parts import Seen

check = Check(
    __name__,
    title="Every Karpenter instance has a NodeClaim",
    phase="rollout",
    severity="info",
    why="Instances that the cluster does not know are billed, and no release finds them again.",
    reads=("aws.instances", "machines", "nodeclaims", "nodes"),
    says=("{count} instance has no NodeClaim", "{count} instances have no NodeClaim"),
    how=(
        "Compares the number of instances with Karpenter's tags with the provider ids of Machines, NodeClaims and "
        "nodes; it names the instances as far as their ids were kept."
    ),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("iam",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    groups = case.inventory.aws.instances.items
    if not groups:
        yield NotApplicable("there is no instance of Karpenter's")
        return
    parts = (case.inventory.machines, case.inventory.nodeclaims, case.inventory.nodes)
    if any(isinstance(part, Seen) and part.quarantined for part in parts):
        yield Unknown("claims or nodes that could not be read may stand behind instances")
        return
    named, others = _named_instances(case), _ids(node.spec.provider_id for node in case.inventory.nodes.items)
    running = sum(group.count for group in groups)
    lost = [sample for group in groups for sample in group.samples if sample not in named | others]
    count = max(running - len(named), len(lost))
    if count > 0:
        yield LowerBound("a claim may stand in the place of an instance that is gone")
        name, seen = " ".join(lost) or "ids not kept", f"{running} instances, {len(named)} known to the cluster"
        yield Evidence(kind="Instance", name=name, path="tags", seen=seen, wanted="a claim behind each", count=count)


def _named_instances(case: CheckContext) -> frozenset[str]:
    """The instances that claims and Karpenter's own nodes name."""
    karpenter_nodes = {node.name for node in case.ownership.nodes if node.owner.startswith("karpenter_")}
    nodes = (node.spec.provider_id for node in case.inventory.nodes.items if node.name in karpenter_nodes)
    claims = (*case.inventory.machines.items, *case.inventory.nodeclaims.items)
    return _ids(claim.provider_id for claim in claims) | _ids(nodes)


def _ids(provider_ids: Iterable[str | None]) -> frozenset[str]:
    return frozenset(text.rpartition("/")[2] for text in provider_ids if text)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield compare_instances(case, evidence[0].name)
