"""Fails for each quota, subnet or capacity reservation that is too small for the replacement nodes."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.shared.aws_room import KINDS, make_room, shortage, unknown_limit
from migrations_app.checks.shared.replaced_nodes import NOTHING_REPLACED, replaced_nodes
from migrations_app.inventory.aws_facts.capacity_room import capacity_lines
from migrations_app.inventory.aws_facts.replacement_need import replacement_by_pool
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="AWS has capacity for the replacement nodes",
    phase="rollout",
    severity="warning",
    why=(
        "Karpenter launches the replacement before it drains the old node: without vCPUs or addresses the rollout "
        "stops."
    ),
    reads=("nodepools", "nodes"),
    says=(
        "{count} AWS limit is too low for the replacement nodes",
        "{count} AWS limits are too low for the replacement nodes",
    ),
    how=(
        "Counts the nodes that disruption budgets allow to be replaced at once, by zone and family, and compares "
        "them with vCPU quotas, free addresses of the selected subnets, capacity reservations and offerings."
    ),
    hops=hops_from(ALPHA_LEFT),
    sources=(
        "Amazon EC2 User Guide, On-Demand Instance quotas, Spot Instance quotas, Capacity Reservations",
        "aws/amazon-vpc-cni-k8s:docs/prefix-and-ip-target.md",
    ),
    remedy_tools=("iam",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    rolled = replaced_nodes(case)
    if not rolled:
        yield NotApplicable(NOTHING_REPLACED)
        return
    for line in capacity_lines(case.inventory, replacement_by_pool(case.inventory, rolled)):
        # Limits of pools are for pools_have_room.
        if line.what in KINDS and line.standing == "short":
            yield shortage(case, line)
        elif line.what in KINDS and line.standing == "unknown":
            yield unknown_limit(case, line)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from (in_aws(make_room(case, row)) for row in evidence)
