"""Fails for each AL2023 node class whose user data has a NodeConfig with kubelet settings."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, USER_DATA, family, text
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.karpenter.release_facts import AL2023
from migrations_app.karpenter.user_data import configures_kubelet

check = Check(
    __name__,
    title="No AL2023 user data has kubelet settings",
    phase="resources",
    severity="warning",
    why="From 1.0 on Karpenter's NodeConfig overrides the one in user data: kubelet settings there have no effect.",
    how="Reads userData of AL2023 node classes for a NodeConfig with a kubelet block.",
    reads=("ec2nodeclasses",),
    says=(
        "{count} node class sets kubelet fields in user data",
        "{count} node classes set kubelet fields in user data",
    ),
    hops=(CONVERTED,),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    malformed, classes = split_malformed(classes, {USER_DATA: TEXT, "spec.amiFamily": TEXT, AMI_TERMS: MAPS})
    yield from malformed
    for ec2_node_class in classes:
        user_data = text(ec2_node_class, USER_DATA)
        if family(ec2_node_class) == AL2023 and configures_kubelet(user_data):
            yield at_field(ec2_node_class, USER_DATA, seen="a NodeConfig with kubelet settings", wanted="spec.kubelet")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("spec.kubelet exists from v1 on; until then the settings belong to the NodePool",)
    yield from change_remedies(
        case, evidence, what="move the kubelet settings to spec.kubelet", line=edit_task, notes=notes
    )
