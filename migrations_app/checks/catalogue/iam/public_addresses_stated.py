"""Fails for each node class without associatePublicIPAddress where a policy of the controller requires it."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.evidence import FLAG, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, merge_patch_of
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.hops import CONVERTED

check = Check(
    __name__,
    title="Node classes set the public address where a policy requires it",
    phase="iam",
    severity="info",
    why=(
        "Up to 0.37 Karpenter sent false for private subnets, 1.0 sends nothing: a policy that requires the value "
        "refuses the launch."
    ),
    how=(
        "Reads associatePublicIPAddress of each node class, and policies and boundaries of the controller that name "
        "the key."
    ),
    reads=("ec2nodeclasses",),
    says=(
        "{count} node class does not set associatePublicIPAddress",
        "{count} node classes do not set associatePublicIPAddress",
    ),
    hops=(CONVERTED,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws#6847",
    ),
    remedy_tools=OBJECT_TOOLS,
)
PATH = "spec.associatePublicIPAddress"
CONDITION = "ec2:AssociatePublicIpAddress"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    malformed, classes = split_malformed(classes, {PATH: FLAG})
    yield from malformed
    policies = sorted(_policies_with_key(case.inventory))
    for ec2_node_class in classes:
        if ec2_node_class.get(PATH) is None and policies:
            seen = f"absent, and {', '.join(policies)} requires {CONDITION}"
            yield at_field(ec2_node_class, PATH, seen=seen, wanted="false in private subnets")
        elif ec2_node_class.get(PATH) is None:
            yield ManualCheck(
                f"EC2NodeClass {ec2_node_class.name}: look for {CONDITION} in policies of the organisation"
            )


def _policies_with_key(inventory: Inventory) -> set[str]:
    """Names of the controller's policies and boundaries that have a condition on this key."""
    roles = inventory.aws.controller_roles.items
    documents = (document for role in roles for part in (role.policies, role.boundary) for document in part.items)
    return {document.name for document in documents if CONDITION.lower() in document.text.lower()}


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("In public subnets write true; nodes of the class drift",)
    yield from change_remedies(case, evidence, what=f"set {PATH}", line=merge_patch_of(PATH, value=False), notes=notes)
