"""Fails for each NodePool without expireAfter."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import is_v1, own_pools
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every NodePool sets its expiry",
    phase="resources",
    severity="info",
    why=(
        "Without it the expiry is 720h. From 1.0 on an expired node is drained at once, without a replacement and "
        "whatever the budgets say."
    ),
    how="Reads expireAfter of each NodePool, under spec.disruption in v1beta1 and in the template in v1.",
    reads=("nodepools",),
    says=("{count} NodePool sets no expiry", "{count} NodePools set no expiry"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.9:pkg/apis/v1/nodeclaim_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
BETA, V1 = "spec.disruption.expireAfter", "spec.template.spec.expireAfter"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    for pool in pools:
        path = V1 if is_v1(case.inventory.nodepools, pool) else BETA
        malformed, _ = split_malformed([pool], {path: TEXT})
        yield from malformed
        if not malformed and pool.get(path) is None:
            yield at_field(pool, path, seen="absent, which means 720h", wanted="a duration, or Never")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("A change of the template's expireAfter drifts nodes",)
    yield from change_remedies(case, evidence, what=f"state {evidence[0].path}", line=edit_task, notes=notes)
