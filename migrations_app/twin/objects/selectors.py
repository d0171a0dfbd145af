"""Label and field selectors as the API server reads them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from migrations_app.twin.objects.kinds import Place

Tree = Mapping[str, Any]
Wanted = Callable[[Tree], bool]

_SET = re.compile(r"\s*(?P<key>[^\s,=!()]+)\s+(?P<sign>in|notin)\s*\((?P<values>[^()]*)\)\s*(?:,|$)")
_SIMPLE = re.compile(r"\s*(?P<key>[^\s,=!()]+)\s*(?P<sign>==|!=|=)\s*(?P<value>[^\s,=!()]*)\s*(?:,|$)")
_EXISTS = re.compile(r"\s*(?P<absent>!?)\s*(?P<key>[^\s,=!()]+)\s*(?:,|$)")
_ANY_KIND = ("metadata.name", "metadata.namespace")
_FIELDS: Mapping[Place, tuple[str, ...]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "secrets"): ("type",),
    ("", "namespaces"): ("status.phase",),
    ("", "events"): ("reason", "type", "involvedObject.kind", "involvedObject.name", "involvedObject.namespace"),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
}


class SelectorError(ValueError):
    """The selector cannot be parsed, or the kind has no such field."""


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement on a label: `sign` is `in`, `notin`, `exists` or `absent`."""

    key: str
    sign: str
    values: frozenset[str] = frozenset()

    def fits(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.sign == "exists":
            return value is not None
        if self.sign == "absent":
            return value is None
        return value in self.values if self.sign == "in" else value not in self.values


def read_labels(text: str) -> tuple[LabelRequirement, ...]:
    """The requirements of a label selector. Raises SelectorError."""
    requirements: list[LabelRequirement] = []
    at = 0
    while at < len(text):
        requirement, at = _next(text, at)
        requirements.append(requirement)
    return tuple(requirements)


def _next(text: str, at: int) -> tuple[LabelRequirement, int]:
    if match := _SET.match(text, at):
        values = frozenset(value.strip() for value in match["values"].split(","))
        return LabelRequirement(match["key"], match["sign"], values), match.end()
    if match := _SIMPLE.match(text, at):
        sign = "notin" if match["sign"] == "!=" else "in"
        return LabelRequirement(match["key"], sign, frozenset({match["value"]})), match.end()
    if match := _EXISTS.match(text, at):
        return LabelRequirement(match["key"], "absent" if match["absent"] else "exists"), match.end()
    raise SelectorError(f"unable to parse requirement: {text[at:]!r}")


def by_labels(text: str) -> Wanted | None:
    """A predicate for objects; None for an empty selector. Raises SelectorError."""
    requirements = read_labels(text)
    if not requirements:
        return None
    return lambda document: all(
        requirement.fits(document["metadata"].get("labels") or {}) for requirement in requirements
    )


def by_fields(text: str, place: Place) -> Wanted | None:
    """A predicate for objects of that kind; None for an empty selector. Raises SelectorError."""
    known = (*_ANY_KIND, *_FIELDS.get(place, ()))
    terms = [_field_term(part, known) for part in text.split(",") if part.strip()]
    if not terms:
        return None
    return lambda document: all((_text_at(document, path) == value) is same for path, value, same in terms)


def _field_term(part: str, known: tuple[str, ...]) -> tuple[tuple[str, ...], str, bool]:
    for sign in ("!=", "==", "="):
        key, separator, value = part.partition(sign)
        if separator:
            if key.strip() not in known:
                names = ", ".join(f'"{name}"' for name in known)
                raise SelectorError(f'"{key.strip()}" is not a known field selector: only {names}')
            return tuple(key.strip().split(".")), value.strip(), sign != "!="
    raise SelectorError(f"invalid field selector: {part!r}")


def _text_at(tree: Any, path: tuple[str, ...]) -> str:  # noqa: ANN401 - plain JSON
    for step in path:
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    if isinstance(tree, bool):
        return str(tree).lower()
    if tree is None:
        return "false" if path[-1] == "unschedulable" else ""
    return str(tree)


def selected_by(selector: Mapping[str, Any] | None, *, empty: bool) -> Callable[[Mapping[str, str]], bool]:
    """Whether labels match the LabelSelector of an object; an empty or absent one matches nothing unless `empty`."""
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return lambda _: empty and selector is not None
    by_pairs = [
        LabelRequirement(key, "in", frozenset({value})) for key, value in (selector.get("matchLabels") or {}).items()
    ]
    by_expressions = [_expression(match_expression) for match_expression in selector.get("matchExpressions") or ()]
    requirements = [*by_pairs, *by_expressions]
    return lambda labels: all(requirement.fits(labels) for requirement in requirements)


_SIGNS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


def _expression(expression: Mapping[str, Any]) -> LabelRequirement:
    return LabelRequirement(
        str(expression["key"]), _SIGNS[str(expression["operator"])], frozenset(expression.get("values") or ())
    )
