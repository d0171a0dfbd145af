"""Every v1beta1 NodePool and EC2NodeClass has a v1 form that the API server takes."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.karpenter_objects import changed, converted
from migrations_app.checks.shared.conversion_findings import STOPPING, items, lost
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every v1beta1 object can be converted",
    phase="resources",
    severity="blocker",
    why="The conversion webhook writes placeholders where it knows no answer, and such classes and pools are not used.",
    how="Each v1beta1 object is converted as `karpdash convert` does it; errors and open decisions are the causes.",
    reads=("nodepools", "ec2nodeclasses"),
    says=("{count} field keeps an object from being converted", "{count} fields keep objects from being converted"),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go",
        "kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/nodepool_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
# Checks of their own ask for these: ubuntu_images_named and node_classes_have_one_identity.
CODES = STOPPING - {"ubuntu-needs-ami-terms", "role-is-arn", "node-role-placeholder"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not items(case.inventory, generation="beta"):
        yield NotApplicable("nothing is read as v1beta1")
    yield from lost(case.inventory, generation="beta", codes=CODES)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    what = f"change {row.path} of {row.kind} {row.name}: {row.seen}"
    notes = ("Shows what becomes of each object and what is missing; changes nothing",)
    yield from changed(case, evidence, what=what, line=converted, notes=notes)
