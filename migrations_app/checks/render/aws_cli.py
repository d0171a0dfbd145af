"""Text for the aws program: attaching and detaching policies, and other calls."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from migrations_app.checks.changes import AwsCall, Change, ChangeGroup, IamStatements, Observation, PersonTask, leaves
from migrations_app.checks.render.lines import comments, observed, task_lines
from migrations_app.checks.shell import quoted
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.inventory.objects.cluster_arn import RoleArn, read_role_arn

ROLE_UNKNOWN = "nothing that was read names the role"


def text(change: Change) -> str:
    """The command lines, as comments if the controller's role is unknown. Empty if a part of the change is not for AWS,
    or the ARN of the role is invalid."""
    steps = tuple(leaves(change))
    has_aws_change = any(map(_of_aws, steps))
    renderable = (IamStatements, AwsCall, Observation, PersonTask)
    named = all(not step.role or read_role_arn(step.role) for step in steps if isinstance(step, IamStatements))
    if not has_aws_change or not named or not all(isinstance(step, renderable) for step in steps):
        return ""
    return "\n".join(_lines(change))


def _of_aws(change: Change) -> bool:
    match change:
        case IamStatements() | AwsCall():
            return True
        case PersonTask():
            return change.aws
        case Observation():
            return any(stage[0] == "aws" for stage in change.pipe)
    return False


def _lines(change: Change) -> Iterator[str]:
    yield from comments(change.notes)
    match change:
        case ChangeGroup():
            for step in change.steps:
                yield from _lines(step)
        case IamStatements():
            role = read_role_arn(change.role)
            yield from _policy(change, role) if role else _for_a_person(change)
        case AwsCall():
            yield command(change.service, change.operation, *change.words)
        case Observation():
            yield observed(change)
        case PersonTask():
            yield from task_lines(change)


def _policy(change: IamStatements, role: RoleArn) -> Iterator[str]:
    inside = ("--role-name", role.name, "--policy-name", change.policy)
    arn = f"arn:{role.partition}:iam::{role.account}:policy/{change.policy}"
    on = ("--role-name", role.name, "--policy-arn", arn)
    if change.inline and change.removed:
        yield command("iam", "delete-role-policy", *inside)
    elif change.inline:
        yield command("iam", "put-role-policy", *inside, "--policy-document", _document(change))
    elif change.removed:
        yield command("iam", "detach-role-policy", *on)
        yield command("iam", "delete-policy", "--policy-arn", arn)
    else:
        yield command("iam", "create-policy", "--policy-name", change.policy, "--policy-document", _document(change))
        yield command("iam", "attach-role-policy", *on)


def _for_a_person(change: IamStatements) -> Iterator[str]:
    """The policy as comments, because there is no command without the name of the role."""
    task = "detach {} from" if change.removed else "make the policy {} of this document and attach it to"
    yield from task_lines(
        PersonTask(what=f"{task.format(change.policy)} the role of the controller", why=ROLE_UNKNOWN, aws=True)
    )
    if not change.removed:
        yield from comments([_document(change)])


def _document(change: IamStatements) -> str:
    return compact({"Version": WITH_VARIABLES, "Statement": list(change.statements)})


def command(*words: str) -> str:
    """One command line of the aws program."""
    return " ".join(map(quoted, ("aws", *words)))


def compact(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
