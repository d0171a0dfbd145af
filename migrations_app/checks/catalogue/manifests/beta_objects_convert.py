"""Fails for each field of a v1beta1 NodePool or EC2NodeClass that v1 refuses."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task
from migrations_app.checks.shared.conversion_findings import STOPPING, conversion_items, conversion_losses
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import BETA_LEFT, CONVERTED

check = Check(
    __name__,
    title="Every v1beta1 object can be converted",
    phase="resources",
    severity="blocker",
    why=(
        "Where a field has no v1 form the conversion webhook writes a placeholder, and Karpenter does not use such "
        "node classes and NodePools."
    ),
    how="Converts each v1beta1 object as `karpdash convert` does; each error and each open decision is one result.",
    reads=("nodepools", "ec2nodeclasses"),
    says=(
        "{count} field has no v1 form, so its object cannot be converted",
        "{count} fields have no v1 form, so their objects cannot be converted",
    ),
    hops=(CONVERTED, BETA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go",
        "kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/nodepool_conversion.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)
# Other checks report these: ubuntu_images_named and node_classes_have_one_identity.
CODES = STOPPING - {"ubuntu-needs-ami-terms", "role-is-arn", "node-role-placeholder"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    if not conversion_items(case.inventory, generation="beta"):
        yield NotApplicable("nothing is read as v1beta1")
    yield from conversion_losses(case.inventory, generation="beta", codes=CODES)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    what = f"change {row.path} of {row.kind} {row.name}: {row.seen}"
    notes = ("Shows what becomes of each object and what is missing; changes nothing",)
    yield from change_remedies(case, evidence, what=what, line=conversion_task, notes=notes)
