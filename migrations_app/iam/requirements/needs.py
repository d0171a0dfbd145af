"""Why the controller needs an action, what its refusal causes, and what it logs then.

Sources are read as aws/karpenter-provider-aws@<tag>:<path> unless another repository is named. An action that an
official policy grants but no release calls (see remedies.py) has no row here. EC2 Describe actions are rows of
describe_actions.py.
"""

from migrations_app.iam.requirements.describe_actions import READS
from migrations_app.iam.requirements.features import Minor, Span, minor_text
from migrations_app.iam.requirements.need import Need

_INSTANCE_PROFILES = "v0.37.8:pkg/providers/instanceprofile/instanceprofile.go"
_TEMPLATES = "v0.37.8:pkg/providers/launchtemplate/launchtemplate.go"
_VALIDATION = "v1.14.1:pkg/controllers/nodeclass/validation.go"
_SQS = "v1.14.1:pkg/providers/sqs/sqs.go"

NEEDS: tuple[Need, ...] = (
    *(read.need for read in READS),
    Need(
        action="ec2:CreateLaunchTemplate",
        effect="No launch template can be made, so no new combination of AMI, user data and tags is launched.",
        log="creating launch template, UnauthorizedOperation; 1.3 on: CreateLaunchTemplateAuthCheckFailed",
        source=_TEMPLATES,
    ),
    Need(
        action="ec2:CreateFleet",
        effect="Nothing is launched.",
        log="creating fleet UnauthorizedOperation; 1.3 on: CreateFleetAuthCheckFailed",
        source=_VALIDATION,
    ),
    Need(
        action="ec2:RunInstances",
        effect="The fleet answers with an error for each pool and no instance starts.",
        log="with fleet error(s), UnauthorizedOperation; 1.3 on: RunInstancesAuthCheckFailed",
        source=f"{_VALIDATION}; aws/karpenter-provider-aws#1488",
    ),
    Need(
        action="ec2:CreateTags",
        effect="What a launch creates is refused because its tags are. With the spot request alone, only spot fails.",
        log="with fleet error(s), UnauthorizedOperation ... ec2:CreateTags on resource spot-instances-request/*",
        source="aws/karpenter-provider-aws#5270; kubernetes-sigs/karpenter#1713",
    ),
    Need(
        action="ec2:CreateTags",
        span=Span((0, 28), (0, 37)),
        existing=True,
        effect="Running instances do not get their names and owner tags; the controller tries for ever.",
        log="tagging instance, UnauthorizedOperation",
        source="v0.37.8:pkg/controllers/nodeclaim/tagging/controller.go",
    ),
    Need(
        action="ec2:CreateTags",
        span=Span((1, 0)),
        existing=True,
        effect=(
            "Running instances do not get their names, and those launched before 1.0 not the tag eks:eks-cluster-name:"
            " 1.1 and later list by it and do not see them."
        ),
        log="tagging nodeclaim, tagging instance, UnauthorizedOperation ... ec2:CreateTags on resource: instance/",
        source="terraform-aws-modules/terraform-aws-eks#3134, #3305; v1.1.9:pkg/providers/instance/instance.go",
    ),
    Need(
        action="ec2:TerminateInstances",
        effect="Nodes drain but their instances, finalizers and cost stay.",
        log="terminating cloudprovider instance, terminating instance, UnauthorizedOperation",
        source="aws-ia/terraform-aws-eks-blueprints-addons#304",
    ),
    Need(
        action="ec2:DeleteLaunchTemplate",
        span=Span((0, 28), (0, 35)),
        effect="Launch templates pile up.",
        log="failed to delete launch template",
        source=_TEMPLATES,
    ),
    Need(
        action="ec2:DeleteLaunchTemplate",
        span=Span((0, 36)),
        effect="Launch templates pile up and a deleted EC2NodeClass hangs on its finalizer.",
        log="deleting launch templates",
        source=_TEMPLATES,
    ),
    Need(
        action="arc-zonal-shift:GetManagedResource",
        span=Span((1, 12)),
        effect="The controller panics at start.",
        log="Unable to find Cluster ... in Zonal Shift",
    ),
    Need(
        action="pricing:GetProducts",
        effect="Built-in on-demand prices are used. It is asked in another region, so a region condition breaks it.",
        log="retreiving on-demand pricing data",
        source="v1.14.1:pkg/providers/pricing/pricing.go",
    ),
    Need(
        action="ssm:GetParameter",
        effect="AMIs of an alias or an AMI family do not resolve.",
        log="getting ssm parameter",
        source="v0.37.8:pkg/providers/ssm/provider.go",
    ),
    Need(
        action="sqs:GetQueueUrl",
        span=Span((0, 28), (0, 32)),
        effect="Interruptions are not handled; the failure is only logged.",
        log="fetching queue url",
        source="v0.32.10:pkg/providers/sqs/sqs.go",
    ),
    Need(
        action="sqs:GetQueueUrl",
        span=Span((0, 33), (1, 3)),
        effect="The controller panics at start.",
        log="creating sqs provider",
        source="v0.33.10:pkg/controllers/controllers.go",
    ),
    Need(
        action="sqs:GetQueueUrl",
        span=Span((1, 4)),
        effect="Interruptions are not handled; it is logged and tried again.",
        log="failed to create valid sqs provider",
        source="v1.4.4:pkg/controllers/interruption/controller.go",
    ),
    Need(
        action="sqs:ReceiveMessage",
        effect="Nobody reacts to spot interruptions and events.",
        log="receiving sqs messages",
        source=_SQS,
    ),
    Need(
        action="sqs:DeleteMessage",
        effect="The same messages come back until they expire after 300 s.",
        log="deleting messages from sqs queue",
        source=_SQS,
    ),
    Need(
        action="iam:PassRole",
        effect="Launches are refused, and from 0.32 putting the role into an instance profile is.",
        log="UnauthorizedOperation or AccessDenied naming iam:PassRole on the node role",
        source="v1.14.1:website/content/en/preview/reference/cloudformation.md",
    ),
    Need(
        action="iam:GetInstanceProfile",
        span=Span((0, 32)),
        effect="The profile of the node class does not resolve and the node class is never ready.",
        log="getting instance profile ... AccessDenied ... iam:GetInstanceProfile",
        source="terraform-aws-modules/terraform-aws-eks#2811",
    ),
    Need(
        action="iam:CreateInstanceProfile",
        span=Span((0, 32)),
        effect="A new node class, and from 1.7 one with a changed spec.role, never gets a profile.",
        log="creating instance profile ... AccessDenied",
        source=_INSTANCE_PROFILES,
    ),
    Need(
        action="iam:AddRoleToInstanceProfile",
        span=Span((0, 32)),
        effect="The profile stays without a role and the node class is never ready.",
        log="adding role ... to instance profile",
        source=_INSTANCE_PROFILES,
    ),
    Need(
        action="iam:RemoveRoleFromInstanceProfile",
        span=Span((0, 32)),
        effect="A role is not swapped (to 1.6) and a profile is not removed.",
        log="removing role ... for instance profile",
        source=_INSTANCE_PROFILES,
    ),
    Need(
        action="iam:DeleteInstanceProfile",
        span=Span((0, 32)),
        effect="A deleted EC2NodeClass hangs on its finalizer.",
        log="deleting instance profile",
        source=_INSTANCE_PROFILES,
    ),
    Need(
        action="iam:TagInstanceProfile",
        span=Span((1, 0), (1, 0)),
        effect="Node classes whose profile was made by 0.32 to 0.37 are not reconciled.",
        log="tagging instance profile ... AccessDenied",
        source="v1.0.14:pkg/providers/instanceprofile/instanceprofile.go",
    ),
    Need(
        action="iam:TagInstanceProfile",
        span=Span((0, 32)),
        effect="None seen: tags go along with the creation call. Every official policy grants it nevertheless.",
        source=_INSTANCE_PROFILES,
    ),
    Need(
        action="iam:ListInstanceProfiles",
        span=Span((1, 7)),
        effect="Garbage collection of profiles fails at each run and a deleted EC2NodeClass hangs; launches go on.",
        log="listing instance profiles ... AccessDenied ... iam:ListInstanceProfiles",
        source="v1.7.6:pkg/controllers/nodeclass/controller.go; kubernetes/kops#17854",
    ),
    Need(
        action="eks:DescribeCluster",
        effect="Without a configured endpoint the controller ends at start; AL2023 node classes do not validate.",
        log="unable to detect the cluster endpoint (to 0.36); failed detecting cluster endpoint (0.37 on)",
    ),
    Need(
        action="sts:AssumeRole",
        span=Span((0, 30), (0, 37)),
        effect="No call to AWS works.",
        source="v0.30.0:pkg/operator/operator.go",
    ),
)


def need_for(action: str, minor: Minor, *, existing: bool = False, table: tuple[Need, ...] = NEEDS) -> Need:
    """The row of an action in a release; the first if several match. Raises LookupError if there is none."""
    rows = [need for need in table if need.action == action and minor in need.span]
    if not rows:
        raise LookupError(f"needs.py has no row for {action} in {minor_text(minor)}")
    return next((need for need in rows if need.existing == existing), rows[0])
