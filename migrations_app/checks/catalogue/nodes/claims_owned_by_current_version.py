"""Fails for each NodeClaim whose owner reference names its NodePool as v1beta1."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import delete_claims
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.inventory.inventory import Inventory, once
from migrations_app.inventory.objects.karpenter import OwnerReference
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED, hops_from
from migrations_app.karpenter.versions import minor_order

check = Check(
    __name__,
    title="Every NodeClaim names its NodePool as v1",
    phase="rollout",
    severity="warning",
    why=(
        "An owner reference keeps the version that it was written with. Once v1beta1 is not served, the garbage "
        "collector cannot follow it, and the NodeClaim stays when its NodePool is deleted."
    ),
    reads=("nodeclaims",),
    says=("{count} NodeClaim names its NodePool as v1beta1", "{count} NodeClaims name their NodePool as v1beta1"),
    how="Reads the apiVersion of the NodePool among the ownerReferences of each NodeClaim.",
    hops=hops_from(BETA_LEFT),
    resolved_by=("roll_nodes",),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "Kubernetes documentation, Garbage Collection",
    ),
    remedy_tools=("kubectl",),
)
CURRENT = kinds.NODE_POOL.api_version("v1")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    running = case.running.release
    if running is not None and minor_order(running.minor) < minor_order(CONVERTED):
        yield NotApplicable(f"up to {CONVERTED} that is the current version; ask again once it runs")
        return
    yield from _beta_owned(case.inventory)


@once
def _beta_owned(inventory: Inventory) -> tuple[Evidence, ...]:
    pairs = ((claim, claim.metadata.owner(kinds.NODE_POOL.kind)) for claim in own_claims(inventory))
    path = "metadata.ownerReferences"
    return tuple(
        Evidence(
            kind="NodeClaim",
            name=claim.name,
            path=path,
            seen=f"{owner.api_version} {owner.kind} {owner.name}",
            wanted=CURRENT,
        )
        for claim, owner in pairs
        if owner is not None and _is_beta_owner(owner)
    )


def _is_beta_owner(owner: OwnerReference) -> bool:
    return owner.api_version.startswith(f"{kinds.CORE_GROUP}/") and owner.api_version != CURRENT


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    note = "Replace these before a pool is deleted; each deletion drains one node and ends its instance"
    yield in_cluster(delete_claims(evidence, note))
