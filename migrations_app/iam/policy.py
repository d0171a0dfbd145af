"""Reads IAM policy documents: JSON text to typed statements, with placeholders filled for one site.

CloudFormation functions that stand for a text are replaced by placeholders: `${Name}` and `${Name.Arn}`.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.site import AwsSite
from migrations_app.manifests.nesting import NestedTooDeep, parse_json

_PLACEHOLDER = re.compile(r"\$\{([^{}!]+)\}")
_MAX_ADDED: Final = 10_240
"""The most characters that a function may repeat, as many as AWS stores inline on a role. Functions within functions,
each of which repeats a text, could stand for gigabytes with 1 kB."""


def text_of(value: object) -> str | None:
    """The text that the value stands for; None if it is neither text nor function, or repeats other texts too often.

    What only the stack knows, such as an import or a condition, becomes a placeholder that stays unfilled.
    """
    try:
        return _spelled(value)
    except RecursionError:  # functions nested deeper than in any real template
        return None


def _spelled(value: object) -> str | None:
    match value:
        case str():
            return value
        case {"Ref": str(name), **rest} if not rest:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), str(attribute)], **rest} if not rest:
            return f"${{{name}.{attribute}}}"
        case {"Fn::GetAtt": str(path), **rest} if not rest:
            return f"${{{path}}}"
        case {"Fn::Sub": inner, **rest} if not rest:
            return _substituted(inner)
        case {"Fn::Join": [str(between), list(pieces)], **rest} if not rest:
            return _joined(between, pieces)
        case dict() if len(value) == 1 and (name := next(iter(value))).startswith("Fn::"):
            return f"${{{name}}}"
    return None


def _substituted(inner: object) -> str | None:
    match inner:
        case str():
            return inner
        case [str(text), dict(names)]:
            return _named(text, names)
    return None


def _named(text: str, names: Mapping[str, object]) -> str | None:
    spellings = {name: _spelled(value) for name, value in names.items()}
    if None in spellings.values():
        return None
    if sum(len(spellings.get(match[1].strip()) or "") for match in _PLACEHOLDER.finditer(text)) > _MAX_ADDED:
        return None
    return _PLACEHOLDER.sub(lambda match: spellings.get(match[1].strip()) or match[0], text)


def _joined(between: str, pieces: list[object]) -> str | None:
    texts = [_spelled(piece) for piece in pieces]
    is_open = None in texts or len(between) * len(texts) > _MAX_ADDED
    return None if is_open else between.join(text for text in texts if text is not None)


# AWS stores at most 6,144 characters in a managed policy and 10,240 inline on a role, not counting white space.
# Ten times that leaves space for any indentation.
MAX_BYTES = 100_000
WITH_VARIABLES = "2012-10-17"

_ELEMENTS = frozenset(
    {"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition", "Principal", "NotPrincipal"}
)


@dataclass(frozen=True, kw_only=True)
class PolicyCondition:
    """One entry of a Condition block; `values` may be empty, which has no effect."""

    operator: str
    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PolicyStatement:
    """One statement. `where` names its document and position for messages."""

    where: str
    sid: str = ""
    allow: bool = True
    actions: tuple[str, ...]
    not_action: bool = False
    resources: tuple[str, ...] = ("*",)
    not_resource: bool = False
    conditions: tuple[PolicyCondition, ...] = ()
    variables: bool = True

    def as_json(self) -> dict[str, Any]:
        """The statement in IAM's JSON format."""
        block: dict[str, dict[str, Any]] = {}
        for condition in self.conditions:
            block.setdefault(condition.operator, {})[condition.key] = _thin(condition.values)
        return {
            **({"Sid": self.sid} if self.sid else {}),
            "Effect": "Allow" if self.allow else "Deny",
            "NotAction" if self.not_action else "Action": _thin(self.actions),
            "NotResource" if self.not_resource else "Resource": _thin(self.resources),
            **({"Condition": block} if block else {}),
        }


@dataclass(frozen=True, kw_only=True)
class IamPolicy:
    """One policy document."""

    name: str
    statements: tuple[PolicyStatement, ...]
    version: str = WITH_VARIABLES


def _thin(values: tuple[str, ...]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


def parse_policy(text: str | bytes, *, name: str = "policy") -> IamPolicy:
    """The document in `text`, also if wrapped as the AWS CLI prints it. Raises InvalidPolicy with the reason."""
    document = policy_tree(text, name=name)
    if "Statement" not in document:
        raise InvalidPolicy("the document has no Statement", where=name)
    version = document.get("Version", "2008-10-17")
    if version not in ("2008-10-17", WITH_VARIABLES):
        raise InvalidPolicy(f"Version is {_short(version)}; IAM knows 2012-10-17 and 2008-10-17", where=name)
    listed = document["Statement"]
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list):
        raise InvalidPolicy("Statement is neither an object nor a list of objects", where=name)
    variables = version == WITH_VARIABLES
    statements = tuple(
        replace(_statement(item, f"{name}: Statement[{n}]"), variables=variables) for n, item in enumerate(listed)
    )
    return IamPolicy(name=name, version=version, statements=statements)


def policy_tree(text: str | bytes, *, name: str) -> Mapping[str, Any]:
    """The document as plain JSON, for any kind of policy. Raises InvalidPolicy if it is not a JSON object."""
    return _unwrapped(_decoded(text, name), name)


