"""Fails for each NodeClaim that is older than the expiry of its NodePool."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import delete_claims, describe_commands
from migrations_app.inventory.facts.node_claims import expired
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="No NodeClaim is past its expiry",
    phase="rollout",
    severity="blocker",
    why=(
        "1.0 deletes expired NodeClaims at once, without a replacement: all that were blocked until then start to "
        "drain together."
    ),
    how="Compares the age of each NodeClaim with the expiry of its NodePool.",
    reads=("nodeclaims", "nodepools"),
    says=("{count} NodeClaim is past its expiry", "{count} NodeClaims are past their expiry"),
    hops=(CONVERTED,),
    resolved_by=("roll_nodes",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/nodeclaim/expiration/controller.go",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    claims = own_claims(case.inventory)
    if not claims:
        yield NotApplicable("there is no NodeClaim yet")
    pools = {pool.name: pool for pool in case.inventory.nodepools.items}
    for claim in claims:
        over = expired(claim, pools, now=case.now)
        if over is None:
            yield Unknown(f"NodeClaim {claim.name}: its expiry is not known from its NodePool and its age")
        elif over:
            yield Evidence(
                kind="NodeClaim",
                name=claim.name,
                path="metadata.creationTimestamp",
                seen=f"since {claim.metadata.creation_timestamp or 'an unknown time'}, and expired",
                wanted="replaced before the upgrade",
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    note = "See what holds each one up, clear it, then replace them one by one while budgets still apply"
    yield in_cluster(group(describe_commands(evidence), delete_claims(evidence), notes=(note,)))
