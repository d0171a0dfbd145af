"""Why the controller needs an action, what its refusal causes, and what it logs then.

Sources are read as aws/karpenter-provider-aws@<tag>:<path> unless another repository is named. An action that an
official policy grants but no release calls (see remedies.py) has no row here. Actions that are asked for in one way
are rows of describe_actions.py and service_actions.py.
"""

from migrations_app.iam.requirements.describe_actions import DESCRIBE_ACTIONS
from migrations_app.iam.requirements.features import Minor, Need, Span, minor_text
from migrations_app.iam.requirements.service_actions import SERVICE_ACTIONS

_INSTANCE_PROFILES = "v0.37.8:pkg/providers/instanceprofile/instanceprofile.go"
_TAGS_OF_CREATION = "openshift/installer#7843"
_TEMPLATES = "v0.37.8:pkg/providers/launchtemplate/launchtemplate.go"
_VALIDATION = "v1.14.1:pkg/controllers/nodeclass/validation.go"

NEEDS: tuple[Need, ...] = (
    *(row.need for row in DESCRIBE_ACTIONS),
    *(row.need for row in SERVICE_ACTIONS),
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
        effect=(
            "A new node class never gets a profile, because the tags of the creation are refused, and node classes"
            " whose profile was made by 0.32 to 0.37 are not reconciled."
        ),
        log="creating or tagging instance profile ... AccessDenied ... iam:TagInstanceProfile",
        source=f"v1.0.14:pkg/providers/instanceprofile/instanceprofile.go; {_TAGS_OF_CREATION}",
    ),
    Need(
        action="iam:TagInstanceProfile",
        span=Span((0, 32)),
        effect=(
            "A new node class, and from 1.7 one with a changed spec.role, never gets a profile: AWS asks for this"
            " action when a profile is created with tags."
        ),
        log="creating instance profile ... AccessDenied ... iam:TagInstanceProfile",
        source=f"{_INSTANCE_PROFILES}; {_TAGS_OF_CREATION}",
    ),
    Need(
        action="iam:ListInstanceProfiles",
        span=Span((1, 7)),
        effect="Garbage collection of profiles fails at each run and a deleted EC2NodeClass hangs; launches go on.",
        log="listing instance profiles ... AccessDenied ... iam:ListInstanceProfiles",
        source="v1.7.6:pkg/controllers/nodeclass/controller.go; kubernetes/kops#17854",
    ),
)


def need_for(
    action: str, minor: Minor, *, existing: bool = False, request: str = "", table: tuple[Need, ...] = NEEDS
) -> Need:
    """The row of an action in a release: the one about the request of that id, otherwise the first. Raises LookupError
    if there is none.
    """
    rows = [need for need in table if need.action == action and minor in need.span]
    if not rows:
        raise LookupError(f"needs.py has no row for {action} in {minor_text(minor)}")
    near = [need for need in rows if need.existing == existing] or rows
    return next((need for need in near if need.request == request), near[0])
