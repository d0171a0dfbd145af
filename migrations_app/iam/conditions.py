"""IAM condition operators, evaluated with what a request states. A key that is not stated never counts as met."""

import base64
import binascii
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from migrations_app.iam.patterns import KeyLookup, Tokens, arn_matches, matches, tokens_of
from migrations_app.iam.policy import PolicyCondition
from migrations_app.iam.three_valued_logic import Tri, all_of, any_of, negated

Read = TypeVar("Read")
# Compares one value of the policy with one value of the request.
Compare = Callable[[Tokens | None, str], Tri]


@dataclass(frozen=True)
class Operator:
    """A comparison, whether its result is inverted, and whether `*` and `?` are wildcards in the policy's value."""

    compare: Compare
    inverse: bool = False
    wildcards: bool = False


@dataclass(frozen=True)
class _Name:
    """The parts of an operator's name: set qualifier, base name, IfExists."""

    qualifier: str
    bare: str
    if_exists: bool


def holds(condition: PolicyCondition, lookup: KeyLookup, *, variables: bool) -> Tri:
    """Whether the condition is met; None if that cannot be determined from what the request states."""
    name = _taken_apart(condition.operator)
    if "${" in condition.key or not condition.values or not known(condition.operator):
        return None
    sent = lookup(condition.key)
    if sent is None:
        return None
    if name.bare == "null":
        return _null(condition.values, sent)
    operator = OPERATORS[name.bare]
    if not sent:
        return _absent(name, operator)
    patterns = [
        tokens_of(value, lookup, variables=variables, wildcards=operator.wildcards) for value in condition.values
    ]
    return _over(name.qualifier, [_one(operator, patterns, sent=value) for value in sent])


def known(operator: str) -> bool:
    """Whether IAM has an operator with that name."""
    name = _taken_apart(operator)
    if name.bare == "null":
        return not name.if_exists and not name.qualifier
    return name.bare in OPERATORS and name.qualifier in ("", "forallvalues", "foranyvalue")


def _taken_apart(operator: str) -> _Name:
    qualifier, _, bare = operator.lower().rpartition(":")
    return _Name(qualifier, bare.removesuffix("ifexists"), bare.endswith("ifexists"))


def _one(operator: Operator, patterns: Iterable[Tokens | None], *, sent: str) -> Tri:
    met = any_of(operator.compare(value, sent) for value in patterns)
    return negated(met) if operator.inverse else met


def _over(qualifier: str, results: list[Tri]) -> Tri:
    if qualifier == "forallvalues":
        return all_of(results)
    if qualifier == "foranyvalue":
        return any_of(results)
    # IAM does not document a plain operator on a key with several values.
    return results[0] if len(results) == 1 else None


def _absent(name: _Name, operator: Operator) -> Tri:
    """The IAM result if the request is known not to carry the key."""
    if name.if_exists or name.qualifier == "forallvalues":
        return True
    return operator.inverse and name.qualifier != "foranyvalue"


def _null(values: tuple[str, ...], sent: tuple[str, ...]) -> Tri:
    return any_of({"true": not sent, "false": bool(sent)}.get(value.lower()) for value in values)


def _same_ignoring_case(tokens: Tokens | None, sent: str) -> Tri:
    lowered = None if tokens is None else tuple(t.lower() if isinstance(t, str) else t for t in tokens)
    return matches(lowered, sent.lower())


def _plain(tokens: Tokens | None) -> str | None:
    """The text of the tokens; None if one of them is unknown."""
    if tokens is None or not all(isinstance(token, str) for token in tokens):
        return None
    return "".join(str(token) for token in tokens)


def _ordered(read: Callable[[str], Read | None], test: Callable[[Read, Read], bool]) -> Compare:
    """A comparison of both sides parsed by `read`; None if the policy value cannot be parsed."""

    def compare(tokens: Tokens | None, sent: str) -> Tri:
        text = _plain(tokens)
        limit = None if text is None else read(text)
        if limit is None:
            return False if tokens is None else None
        value = read(sent)
        return False if value is None else test(value, limit)

    return compare


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _date(text: str) -> datetime | None:
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


# IP version, first and last address as numbers.
_Addresses = tuple[int, int, int]


def _addresses(text: str) -> _Addresses | None:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    return network.version, int(network.network_address), int(network.broadcast_address)


def _inside(value: _Addresses, limit: _Addresses) -> bool:
    return value[0] == limit[0] and limit[1] <= value[1] and value[2] <= limit[2]


_NUMBER_EQUAL: Compare = _ordered(_number, lambda a, b: a == b)
_DATE_EQUAL: Compare = _ordered(_date, lambda a, b: a == b)
_BYTES_EQUAL: Compare = _ordered(_bytes, lambda a, b: a == b)
_IN_NETWORK: Compare = _ordered(_addresses, _inside)

OPERATORS: dict[str, Operator] = {
    "stringequals": Operator(matches),
    "stringnotequals": Operator(matches, inverse=True),
    "stringequalsignorecase": Operator(_same_ignoring_case),
    "stringnotequalsignorecase": Operator(_same_ignoring_case, inverse=True),
    "stringlike": Operator(matches, wildcards=True),
    "stringnotlike": Operator(matches, inverse=True, wildcards=True),
    "arnequals": Operator(arn_matches, wildcards=True),
    "arnlike": Operator(arn_matches, wildcards=True),
    "arnnotequals": Operator(arn_matches, inverse=True, wildcards=True),
    "arnnotlike": Operator(arn_matches, inverse=True, wildcards=True),
    "bool": Operator(_same_ignoring_case),
    "binaryequals": Operator(_BYTES_EQUAL),
    "ipaddress": Operator(_IN_NETWORK),
    "notipaddress": Operator(_IN_NETWORK, inverse=True),
    "numericequals": Operator(_NUMBER_EQUAL),
    "numericnotequals": Operator(_NUMBER_EQUAL, inverse=True),
    "numericlessthan": Operator(_ordered(_number, lambda a, b: a < b)),
    "numericlessthanequals": Operator(_ordered(_number, lambda a, b: a <= b)),
    "numericgreaterthan": Operator(_ordered(_number, lambda a, b: a > b)),
    "numericgreaterthanequals": Operator(_ordered(_number, lambda a, b: a >= b)),
    "dateequals": Operator(_DATE_EQUAL),
    "datenotequals": Operator(_DATE_EQUAL, inverse=True),
    "datelessthan": Operator(_ordered(_date, lambda a, b: a < b)),
    "datelessthanequals": Operator(_ordered(_date, lambda a, b: a <= b)),
    "dategreaterthan": Operator(_ordered(_date, lambda a, b: a > b)),
    "dategreaterthanequals": Operator(_ordered(_date, lambda a, b: a >= b)),
}
