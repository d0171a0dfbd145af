"""Fails if a NodePool allows Spot and the Spot service-linked role does not exist in the account."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.remedies.aws import aws_call, could_not_read, terraform_remedy
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.render.terraform import hcl
from migrations_app.inventory.facts.node_pools import spot_possible
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import labels

ROLE = "AWSServiceRoleForEC2Spot"
SERVICE = "spot.amazonaws.com"
check = Check(
    __name__,
    title="The Spot service-linked role exists",
    phase="iam",
    severity="blocker",
    why=(
        "The first Spot launch of an account needs the role, and the controller may not create it. A NodePool that "
        "sets no capacity type launches Spot where its Provisioner did not."
    ),
    reads=("nodepools", "provisioners"),
    says=("The Spot service-linked role is missing", "{count} Spot service-linked roles are missing"),
    how="Looks the role up in IAM where a NodePool allows Spot; a running Spot node of Karpenter's proves it, too.",
    sources=(
        "Amazon EC2 User Guide, service-linked role for Spot Instance requests",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/troubleshooting.md",
    ),
    remedy_tools=("terraform", "iam"),
)


STAYS = "the role serves the whole account; without spot instances it may be deleted"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    possible, role = spot_possible(case.inventory), case.inventory.aws.spot_role
    if possible is False:
        yield NotApplicable("no NodePool allows Spot")
    elif role.items or _spot_runs(case):
        return
    elif possible is None:
        yield Unknown(f"whether a NodePool allows Spot is not known: a requirement on {labels.CAPACITY_TYPE} is odd")
    elif isinstance(role, Unseen):
        yield could_not_read("aws.spot_role", role)
    else:
        yield Evidence(
            kind="Role",
            name=ROLE,
            path="iam:CreateServiceLinkedRole",
            seen="absent, and no official policy lets the controller create it",
            wanted="present. Else: no spot instance starts. Log: AuthFailure.ServiceLinkedRoleCreationNotPermitted",
        )


def _spot_runs(case: CheckContext) -> bool:
    """Whether a spot instance runs. If one does, the role exists, because AWS does not delete it then."""
    return any(node.metadata.label(labels.CAPACITY_TYPE) == labels.SPOT for node in case.inventory.nodes.items)


@check.advise
def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    change = aws_call("iam", "create-service-linked-role", "--aws-service-name", SERVICE, final=STAYS)
    yield in_aws(change)
    yield terraform_remedy(
        change, hcl("aws_iam_service_linked_role", "ec2_spot", arguments={"aws_service_name": SERVICE})
    )
