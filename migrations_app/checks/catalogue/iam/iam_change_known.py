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
from migrations_app.checks.remedies.aws import POLICIES, could_not_read, policy_check_remedy
from migrations_app.checks.shared.iam_gaps import new_actions
from migrations_app.errors import InvalidInput
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


@check.advise
def advise(case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from policy_check_remedy(case)
