"""Fails for each field of a Provisioner or AWSNodeTemplate that has no counterpart in v1beta1."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task
from migrations_app.checks.shared.conversion_findings import STOPPING, conversion_losses
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="Every Provisioner and AWSNodeTemplate can be converted",
    phase="resources",
    severity="warning",
    why="A person has to decide about every field without a counterpart in v1beta1 before the cluster can leave 0.32.",
    how="Converts each object as `karpdash convert` does; each error and each open decision is one result.",
    reads=("provisioners", "awsnodetemplates"),
    says=(
        "{count} field has no v1beta1 form, so its object cannot be converted",
        "{count} fields have no v1beta1 form, so their objects cannot be converted",
    ),
    hops=("0.32", ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws@v0.32.10:tools/karpenter-convert/pkg/convert/convert.go",
        "aws/karpenter-provider-aws#4956",
    ),
    remedy_tools=OBJECT_TOOLS,
)
# The name of the node role is never in the old object; instance_profiles_have_roles reports it.
CODES = STOPPING - {"node-role-placeholder"}


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    if not (inventory.provisioners.items or inventory.awsnodetemplates.items):
        yield NotApplicable("there is no Provisioner and no AWSNodeTemplate")
    yield from conversion_losses(inventory, generation="alpha", codes=CODES)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    row = evidence[0]
    what = f"change {row.path} of {row.kind} {row.name}: {row.seen}"
    notes = ("Shows what becomes of each object and what is missing; changes nothing",)
    yield from change_remedies(case, evidence, what=what, line=conversion_task, notes=notes)
