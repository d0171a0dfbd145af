"""What is said where AWS, or a part of it, was not looked at: why the answer is open and how to give access.

Remedies in AWS with the cluster's real names: the aws command and Terraform. JSON is an expression of HCL.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from migrations_app.checks.base import Reason, Remedy, Unknown
from migrations_app.checks.shell import quoted as as_word
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import NOT_ASKED, Unseen

POLICIES = f"{AWS_PREFIX}controller_roles"
GIVE_ACCESS = "give karpdash the cluster's ARN and a role it may assume (AWS access of the cluster), then scan again"
NOT_LOOKED_AT = f"AWS was not looked at: {GIVE_ACCESS}"
HAND_IN = "or hand in the policies of the controller's role (karpdash scan --iam-policy)"
AWS_NOT_ASKED = Reason("aws_not_asked", AWS_PREFIX.rstrip("."), NOT_ASKED.why)


def could_not_read(name: str, part: Unseen) -> Unknown:
    """That nothing is told by what has that name, a part or what stands in one, and why."""
    if name.startswith(AWS_PREFIX) and part == NOT_ASKED:
        return Unknown(f"{NOT_LOOKED_AT}, {HAND_IN}" if name == POLICIES else NOT_LOOKED_AT, AWS_NOT_ASKED)
    told = f"{name} could not be read: {part.why}" + (f" ({part.detail})" if part.detail else "")
    return Unknown(told, unread_reason(name, part))


def unread_reason(name: str, part: Unseen) -> Reason | None:
    """The part behind an answer that is missing: the first of several; None where the name is not that of a part."""
    if part.behind is not None:
        return Reason("part_unread", part.behind.part, part.behind.why)
    known = name in PART_NAMES or name.startswith(AWS_PREFIX)
    return Reason("part_unread", name, part.why) if known else None


Document = Mapping[str, Any]


def aws(*lines: str) -> Remedy:
    """Commands of the aws program, each argument quoted where it needs to be by the one who built the line."""
    return Remedy(how="iam", text="\n".join(lines))


def command(*words: str) -> str:
    """One command line of the aws program."""
    return " ".join(map(as_word, ("aws", *words)))


def compact(document: Document) -> str:
    return json.dumps(document, separators=(",", ":"))


def hcl(kind: str, name: str, *, arguments: Mapping[str, object]) -> str:
    """One block of Terraform. A value that begins with jsonencode( or a reference is for `expression`."""
    lines = [
        f"  {key} = {value if isinstance(value, HclExpression) else quoted(value)}" for key, value in arguments.items()
    ]
    return "\n".join([f'resource "{kind}" "{label(name)}" {{', *lines, "}"])


class HclExpression(str):
    """Terraform text that stands for itself, not for a string."""

    __slots__ = ()


def encoded(document: Document) -> HclExpression:
    return HclExpression(f"jsonencode({quoted(document)})")


def quoted(value: object) -> str:
    """A value as HCL reads it: its two template openings escaped."""
    return json.dumps(value).replace("${", "$${").replace("%{", "%%{")


def label(name: str) -> str:
    """A name as a label of Terraform: letters, digits, hyphens and underscores, no digit first."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "_" for sign in name)
    return plain if plain[:1].isalpha() else f"_{plain}"


def added_to_role(role_arn: str, name: str, *, documents: Sequence[Document]) -> Iterator[Remedy]:
    """Policies beside those the role has: as managed policies by command, and as inline ones in Terraform."""
    role = read_role_arn(role_arn)
    role_name = role.name if role else "ROLE"
    owner = f"arn:{role.partition}:iam::{role.account}" if role else "arn:aws:iam::ACCOUNT"
    names = [name if len(documents) == 1 else f"{name}-{n}" for n in range(1, len(documents) + 1)]
    lines: list[str] = []
    for one, document in zip(names, documents, strict=True):
        lines.append(command("iam", "create-policy", "--policy-name", one, "--policy-document", compact(document)))
        arn = f"{owner}:policy/{one}"
        lines.append(command("iam", "attach-role-policy", "--role-name", role_name, "--policy-arn", arn))
    blocks = [
        hcl("aws_iam_role_policy", one, arguments={"name": one, "role": role_name, "policy": encoded(document)})
        for one, document in zip(names, documents, strict=True)
    ]
    if documents:
        yield aws("# Beside the policies that are there: allow statements add up", *lines)
        yield Remedy(how="terraform", text="\n\n".join(blocks))
