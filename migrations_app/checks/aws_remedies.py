"""Remedies in AWS with the cluster's real names: the aws command and Terraform. JSON is an expression of HCL."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from migrations_app.checks.shell import quoted as as_word
from migrations_app.checks.values import Remedy
from migrations_app.inventory.aws_place import read_role_arn

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
        f"  {key} = {value if isinstance(value, Expression) else quoted(value)}" for key, value in arguments.items()
    ]
    return "\n".join([f'resource "{kind}" "{label(name)}" {{', *lines, "}"])


class Expression(str):
    """Terraform text that stands for itself, not for a string."""

    __slots__ = ()


def encoded(document: Document) -> Expression:
    return Expression(f"jsonencode({quoted(document)})")


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
