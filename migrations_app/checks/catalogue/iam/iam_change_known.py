"""Asks a person to confirm the IAM actions that are new with the target version, where no policy was read."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    ManualCheck,
    NotApplicable,
    Remedy,
    Unknown,
)
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.aws import POLICIES, could_not_read
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.iam_gaps import new_actions
from migrations_app.checks.shell import word
from migrations_app.errors import InvalidInput
from migrations_app.inventory.aws_facts.permissions import controller_role
from migrations_app.inventory.parts import NOT_ASKED, Unseen

check = Check(
    __name__,
    title="The new IAM permissions of the upgrade are known to be granted",
    phase="iam",
    severity="blocker",
    why=(
        "The running version does not need them, so they may be missing after the upgrade. Without the policies "
        "karpdash cannot tell, and that is not ready."
    ),
    how=(
        "Compares the actions that the target version needs with those of the release before. Where there are new "
        "ones, the policies must be known: by access to AWS, by scan --iam-policy or in the bundle. A waiver for the "
        "upgrade records what a person confirmed."
    ),
    reads=("controller",),
    says=("{count} new IAM permission may not be granted", "{count} new IAM permissions may not be granted"),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=("iam",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    try:
        actions = new_actions(case)
    except InvalidInput as error:
        yield Unknown(str(error))
        return
    roles = case.inventory.aws.controller_roles
    if not actions:
        yield NotApplicable("the upgrade needs no new action")
    elif roles == NOT_ASKED:
        yield ManualCheck(_task(case, actions), tuple(policy_check_remedy(case)))
    elif isinstance(roles, Unseen):
        yield could_not_read(POLICIES, roles)


def _task(case: CheckContext, actions: tuple[str, ...]) -> str:
    """What to do comes first: pages and lists shorten long texts."""
    count = f"{len(actions)} new IAM permission{'s' if len(actions) > 1 else ''}"
    return (
        f"{count} may not be granted: give karpdash the controller's policies or access to AWS, or verify them and "
        f"waive this check for this upgrade; {case.hop.release} asks for {', '.join(actions)}, which {case.hop.start} "
        "does not"
    )


def policy_check_remedy(case: CheckContext) -> Iterator[Remedy]:
    """How to have karpdash check the policies instead of confirming them by hand."""
    policy = "aws iam get-policy-version --policy-arn POLICY_ARN --version-id VERSION --query PolicyVersion.Document"
    arn = controller_role(case.inventory)
    role = word(arn.rpartition("/")[2]) if arn else "CONTROLLER_ROLE"
    task = PersonTask(
        what=f"save the policies of the controller's role: {policy} > policy.json",
        why=f"which policies {arn} has was not read" if arn else "which role that is, and its policies, were not read",
        where=f"aws iam list-attached-role-policies --role-name {role}",
        aws=True,
    )
    judge_it = read_command("karpdash", "iam", "--policy", "policy.json", "--to", str(case.hop.release))
    yield in_aws(group(task, judge_it, notes=("With the documents of its policies the answer is exact, without AWS",)))


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from policy_check_remedy(case)