def _decoded(text: str | bytes, name: str) -> object:
    plain = plain_text(text, name=name)
    try:
        return parse_json(plain, pairs=refuse_repeated_keys)
    except json.JSONDecodeError as error:
        raise InvalidPolicy(f"not JSON: {error.msg}", where=f"{name}: line {error.lineno}") from error
    except NestedTooDeep as error:
        raise InvalidPolicy("not a policy: nested too deep", where=name) from error
    except ValueError as error:  # raised by the hook, and by the parser for numbers with thousands of digits
        raise InvalidPolicy(f"not a policy: {error}", where=name) from error


def plain_text(text: str | bytes, *, name: str, most: int = MAX_BYTES) -> str:
    """The text without byte order mark and URL encoding. Raises InvalidPolicy if it is empty or too long."""
    if len(text) > most:
        raise InvalidPolicy(f"more than {most:,} bytes; no policy in IAM has more than 10,240 characters", where=name)
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidPolicy(f"not UTF-8 text (byte {error.start})", where=name) from error
    return unquote(plain) if plain.lstrip().startswith("%") else plain


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses duplicate elements, as IAM does; a parser that keeps the last one would read a different document than
    AWS.
    """
    result = dict(pairs)
    if len(result) < len(pairs):
        doubled = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the element {doubled[:60]!r} is repeated in one object")
    return result


def _unwrapped(document: object, name: str) -> Mapping[str, Any]:
    for path in (("PolicyVersion", "Document"), ("PolicyDocument",), ("Document",), ()):
        inner = document
        for step in path:
            inner = inner.get(step) if isinstance(inner, dict) else None
        inner = _written_out(inner, name)
        if isinstance(inner, dict):
            return inner
    raise InvalidPolicy("not a policy: the document is no JSON object", where=name)


def _written_out(document: object, name: str) -> object:
    """The document in a text that is URL-encoded, quoted once more, or produced by a CloudFormation function."""
    text = None if isinstance(document, dict) and "Statement" in document else text_of(document)
    return _decoded(text, name) if text is not None and text.lstrip().startswith(("{", "%")) else document


def _statement(item: object, where: str) -> PolicyStatement:
    if not isinstance(item, dict):
        raise InvalidPolicy("is no object", where=where)
    if unknown_elements := sorted(set(item) - _ELEMENTS):
        raise InvalidPolicy(f"unknown element {_short(unknown_elements[0])}", where=where)
    if "Principal" in item or "NotPrincipal" in item:
        raise InvalidPolicy("names a Principal: this is a trust or resource policy, not one of the role", where=where)
    if item.get("Effect") not in ("Allow", "Deny"):
        raise InvalidPolicy(f"Effect is {_short(item.get('Effect'))}, not Allow or Deny", where=where)
    not_action, actions = _either(item, "Action", where=where)
    not_resource, resources = _either(item, "Resource", where=where)
    sid = item.get("Sid", "")
    return PolicyStatement(
        where=f"{where} ({sid})" if isinstance(sid, str) and sid else where,
        sid=sid if isinstance(sid, str) else "",
        allow=item["Effect"] == "Allow",
        actions=actions,
        not_action=not_action,
        resources=resources,
        not_resource=not_resource,
        conditions=_conditions(item.get("Condition", {}), where),
    )


def _either(item: Mapping[str, Any], element: str, *, where: str) -> tuple[bool, tuple[str, ...]]:
    inverse = f"Not{element}"
    if (element in item) == (inverse in item):
        raise InvalidPolicy(f"needs either {element} or {inverse}", where=where)
    name = inverse if inverse in item else element
    values = _texts(item[name], f"{where}.{name}")
    if not values:
        raise InvalidPolicy("is empty", where=f"{where}.{name}")
    return inverse in item, values


def _conditions(block: object, where: str) -> tuple[PolicyCondition, ...]:
    if not isinstance(block, dict):
        raise InvalidPolicy("is no object", where=f"{where}.Condition")
    conditions = []
    for operator, keys in block.items():
        placeholder = text_of(keys)
        if placeholder is not None and "${" in placeholder:
            # A function in place of the keys, as the CDK writes them (CfnJson): only the stack knows what they are.
            conditions.append(PolicyCondition(operator=operator, key=placeholder, values=(placeholder,)))
            continue
        if placeholder is not None or not isinstance(keys, dict):
            raise InvalidPolicy("is no object", where=f"{where}.Condition.{operator[:60]}")
        for key, values in keys.items():
            place = f"{where}.Condition.{operator[:60]}.{key[:80]}"
            conditions.append(PolicyCondition(operator=operator, key=key, values=_texts(values, place)))
    return tuple(conditions)


def _texts(value: object, where: str) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(_text(item, where) for item in items)


def _text(value: object, where: str) -> str:
    """A value as text; CloudFormation functions become the placeholders that they stand for."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
    text = text_of(value)
    if text is None:
        raise InvalidPolicy(f"is {_short(value)}, not text", where=where)
    return text


def _short(value: object) -> str:
    return "missing" if value is None else repr(value)[:60]


def filled(policy: IamPolicy, site: AwsSite) -> IamPolicy:
    """The policy with template placeholders replaced by the names of the site."""
    return replace(policy, statements=tuple(_filled(statement, site) for statement in policy.statements))


def _filled(statement: PolicyStatement, site: AwsSite) -> PolicyStatement:
    return replace(
        statement,
        actions=tuple(map(site.fill, statement.actions)),
        resources=tuple(map(site.fill, statement.resources)),
        conditions=tuple(
            PolicyCondition(
                operator=condition.operator,
                key=site.fill(condition.key),
                values=tuple(map(site.fill, condition.values)),
            )
            for condition in statement.conditions
        ),
    )
