"""Finds where the spec of an object that is kept whole names a key, an API version or a kind of Karpenter."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from migrations_app.inventory.objects.base import WholeObject
from migrations_app.karpenter.kinds import KARPENTER_GROUPS, OF_KARPENTER_ALONE, Kind, find, successor
from migrations_app.karpenter.releases import crd_set, serves, version_gone
from migrations_app.karpenter.versions import Release

MAX_DEPTH = 40
LONGEST_TEXT = 20_000
"""The most characters of a text that are searched, since policies contain long programs."""
_KEY = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)*karpenter\.(?:sh|k8s\.aws)/[A-Za-z0-9][\w.-]*", re.ASCII)
ANY = "*"
_KYVERNO_KIND = re.compile(r"(?:(?:([a-z0-9.-]+)/)?(v[0-9][a-z0-9]*|\*)/)?([A-Z][A-Za-z0-9]*|\*)", re.ASCII)


class KeyMention(NamedTuple):
    """`path` is a field path; `key` is a label, annotation or taint such as karpenter.sh/nodepool, or a group and
    version.
    """

    path: str
    key: str


class OutdatedKind(NamedTuple):
    """A kind of Karpenter that a policy matches and the release does not have. `seen` is what is there, such as
    `karpenter.sh/*/Machine`; `key` is a part of it that is found in the YAML of the policy."""

    path: str
    seen: str
    wanted: str
    key: str


class _KindChoice(NamedTuple):
    """One entry of a list by which a policy chooses objects. `*` is any group, version or kind."""

    path: str
    groups: tuple[str, ...]
    versions: tuple[str, ...]
    kinds: tuple[str, ...]
    text: str = ""
    """The entry, if it is one text."""

    def names_kinds(self) -> bool:
        """Whether it is to be judged: of the texts those for every version of a kind, since `mentions` finds the others
        by their version."""
        return not self.text or (self.versions == (ANY,) and self.groups != (ANY,))

    def matches(self, kind: Kind, release: Release) -> bool:
        """Whether it matches objects of that kind in a version that the release serves."""
        is_kind = bool({kind.group, ANY} & set(self.groups)) and bool({kind.kind, ANY} & set(self.kinds))
        served = (one for one in self.versions if one == ANY or _is_served(kind, one, release=release))
        return is_kind and any(served)


def outdated_kinds(whole_object: WholeObject, release: Release) -> Iterator[OutdatedKind]:
    """The kinds and versions that Kyverno's `group/*/kind` and Gatekeeper's lists match and the release does not have.
    Without those of which the same list matches the successor too, since the new objects are chosen then."""
    for choices in _lists(whole_object.spec, "spec", depth=0):
        for choice in filter(_KindChoice.names_kinds, choices):
            for place, name in enumerate(choice.kinds):
                for kind in filter(None, (_kind_of(name, group) for group in choice.groups)):
                    if not any(other.matches(successor(kind) or kind, release) for other in choices):
                        yield from _outdated(choice, kind, release=release, place=place)


def _outdated(choice: _KindChoice, kind: Kind, *, release: Release, place: int) -> Iterator[OutdatedKind]:
    path, text = (choice.path, choice.text) if choice.text else (f"{choice.path}.kinds[{place}]", kind.kind)
    matched = [version for version in choice.versions if version in (ANY, *kind.versions)]
    newer = successor(kind)
    if newer:
        if matched and serves(release, kind.generation) is False:
            yield OutdatedKind(path, text, f"{newer.group} {newer.kind}", text)
        return
    api_versions = [kind.api_version(version) for version in matched if version != ANY]
    served_instead = [version_gone(api_version, release) for api_version in api_versions]
    if served_instead and all(served_instead):
        yield OutdatedKind(path, f"{', '.join(api_versions)} {kind.kind}", served_instead[-1], kind.kind)


def _kind_of(name: str, group: str) -> Kind | None:
    """The kind of Karpenter that is meant; for any group only if no other group is known to have such a kind."""
    if group == ANY:
        return find(name) if name in OF_KARPENTER_ALONE else None
    return find(name, group=group) if group in KARPENTER_GROUPS else None


def _is_served(kind: Kind, version: str, *, release: Release) -> bool:
    shipped = crd_set(release)
    crds = [crd for crd in shipped.crds if crd.kind == kind] if shipped else []
    return any(row.served and row.name == version for crd in crds for row in crd.versions)


def _lists(value: Any, path: str, *, depth: int) -> Iterator[tuple[_KindChoice, ...]]:  # noqa: ANN401 - plain JSON
    """The entries of each list that chooses objects, and each entry that is in no list."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        entries = [(f"{path}[{place}]", entry) for place, entry in enumerate(value)]
        found = (_choice(entry, entry_path) for entry_path, entry in entries)
        yield tuple(choice for choice in found if choice)
        for entry_path, entry in entries:
            yield from _inside(entry, entry_path, depth=depth + 1)
    elif isinstance(value, dict):
        alone = _choice(value, path)
        yield (alone,) if alone else ()
        yield from _inside(value, path, depth=depth)


def _inside(value: Any, path: str, *, depth: int) -> Iterator[tuple[_KindChoice, ...]]:  # noqa: ANN401 - plain JSON
    if isinstance(value, dict):
        for key, inner in value.items():
            one_text = _choice(inner, f"{path}.{key}") if isinstance(inner, str) and "/" in inner else None
            yield (one_text,) if one_text else ()
            yield from _lists(inner, f"{path}.{key}", depth=depth + 1)
    elif isinstance(value, list):
        yield from _lists(value, path, depth=depth + 1)


def _choice(entry: object, path: str) -> _KindChoice | None:
    """An entry of Gatekeeper: `apiGroups` and `kinds` of a match, in which `*` is any; `groups`, `versions` and `kinds`
    of applyTo, which takes no wildcards. Or the text of a kind as Kyverno reads it."""
    if isinstance(entry, str):
        return _of_text(entry, path)
    if not isinstance(entry, dict):
        return None
    kinds, groups = tuple(_strings(entry.get("kinds"))), tuple(_strings(entry.get("apiGroups")))
    if groups:
        return _KindChoice(path, groups, (ANY,), kinds)
    groups, versions = tuple(_strings(entry.get("groups"))), tuple(_strings(entry.get("versions")))
    return _KindChoice(path, _without_any(groups), _without_any(versions), _without_any(kinds)) if groups else None


def _without_any(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same places, with empty text for a wildcard."""
    return tuple("" if name == ANY else name for name in names)


def _of_text(text: str, path: str) -> _KindChoice | None:
    """`kind`, `version/kind` or `group/version/kind`. Only the last one names a group of Karpenter."""
    match = _KYVERNO_KIND.fullmatch(text)
    return _KindChoice(path, (match[1] or ANY,), (match[2] or ANY,), (match[3],), text) if match else None


def _strings(value: object) -> list[str]:
    """The list, with empty text in the place of what is no text; empty for anything else."""
    return [one if isinstance(one, str) else "" for one in value] if isinstance(value, list) else []


def mentions(whole_object: WholeObject) -> tuple[KeyMention, ...]:
    """Every key, each once with the first path that names it, in the order of the fields."""
    by_key: dict[str, KeyMention] = {}
    for path, text in _texts(whole_object.spec, "spec", depth=0):
        for key in _KEY.findall(text[:LONGEST_TEXT]):
            by_key.setdefault(key, KeyMention(path, key.rstrip(".-")))
    return tuple(by_key.values())


def _texts(value: Any, path: str, *, depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - plain JSON
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}"
            yield below, key
            yield from _texts(inner, below, depth=depth + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{place}]", depth=depth + 1)
