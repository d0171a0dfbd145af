"""Reads the names of a site from the policies themselves if they are unambiguous."""

import re
from collections.abc import Iterable, Iterator

from migrations_app.iam.policy import IamPolicy, PolicyStatement

_CLUSTER_KEY = re.compile(
    r"(?:aws:RequestTag|aws:ResourceTag|ec2:ResourceTag)/kubernetes\.io/cluster/([^${}*?]+)", re.I
)
_PLAIN_ARN = re.compile(r"arn:([a-z-]*):([a-z0-9-]*):([a-z0-9*-]*):(\d{12}|\*|):([^${}*?]+)")
_ARN_ACCOUNT = re.compile(r"arn:[^:]*:[^:]*:[^:]*:([^:]*)")
_ACCOUNT = re.compile(r"[0-9]{12}")
_LOOSE_ARN = re.compile(r"arn:([a-z*-]+):([a-z0-9-]+):([a-z0-9*-]*):(\d{12}|\*|):.*")


def site_from_policies(policies: Iterable[IamPolicy]) -> dict[str, str]:
    """Fields of AwsSite for which the Allow statements name exactly one value. Templates name none."""
    statements = [statement for policy in policies for statement in policy.statements if statement.allow]
    by_field = {
        "partition": _fields(statements, 1),
        "account": _fields(statements, 4),
        "region": _fields(statements, 3) | _requested_regions(statements),
        "cluster": _clusters(statements),
        "queue": set(_named(statements, "sqs", prefix="")),
        "node_role": set(_named(statements, "iam", prefix="role/", action="iam:PassRole")),
    }
    return {field: values.pop() for field, values in by_field.items() if len(values) == 1}


def accounts_named(policies: Iterable[IamPolicy]) -> frozenset[str] | None:
    """The account numbers in resources and conditions of the statements; None if one is given as a pattern or by a
    variable, which more accounts may match."""
    accounts = set(_account_texts(statement for policy in policies for statement in policy.statements)) - {"", "*"}
    return frozenset(accounts) if all(map(_ACCOUNT.fullmatch, accounts)) else None


def _account_texts(statements: Iterable[PolicyStatement]) -> Iterator[str]:
    for statement in statements:
        lines = statement.conditions
        yield from (value for line in lines if line.key.lower().endswith("account") for value in line.values)
        texts = (*statement.resources, *(value for line in lines for value in line.values))
        yield from (match[1] for text in texts if (match := _ARN_ACCOUNT.match(text)))


def _fields(statements: Iterable[PolicyStatement], group: int) -> set[str]:
    matches = (_LOOSE_ARN.fullmatch(arn) for statement in statements for arn in statement.resources)
    return {match[group] for match in matches if match} - {"", "*"}


def _requested_regions(statements: Iterable[PolicyStatement]) -> set[str]:
    lines = (
        line for statement in statements for line in statement.conditions if line.key.lower() == "aws:requestedregion"
    )
    return {value for line in lines for value in line.values if re.fullmatch(r"[a-z0-9-]+", value)}


def _clusters(statements: list[PolicyStatement]) -> set[str]:
    keys = (_CLUSTER_KEY.fullmatch(line.key) for statement in statements for line in statement.conditions)
    return {match[1] for match in keys if match} | set(_named(statements, "eks", prefix="cluster/"))


def _named(statements: Iterable[PolicyStatement], service: str, *, prefix: str, action: str = "") -> Iterable[str]:
    for statement in statements:
        if action and action.lower() not in map(str.lower, statement.actions):
            continue
        for arn in statement.resources:
            match = _PLAIN_ARN.fullmatch(arn)
            if match and match[2] == service and match[5].startswith(prefix):
                yield match[5].removeprefix(prefix)
