"""Fails for each alpha Provisioner that still exists."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy
from migrations_app.checks.changes import ChangeTarget
from migrations_app.checks.remedies.commands import deletion_remedies, none_left_where_served
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.karpenter import kinds
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

KIND = kinds.PROVISIONER
NEEDS = ("pools_admit_provisioner_pods", "legacy_machines_gone", "provisioners_hold_no_nodes")
check = Check(
    __name__,
    title="No Provisioner is left",
    phase="cleanup",
    severity="warning",
    why=(
        "From 0.33 on no controller reads it: its nodes are not managed, and karpenter-crd deletes it together with "
        "its CRD."
    ),
    how="Lists Provisioners in every version that was ever served.",
    reads=("provisioners",),
    says=("{count} Provisioner still exists", "{count} Provisioners still exist"),
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
    for provisioner in case.inventory.provisioners.items:
        seen = "being deleted" if provisioner.metadata.deleting else KIND.api_versions[0]
        yield Evidence(kind=KIND.kind, name=provisioner.name, seen=seen, wanted=f"a {KIND.successor} in its place")


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    first = "When no Machine is left, which the line looks at: deleting one earlier drains all of its nodes at once"
    target, items = ChangeTarget(KIND.kind, "", resource=KIND.crd_name), case.inventory.provisioners.items
    guard = none_left_where_served(kinds.MACHINE, case.inventory)
    yield from deletion_remedies(
        target, items, first=first, when="before", needs=NEEDS, guard=lambda _provisioner: guard
    )
