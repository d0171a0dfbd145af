"""Fails for each node class with spec.role while the controller runs with ISOLATED_VPC."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.aws_facts.names import setting
from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No node class needs IAM in an isolated VPC",
    phase="resources",
    severity="warning",
    why="For spec.role Karpenter creates instance profiles in IAM, and an isolated VPC has no route to IAM.",
    how="Reads ISOLATED_VPC or aws.isolatedVPC, and node classes with a role instead of an instance profile.",
    reads=("controller", "settings", "ec2nodeclasses"),
    says=(
        "{count} node class needs IAM, which an isolated VPC cannot reach",
        "{count} node classes need IAM, which an isolated VPC cannot reach",
    ),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
        "aws/karpenter-provider-aws#5090",
    ),
    remedy_tools=OBJECT_TOOLS,
)
KEY = "aws.isolatedVPC"
TRUE = ("true", "1", "t")


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = setting(case.inventory, KEY)
    if isinstance(values, Unseen):
        yield could_not_read("whether the VPC is isolated", values)
        return
    if not any(value.strip().lower() in TRUE for value in values.items):
        yield NotApplicable("ISOLATED_VPC is not set")
        return
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield ManualCheck("the VPC is isolated: give every new EC2NodeClass instanceProfile, not role, from 0.32.2 on")
    for ec2_node_class in classes:
        if not text(ec2_node_class, "spec.instanceProfile"):
            wanted = "instanceProfile, made beforehand"
            yield Evidence(
                kind="EC2NodeClass",
                name=ec2_node_class.name,
                path="spec.role",
                seen=str(ec2_node_class.get("spec.role")),
                wanted=wanted,
            )


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("role cannot be changed in place: create the node class again under another name",)
    yield from change_remedies(
        case, evidence, what="name an instanceProfile in place of role", line=edit_task, notes=notes
    )
