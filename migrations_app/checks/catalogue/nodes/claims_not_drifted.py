"""Fails for each NodeClaim or Machine that is already drifted, so it is replaced as soon as drift is on."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.karpenter_objects import describe_remedy
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED, hops_from

check = Check(
    __name__,
    title="No node is drifted yet",
    phase="rollout",
    severity="info",
    why=(
        "Nodes that drifted from their image, subnets, security groups or NodePool are replaced as soon as the new "
        "controller runs."
    ),
    how="Reads the condition Drifted of NodeClaims and MachineDrifted of Machines.",
    reads=("nodeclaims", "machines"),
    says=("{count} node is drifted already", "{count} nodes are drifted already"),
    hops=("0.32", ALPHA_LEFT, *hops_from(CONVERTED)),
    severity_at={ALPHA_LEFT: "warning", CONVERTED: "warning"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "kubernetes-sigs/karpenter@v0.37.7:pkg/controllers/nodeclaim/disruption/drift.go",
    ),
    remedy_tools=("kubectl",),
)
CONDITIONS = {"NodeClaim": "Drifted", "Machine": "MachineDrifted"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not own_claims(case.inventory) and not case.inventory.machines.items:
        yield NotApplicable("there is no NodeClaim and no Machine")
    yield from _drifted(case.inventory)


@once
def _drifted(inventory: Inventory) -> tuple[Evidence, ...]:
    evidences: list[Evidence] = []
    for claim in (*own_claims(inventory), *inventory.machines.items):
        name = CONDITIONS[type(claim).__name__]
        row = next(
            (condition for condition in (claim.status and claim.status.conditions) or () if condition.type == name),
            None,
        )
        if row is not None and row.status == "True":
            seen = f"True {row.reason or ''}".rstrip()
            evidences.append(at_field(claim, f"status.conditions[{name}]", seen=seen, wanted="False"))
    return tuple(evidences)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    for kind in CONDITIONS:
        if evidences := [row for row in evidence if row.kind == kind]:
            yield describe_remedy(
                evidences, "The condition says what they drifted from; let budgets pace their replacement"
            )
