"""Fails for each alpha AWSNodeTemplate that still exists."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import ChangeTarget
from migrations_app.checks.remedies.commands import deletion_remedies, none_left_where_served
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

KIND = kinds.AWS_NODE_TEMPLATE
check = Check(
    __name__,
    title="No AWSNodeTemplate is left",
    phase="cleanup",
    severity="warning",
    why=(
        "From 0.33 on Karpenter does not read it: its settings have to be in an EC2NodeClass before its Provisioner "
        "is deleted."
    ),
    how="Lists AWSNodeTemplates in every version that was ever served.",
    reads=("awsnodetemplates",),
    says=("{count} AWSNodeTemplate still exists", "{count} AWSNodeTemplates still exist"),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    resolved_by=("convert_and_apply", "remove_legacy", "forced_deletion"),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    for awsnodetemplate in case.inventory.awsnodetemplates.items:
        seen = "being deleted" if awsnodetemplate.metadata.deleting else KIND.api_versions[0]
        yield Evidence(kind=KIND.kind, name=awsnodetemplate.name, seen=seen, wanted=f"an {KIND.successor} in its place")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    first = "When no Provisioner names it any more: the line looks whether there is one at all"
    target, items = ChangeTarget(KIND.kind, "", resource=KIND.crd_name), case.inventory.awsnodetemplates.items
    needs, guard = ("legacy_provisioners_gone",), none_left_where_served(kinds.PROVISIONER, case.inventory)
    yield from deletion_remedies(target, items, first=first, when="before", needs=needs, guard=lambda _template: guard)
