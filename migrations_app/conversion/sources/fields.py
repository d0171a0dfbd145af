"""The fields and values of a NodePool or EC2NodeClass that a release does not know: its API server refuses the object,
or drops the field where fields are not validated.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from migrations_app.conversion.findings import FieldPath
from migrations_app.conversion.refusals import CrdRefusal, older_fields
from migrations_app.karpenter.tables.field_rows import FIELD_ROWS, FieldRow
from migrations_app.karpenter.versions import Release, within

UNKNOWN: Final = "unknown-field"
_SPEC: Final[FieldPath] = ("spec",)
_NO_FIELD: Final = re.compile(r"\$|\{\{|.{0,253}\)\Z", re.ASCII)
"""The start of a directive of a strategic merge patch, such as $patch, or of a template, and a key in parentheses as
patterns of Kyverno have it."""


class _KnownField(NamedTuple):
    """A field: the row of one without fields of its own, or the fields below it."""

    row: FieldRow | None
    inner: dict[str, "_KnownField"]


def unknown_fields(body: Mapping[str, Any], release: Release) -> Iterator[CrdRefusal]:
    """The fields and values that the release does not know and later ones do, or none; those that only an older
    generation has are left out, and so is an object whose fields are not in the tables.
    """
    api = f"{body.get('apiVersion')} {body.get('kind')}"
    if api not in FIELD_ROWS:
        return
    older = {refusal.path for refusal in older_fields(body)}
    for refusal in _below(body.get("spec"), _SPEC, places=_places(api), release=release):
        if refusal.path not in older:
            yield refusal


@cache
def _places(api: str) -> Mapping[str, _KnownField]:
    root: dict[str, _KnownField] = {}
    for row in FIELD_ROWS[api]:
        *above, last = row.path.split(".")
        places = root
        for step in above:
            places = places.setdefault(step.removesuffix("[]"), _KnownField(None, {})).inner
        places[last] = _KnownField(row, {})
    return root


def _below(
    value: Any,  # noqa: ANN401  # plain JSON
    path: FieldPath,
    *,
    places: Mapping[str, _KnownField],
    release: Release,
) -> Iterator[CrdRefusal]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _below(item, (*path, number), places=places, release=release)
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        at, place = (*path, key), places.get(key)
        first = _first(place) if place else ""
        if _NO_FIELD.match(str(key)):
            continue
        if place is None:
            yield CrdRefusal(UNKNOWN, at, f"{_text(at)} is in no known release")
        elif not within(release, first=first, last=""):
            yield CrdRefusal(UNKNOWN, at, f"{_text(at)} is not in Karpenter {release}, but from {first} on")
        elif place.row is None:
            yield from _below(inner, at, places=place.inner, release=release)
        elif isinstance(inner, str) and not within(release, first=place.row.later.get(inner, ""), last=""):
            first = place.row.later[inner]
            yield CrdRefusal(UNKNOWN, at, f"{_text(at)} {inner} is not in Karpenter {release}, but from {first} on")


def _first(place: _KnownField) -> str:
    """The release that brought the field: for one with fields of its own that of the first of these."""
    if place.row:
        return place.row.first
    firsts = [_first(inner) for inner in place.inner.values()]
    return "" if "" in firsts else firsts[0]


def _text(path: FieldPath) -> str:
    return ".".join(map(str, path))
