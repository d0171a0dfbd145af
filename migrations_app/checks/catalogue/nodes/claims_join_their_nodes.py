"""Fails for each NodeClaim older than 15 minutes whose node did not register or initialize."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.karpenter_objects import describe_remedy
from migrations_app.inventory.facts.node_claims import ALPHA_PREFIX, missing_conditions, moment
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.inventory.objects.karpenter import KarpenterClaim

check = Check(
    __name__,
    title="Every NodeClaim has a registered node",
    phase="rollout",
    severity="warning",
    why="The instance runs and is billed without a node. What stops it from joining stops its replacement, too.",
    reads=("machines", "nodeclaims", "nodes"),
    says=("{count} NodeClaim has no registered node", "{count} NodeClaims have no registered node"),
    how=(
        "Reads the conditions Registered and Initialized of NodeClaims older than 15 minutes, and finds registered "
        "NodeClaims whose provider id no node has."
    ),
    sources=("kubernetes-sigs/karpenter@v1.14.1:pkg/controllers/nodeclaim/lifecycle/registration.go",),
    remedy_tools=("kubectl",),
)
PATIENCE = timedelta(minutes=15)
LOST = "claim-without-node"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    lost = {(anomaly.kind, anomaly.name) for anomaly in case.ownership.anomalies if anomaly.id == LOST}
    now = moment(case.now)
    claim_rows = missing_conditions(case.inventory)
    if not case.inventory.machines.items and not own_claims(case.inventory):
        yield NotApplicable("there is no claim")
    for claim, kind, missing in claim_rows:
        if missing or (kind, claim.name) in lost:
            yield from _claim_result(claim, kind, now=now, missing=missing)


def _claim_result(claim: KarpenterClaim, kind: str, *, now: datetime | None, missing: str) -> Iterator[JudgeResult]:
    born = moment(claim.metadata.creation_timestamp)
    if born is None or now is None:
        yield Unknown(f"{kind} {claim.name}: metadata.creationTimestamp cannot be read")
    elif now - born > PATIENCE:
        condition = f"{missing.removeprefix(ALPHA_PREFIX)} is {claim.condition(missing) or 'not set'}"
        seen = condition if missing else "no node with it"
        path = "status.conditions" if missing else "status.providerID"
        yield Evidence(kind=kind, name=claim.name, path=path, seen=seen, wanted="a node that is ready")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield describe_remedy(
        evidence, "Why it did not join: role, security groups, user data; where the instance is gone, delete the claim"
    )
