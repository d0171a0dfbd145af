"""Remedies in AWS with the cluster's real names, and the results for parts of AWS that were not read."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from migrations_app.checks.base import CheckContext, Reason, Remedy, Unknown
from migrations_app.checks.changes import AwsCall, Change, PersonTask, group
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.render.terraform import with_apply
from migrations_app.checks.shell import word
from migrations_app.inventory.aws_facts.permissions import controller_role
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES
from migrations_app.inventory.parts import NOT_ASKED, Unseen

POLICIES = f"{AWS_PREFIX}controller_roles"
GIVE_ACCESS = "give karpdash the cluster's ARN and a role it may assume (AWS access of the cluster), then scan again"
NOT_LOOKED_AT = f"AWS not connected: {GIVE_ACCESS}"
HAND_IN = "or provide the policies of the controller's role (karpdash scan --iam-policy)"
AWS_NOT_ASKED = Reason("aws_not_asked", AWS_PREFIX.rstrip("."), NOT_ASKED.why)


def could_not_read(name: str, part: Unseen) -> Unknown:
    """The Unknown for a part, or an object in it, that could not be read, with the reason."""
    if name.startswith(AWS_PREFIX) and part == NOT_ASKED:
        return Unknown(f"{NOT_LOOKED_AT}, {HAND_IN}" if name == POLICIES else NOT_LOOKED_AT, AWS_NOT_ASKED)
    return Unknown(f"{name} could not be read: {part.full_reason}", unread_reason(name, part))


def unread_reason(name: str, part: Unseen) -> Reason | None:
    """The reason for the first of several parts that were not read; None if the name is not that of a part."""
    if part.behind is not None:
        return Reason("part_unread", part.behind.part, part.behind.why)
    is_part = name in PART_NAMES or name.startswith(AWS_PREFIX)
    return Reason("part_unread", name, part.why) if is_part else None


def aws_call(service: str, operation: str, *words: str, final: str = "", undo: AwsCall | None = None) -> AwsCall:
    """One call of the aws program, with its undo or the reason why it has none."""
    return AwsCall(service=service, operation=operation, words=words, final=final, undo=undo)


def terraform_remedy(change: Change, *blocks: str) -> Remedy:
    """The change as Terraform code."""
    return Remedy(how="terraform", text=with_apply("\n\n".join(blocks)), change=change)


def upgrade_control_plane(name: str, steps: Sequence[tuple[str, str]]) -> Change:
    """Upgrades the control plane to each of these Kubernetes minors in turn; the text of a minor says what to do first.
    A manual task if the cluster's name is unknown."""
    if not name:
        task = f"raise Kubernetes to {steps[-1][0]}, one minor at a time"
        return PersonTask(what=task, why="nothing that was read tells the name of the cluster in EKS", aws=True)
    steps_of_control_plane: list[Change] = []
    for minor, before in steps:
        words, notes = ("--name", name, "--kubernetes-version", minor), (before,) if before else ()
        final = "a control plane is not rolled back to an earlier minor"
        steps_of_control_plane.append(
            replace(aws_call("eks", "update-cluster-version", *words, final=final), notes=notes)
        )
        steps_of_control_plane.append(read_command("aws", "eks", "wait", "cluster-active", "--name", name))
    note = "One minor at a time; after each its node groups and add-ons, and look that all is well"
    return group(*steps_of_control_plane, notes=(note,))


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
