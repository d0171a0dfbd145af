"""AWS has vCPUs, addresses and reserved capacity for the nodes that replace others."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.shared.aws_room import KINDS, not_known, shortage, widened
from migrations_app.checks.shared.replaced_nodes import NOTHING_ROLLED, rolled_nodes
from migrations_app.inventory.aws_facts.capacity_room import capacity_lines
from migrations_app.inventory.aws_facts.replacement_need import replacement_by_pool
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

check = Check(
    __name__,
    title="AWS has room for the nodes that replace others",
    phase="rollout",
    severity="warning",
    why="A successor is launched before the old node goes: without vCPUs or addresses for it the rollout stands still.",
    reads=("nodepools", "nodes"),
    says=("{count} limit of AWS is too low for the nodes at the peak", "{count} limits of AWS are too low for them"),
    how=(
        "The nodes that disruption budgets let go at once, by zone and family, against vCPU quotas, free addresses of"
        " the selected subnets, capacity reservations and offerings."
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
    rolled = rolled_nodes(case)
    if not rolled:
        yield NotApplicable(NOTHING_ROLLED)
        return
    for line in capacity_lines(case.inventory, replacement_by_pool(case.inventory, rolled)):
        # Limits of pools are for pools_have_room.
        if line.what in KINDS and line.standing == "short":
            yield shortage(case, line)
        elif line.what in KINDS and line.standing == "unknown":
            yield not_known(case, line)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from (in_aws(widened(case, row)) for row in evidence)
