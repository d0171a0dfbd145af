"""Fails for each setting of a v1beta1 object that v1 drops or reads in another way."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task
from migrations_app.checks.shared.conversion_findings import conversion_items, conversion_losses
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="Every v1beta1 setting keeps its meaning in v1",
    phase="resources",
    severity="warning",
    why=(
        "v1 drops these settings, or applies settings that v1beta1 ignored: NodePools launch or disrupt nodes in "
        "another way."
    ),
    how="Converts each v1beta1 object as `karpdash convert` does; each setting that is lost is one result.",
    reads=("nodepools", "ec2nodeclasses"),
    says=("{count} setting changes its meaning in v1", "{count} settings change their meaning in v1"),
    hops=(CONVERTED,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/nodepool_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
CODES = frozenset({"consolidate-after-odd", "selector-id-exclusive", "unknown-field"})


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not conversion_items(case.inventory, generation="beta"):
        yield NotApplicable("nothing is read as v1beta1")
    yield from conversion_losses(case.inventory, generation="beta", codes=CODES)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("Prints the v1 form with the old behaviour written out; changes nothing in the cluster",)
    yield from change_remedies(
        case, evidence, what="use what `karpdash convert` prints", line=conversion_task, notes=notes
    )
