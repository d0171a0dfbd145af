"""No setting of the v1beta1 objects changes its meaning with 1.0 without anybody's having seen it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.karpenter_objects import changed, converted
from migrations_app.checks.shared.conversion_findings import items, lost
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="Nothing of the v1beta1 objects changes its meaning",
    phase="resources",
    severity="warning",
    why="v1 drops these settings, or heeds what v1beta1 did not: pools launch or disrupt otherwise than before.",
    how="Each v1beta1 object is converted as `karpdash convert` does it; what is lost on the way is a cause.",
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
    if not items(case.inventory, generation="beta"):
        yield NotApplicable("nothing is read as v1beta1")
    yield from lost(case.inventory, generation="beta", codes=CODES)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("Prints the v1 form with the old behaviour written out; changes nothing in the cluster",)
    yield from changed(case, evidence, what="use what `karpdash convert` prints", line=converted, notes=notes)
