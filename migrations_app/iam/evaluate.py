"""Evaluates whether a set of policies allows a request: allowed, denied, or unknown. Pure functions, without calls to
AWS.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from migrations_app.iam.conditions import holds, known
from migrations_app.iam.patterns import action_matches, resource_matches
from migrations_app.iam.policy import IamPolicy, PolicyCondition, PolicyStatement
from migrations_app.iam.three_valued_logic import Tri, all_of, any_of, negated


class RequestVerdict(StrEnum):
    """`allowed`, or why not. Only `unknown` leaves the result open; the four in between are refusals."""

    ALLOWED = "allowed"
    DENIED = "denied"
    MISSING = "missing"
    BLOCKED_BY_CONDITION = "blocked_by_condition"
    BLOCKED_BY_RESOURCE = "blocked_by_resource"
    UNKNOWN = "unknown"

    @property
    def decision(self) -> str:
        """One of three: allowed, denied, cannot tell."""
        return {RequestVerdict.ALLOWED: "allowed", RequestVerdict.UNKNOWN: "cannot tell"}.get(self, "denied")


@dataclass(frozen=True)
class Evaluation:
    """The verdict, its reason as text, and the statement that decided, if one did. `boundary` is the verdict of the
    permissions boundary if that does not allow the request; None if it does, or without one.
    """

    verdict: RequestVerdict
    because: str = ""
    statement: PolicyStatement | None = None
    boundary: RequestVerdict | None = None


# Keys that only one action carries; any other request is known not to carry them.
_KEY_OF_ONE_ACTION = {
    "ec2:createaction": "ec2:createtags",
    "iam:passedtoservice": "iam:passrole",
    "arc-zonal-shift:resourceidentifier": "arc-zonal-shift:getmanagedresource",
}


@dataclass(frozen=True, kw_only=True)
class IamRequest:
    """One authorisation request. Tags are None if they are not stated, which differs from having none."""

    action: str
    resource: str
    request_tags: Mapping[str, str] | None = None
    resource_tags: Mapping[str, str] | None = None
    context: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def lookup(self, key: str) -> tuple[str, ...] | None:
        """Values of a condition key; () if the request is known not to carry it, None if it is not stated."""
        key = key.lower()
        if key in self._stated:
            return self._stated[key]
        prefix, _, name = key.partition(":")
        if key == "aws:tagkeys":
            return None if self.request_tags is None else tuple(self.request_tags)
        if key.startswith("aws:requesttag/"):
            return _tag(self.request_tags, name)
        if name.startswith("resourcetag/") and prefix in ("aws", self._service):
            return _tag(self.resource_tags, name)
        if key in _KEY_OF_ONE_ACTION and _KEY_OF_ONE_ACTION[key] != self.action.lower():
            return ()
        return None if prefix in ("aws", self._service) else ()

    @cached_property
    def _stated(self) -> Mapping[str, tuple[str, ...]]:
        return {name.lower(): values for name, values in self.context.items()}

    @cached_property
    def _service(self) -> str:
        return self.action.partition(":")[0].lower()


def _tag(tags: Mapping[str, str] | None, name: str) -> tuple[str, ...] | None:
    if tags is None:
        return None
    tag_name = name.partition("/")[2]
    return tuple(value for tag, value in tags.items() if tag.lower() == tag_name)


@dataclass(frozen=True)
class _Weighed:
    """The result of one statement for the request, element by element."""

    statement: PolicyStatement
    action: Tri
    resource: Tri
    conditions: tuple[tuple[PolicyCondition, Tri], ...]

    @property
    def whole(self) -> Tri:
        return all_of((self.action, self.resource, *(met for _, met in self.conditions)))

    @property
    def unmet(self) -> int:
        return sum(met is False for _, met in self.conditions)


def evaluate(
    request: IamRequest, policies: Iterable[IamPolicy], *, boundary: Sequence[IamPolicy] | None = None
) -> Evaluation:
    """The result of all policies together, limited by the permissions boundary if there is one.

    Both have to allow it. Where the policies refuse it their verdict stays, for a statement has to be added in any
    case, and `boundary` says that the boundary has to be extended as well.
    """
    answer = _by_policies(request, policies)
    limit = None if boundary is None else _by_policies(request, boundary)
    if limit is None or limit.verdict is RequestVerdict.ALLOWED:
        return answer
    is_open = limit.verdict is RequestVerdict.UNKNOWN
    if answer.verdict not in (RequestVerdict.ALLOWED, RequestVerdict.UNKNOWN):
        limited = "may not let it through" if is_open else "does not let it through"
        because = f"{answer.because}; the permissions boundary {limited} either: {limit.because}"
        return replace(answer, because=because, boundary=limit.verdict)
    return Evaluation(
        limit.verdict if is_open else RequestVerdict.DENIED,
        f"the permissions boundary does not let it through: {limit.because}",
        limit.statement,
        boundary=limit.verdict,
    )


def reaches(statement: PolicyStatement, request: IamRequest) -> Tri:
    """Whether the statement applies to the request: its action, its resource and all its conditions."""
    return _weigh(statement, request).whole


def _by_policies(request: IamRequest, policies: Iterable[IamPolicy]) -> Evaluation:
    weighed = [_weigh(statement, request) for policy in policies for statement in policy.statements]
    denials = [weighing for weighing in weighed if not weighing.statement.allow and weighing.whole is not False]
    for denial in denials:
        if denial.whole:
            return Evaluation(RequestVerdict.DENIED, f"{denial.statement.where} denies it", denial.statement)
    allows = [weighing for weighing in weighed if weighing.statement.allow]
    granted = any_of(allow.whole for allow in allows)
    if granted is False:
        return _refusal(request, allows)
    if denials:
        return Evaluation(RequestVerdict.UNKNOWN, _doubt(request, denials[0]), denials[0].statement)
    decided = min((allow for allow in allows if allow.whole is granted), key=_place)
    if granted:
        return Evaluation(RequestVerdict.ALLOWED, f"{decided.statement.where} allows it", decided.statement)
    return Evaluation(RequestVerdict.UNKNOWN, _doubt(request, decided), decided.statement)


def _weigh(statement: PolicyStatement, request: IamRequest) -> _Weighed:
    action = any_of(action_matches(pattern, request.action) for pattern in statement.actions)
    action = negated(action) if statement.not_action else action
    if action is False:
        return _Weighed(statement, action, None, ())
    resource = any_of(
        resource_matches(pattern, request.resource, lookup=request.lookup, variables=statement.variables)
        for pattern in statement.resources
    )
    conditions = tuple(
        (condition, holds(condition, request.lookup, variables=statement.variables))
        for condition in statement.conditions
    )
    return _Weighed(statement, action, negated(resource) if statement.not_resource else resource, conditions)


def _place(weighed: _Weighed) -> tuple[int, str]:
    """Sort key that does not depend on the input order: the statement nearest to being met comes first."""
    return weighed.unmet, weighed.statement.where


def _refusal(request: IamRequest, allows: list[_Weighed]) -> Evaluation:
    """Why no statement allows the request: action, then resource, then conditions of the nearest statement."""
    naming = sorted((allow for allow in allows if allow.action is not False), key=_place)
    if not naming:
        return Evaluation(RequestVerdict.MISSING, "no statement allows the action")
    reaching = [weighed for weighed in naming if weighed.resource is not False]
    if not reaching:
        nearest = naming[0].statement
        return Evaluation(
            RequestVerdict.BLOCKED_BY_RESOURCE, f"{nearest.where} does not name {request.resource}", nearest
        )
    nearest_one = reaching[0]
    condition = next(condition for condition, met in nearest_one.conditions if met is False)
    return Evaluation(
        RequestVerdict.BLOCKED_BY_CONDITION,
        f"{nearest_one.statement.where}: {_condition_text(condition, request)}",
        nearest_one.statement,
    )


def _doubt(request: IamRequest, weighed: _Weighed) -> str:
    """Why a statement gives no clear result."""
    effect = "allows" if weighed.statement.allow else "denies"
    for condition, met in weighed.conditions:
        if met is None:
            return f"{weighed.statement.where} {effect} it or not: {_condition_text(condition, request)}"
    element = "action" if weighed.action is None else "resource"
    return (
        f"{weighed.statement.where} {effect} it or not: its {element} holds a placeholder or variable without a value"
    )


def _condition_text(condition: PolicyCondition, request: IamRequest) -> str:
    """A condition next to what the request sends, as text."""
    if not known(condition.operator):
        return f"{condition.operator} is no operator of IAM"
    if not condition.values:
        return f"{condition.operator} {condition.key} lists no values"
    if "${" in condition.key:
        return f"the key {condition.key} holds a placeholder without a value"
    sent = request.lookup(condition.key)
    sent_text = "unknown" if sent is None else ", ".join(value or "(empty)" for value in sent) or "nothing"
    return f"{condition.operator} {condition.key} wants {' or '.join(condition.values)}, sent: {sent_text}"


def oddities(policy: IamPolicy) -> tuple[str, ...]:
    """Parts of a valid document that have no effect: unknown operators, keys without values, unfilled placeholders."""
    nobody = IamRequest(action="", resource="")
    messages: list[str] = []
    for statement in policy.statements:
        messages += [
            f"{statement.where}: {_condition_text(line, nobody)}"
            for line in statement.conditions
            if _decides_nothing(line)
        ]
        texts = (*statement.resources, *statement.actions, *(v for c in statement.conditions for v in c.values))
        messages += [
            f"{statement.where}: {text} holds a placeholder without a value" for text in texts if _unfilled(text)
        ]
    return tuple(dict.fromkeys(messages))


def _decides_nothing(condition: PolicyCondition) -> bool:
    return not known(condition.operator) or not condition.values or "${" in condition.key


def _unfilled(text: str) -> bool:
    return any(":" not in name or "::" in name for name in _names(text))


def _names(text: str) -> list[str]:
    return [part.partition("}")[0] for part in text.split("${")[1:] if part[:1] not in ("*", "?", "$")]
