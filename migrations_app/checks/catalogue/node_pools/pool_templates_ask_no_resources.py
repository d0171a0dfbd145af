"""Fails for each NodePool with spec.template.spec.resources."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAP, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED

check = Check(
    __name__,
    title="No NodePool template has resources",
    phase="resources",
    severity="blocker",
    why="From 0.34 on the API refuses the field: the NodePool can be neither changed nor converted.",
    how="Reads spec.template.spec.resources of each NodePool.",
    reads=("nodepools",),
    says=(
        "{count} NodePool template has the refused field resources",
        "{count} NodePool templates have the refused field resources",
    ),
    hops=(ALPHA_LEFT, CONVERTED),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml",
    ),
    remedy_tools=OBJECT_TOOLS,
)
PATH = "spec.template.spec.resources"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools = own_pools(case.inventory)
    if not pools:
        yield NotApplicable("there is no NodePool of Karpenter's own yet")
    malformed, pools = split_malformed(pools, {PATH: MAP})
    yield from malformed
    for pool in pools:
        requests = pool.get(PATH)
        if isinstance(requests, dict) and any(requests.values()):
            yield at_field(pool, PATH, seen=requests, wanted="absent")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from change_remedies(case, evidence, what=f"take {PATH} out", line=merge_patch_of(PATH, None))
