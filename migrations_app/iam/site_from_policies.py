"""Reads the names of a site from the policies themselves if they are unambiguous."""

import re
from collections.abc import Iterable, Iterator, Sequence

from migrations_app.iam.policy import IamPolicy, PolicyCondition, PolicyStatement

_CLUSTER_KEY = re.compile(
    r"(?:aws:RequestTag|aws:ResourceTag|ec2:ResourceTag)/kubernetes\.io/cluster/([^${}*?]+)", re.I
)
_PLAIN_ARN = re.compile(r"arn:([a-z-]*):([a-z0-9-]*):([a-z0-9*-]*):(\d{12}|\*|):([^${}*?]+)")
_ARN_ACCOUNT = re.compile(r"arn:[^:]*:[^:]*:[^:]*:([^:]*)")
_ACCOUNT = re.compile(r"[0-9]{12}")
_LONE_ACCOUNT = re.compile(r"(?<![0-9])[0-9]{12}(?![0-9])")
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
    variable, which more accounts may match, or is not in the account field of an ARN."""
    statements = [statement for policy in policies for statement in policy.statements]
    accounts = set(_account_texts(statements)) - {"", "*"}
    is_known = all(map(_ACCOUNT.fullmatch, accounts)) and not any(map(_has_account_elsewhere, _texts(statements)))
    return frozenset(accounts) if is_known else None


def _account_texts(statements: Sequence[PolicyStatement]) -> Iterator[str]:
    for statement in statements:
        yield from (value for line in statement.conditions if _is_of_account(line) for value in line.values)
    yield from (match[1] for text in _texts(statements) if (match := _ARN_ACCOUNT.match(text)))


def _texts(statements: Iterable[PolicyStatement]) -> Iterator[str]:
    """The resources, and the values of the conditions whose key does not hold an account number."""
    for statement in statements:
        yield from statement.resources
        yield from (value for line in statement.conditions if not _is_of_account(line) for value in line.values)


def _is_of_account(line: PolicyCondition) -> bool:
    return line.key.lower().endswith("account")


def _has_account_elsewhere(text: str) -> bool:
    """Whether a number of 12 digits is outside of the account field, as in `*:111122223333:role/*`."""
    field = _ARN_ACCOUNT.match(text)
    account_span = field.span(1) if field else None
    return any(number.span() != account_span for number in _LONE_ACCOUNT.finditer(text))


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
