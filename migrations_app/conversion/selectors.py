"""Converts selector maps of the alpha API to selector terms.

A map is an AND of filters, each value a comma-separated list; terms are ORed, the fields of a term ANDed. Source:
aws/karpenter-provider-aws@v0.32.10:pkg/utils/nodeclass/nodeclass.go.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

from migrations_app.conversion.findings import FieldPath, FindingCollector

MAX_TERMS: Final = 30
MAX_TAGS: Final = 20
_ABSURD: Final = 1000  # a product of comma lists beyond this is a mistake

_IDS: Final = ("aws-ids", "aws::ids")
_NAME: Final = "aws::name"
_OWNERS: Final = "aws::owners"

SelectorTerm = dict[str, Any]


def _parts(selector: Mapping[str, str], key: str, *, path: FieldPath, notes: FindingCollector) -> list[str]:
    """The values of a comma-separated list; `*` if it is empty."""
    parts = [part.strip() for part in selector[key].split(",")]
    filled = [part for part in parts if part]
    if len(filled) != len(parts):
        notes.add("selector-empty-value", (*path, key), what=f'"{selector[key]}" holds an empty value')
    return filled or ["*"]


def _tag_sets(
    selector: Mapping[str, str], tag_keys: list[str], *, path: FieldPath, notes: FindingCollector
) -> list[dict[str, str]]:
    """Every combination of the tag values; the first key varies fastest."""
    sets: list[dict[str, str]] = [{}]
    for key in tag_keys:
        values = _parts(selector, key, path=path, notes=notes)
        if len(sets) * len(values) > _ABSURD:
            notes.add("bad-type", (*path, key), what=f"these comma lists multiply to more than {_ABSURD} terms")
            return sets
        sets = [{**known_names, key: value} for value in values for known_names in sets]
    return sets


def _id_terms(
    selector: Mapping[str, str], id_keys: list[str], *, path: FieldPath, notes: FindingCollector
) -> list[SelectorTerm]:
    others = sorted(key for key in selector if key not in id_keys)
    if others:
        message = f"{', '.join(others)} beside {id_keys[-1]} had no effect in 0.32 and is left out"
        notes.add("selector-id-exclusive", path, what=message)
    return [{"id": value} for value in _parts(selector, id_keys[-1], path=path, notes=notes) if value != "*"]


def terms(
    selector: Mapping[str, str], path: FieldPath, *, notes: FindingCollector, images: bool = False
) -> list[SelectorTerm]:
    """The terms that select what this map selects; `images` enables the keys that only the AMI selector has."""
    if "" in selector:
        notes.add("bad-type", path, what="a selector has an empty key")
        return []
    id_keys = [key for key in _IDS if key in selector]
    result = (
        _id_terms(selector, id_keys, path=path, notes=notes)
        if id_keys
        else _filter_terms(selector, path, notes=notes, images=images)
    )
    _check_size(result, path, notes=notes)
    return result


def _filter_terms(
    selector: Mapping[str, str], path: FieldPath, *, notes: FindingCollector, images: bool
) -> list[SelectorTerm]:
    special = (_NAME, _OWNERS) if images else ()
    tag_keys = sorted(key for key in selector if key not in special)
    tag_sets = _tag_sets(selector, tag_keys, path=path, notes=notes) if tag_keys else [None]
    names: list[str | None] = (
        list(_parts(selector, _NAME, path=path, notes=notes)) if _NAME in selector and images else [None]
    )
    owners: list[str | None] = (
        list(_parts(selector, _OWNERS, path=path, notes=notes)) if _OWNERS in selector and images else [None]
    )
    result = []
    for owner, name, tags in product(owners, names, tag_sets):
        term: SelectorTerm = {"tags": tags, "name": name, "owner": owner}
        result.append({key: value for key, value in term.items() if value})
    return result


def _check_size(every_term: list[SelectorTerm], path: FieldPath, *, notes: FindingCollector) -> None:
    if len(every_term) > MAX_TERMS:
        notes.add("too-many-terms", path, what=f"{len(every_term)} terms; the API accepts {MAX_TERMS}")
    if any(len(term.get("tags", ())) > MAX_TAGS for term in every_term):
        notes.add("too-many-terms", path, what=f"a term has more than the {MAX_TAGS} tags that the API accepts")


def network_terms(
    selector: Mapping[str, str] | None, path: FieldPath, *, notes: FindingCollector
) -> list[SelectorTerm]:
    """The terms of a subnet or security group selector; an empty one is a finding."""
    result = terms(selector, path, notes=notes) if selector else []
    if not result:
        notes.add("selector-missing", path, what=f"{path[-1]} selects nothing; write at least one term before applying")
    return result


def image_terms(selector: Mapping[str, str] | None, path: FieldPath, *, notes: FindingCollector) -> list[SelectorTerm]:
    """The terms of an AMI selector; empty if there is none.

    However an AWSNodeTemplate selects its images, tags on them that are node labels were requirements (in
    aws/karpenter-provider-aws@v0.32.10:pkg/providers/amifamily/ami.go, getRequirementsFromImage).
    """
    if not selector:
        return []
    message = "tags on the selected images, such as karpenter.k8s.aws/instance-gpu-count, no longer limit their use"
    notes.add("ami-tag-requirements-lost", path, what=message)
    return terms(selector, path, notes=notes, images=True)


def warn_of_commas(every_term: list[SelectorTerm], path: FieldPath, *, notes: FindingCollector) -> None:
    """Adds a finding for tag values with a comma, which were lists up to 0.32 and are literal since then."""
    for index, term in enumerate(every_term):
        for key, value in (term.get("tags") or {}).items():
            if "," in value:
                notes.add("comma-in-tag-value", (*path, index, "tags", key), what=f'"{value}" is one literal value')
