"""In-memory index of a bundle's objects; answers the list requests that an API server would get."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from migrations_app.clients.bundle.documents import BundleObject, ListedKind, time_of
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.errors import InvalidResponse
from migrations_app.inventory.objects.karpenter import CRD, ServedResource
from migrations_app.karpenter import kinds

ListPlace = tuple[str, str]
"""(group, plural)."""
_CRD_PLACE = (kinds.CRD.group, kinds.CRD.plural)
_NODE_PLACE = (kinds.NODE.group, kinds.NODE.plural)
_BUILT_IN = (".k8s.io",)


class _ConditionTimes(msgspec.Struct, frozen=True, rename="camel"):
    last_heartbeat_time: str | None = None


class _BundleNodeStatus(msgspec.Struct, frozen=True):
    conditions: list[_ConditionTimes] | None = None


class _BundleNode(msgspec.Struct, frozen=True):
    status: _BundleNodeStatus | None = None


@dataclass(slots=True)
class Index:
    """`odd` counts documents without a kind, `repeated` counts objects found in more than one file."""

    places: dict[ListPlace, dict[tuple[str, str], BundleObject]] = field(default_factory=dict)
    plurals: dict[ListPlace, str] = field(default_factory=dict)
    odd: int = 0
    repeated: int = 0
    _other_versions: dict[ListPlace, dict[tuple[str, str, str], BundleObject]] = field(default_factory=dict)
    """Objects in a second API version, by namespace, name and that version."""
    _waiting: list[BundleObject | ListedKind] = field(default_factory=list)

    def add(self, bundle: BundleObject | ListedKind) -> None:
        """Adds one object. Objects of custom kinds wait for `settle`, because a CRD in a later file may state their
        plural.
        """
        if not bundle.kind:
            self.odd += 1
        elif kinds.find(bundle.kind, group=bundle.group):
            self._place(bundle)
        else:
            self._waiting.append(bundle)

    def settle(self) -> None:
        """Adds the waiting objects to the index. Call once, after the last object."""
        for crd in self.crds():
            self.plurals[crd.spec.group, crd.spec.names.kind] = crd.spec.names.plural
        for bundle in self._waiting:
            self._place(bundle)
        self._waiting.clear()

    def crds(self) -> Iterator[CRD]:
        """The CRDs that can be decoded."""
        for bundle in self.places.get(_CRD_PLACE, {}).values():
            try:
                yield msgspec.json.decode(bundle.raw, type=CRD)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue

    def newest_moment(self) -> str:
        """The newest time in the objects: a heartbeat of a node, or when an object was created or deleted.

        Empty if there is none.
        """
        heartbeats = (beat for bundle in self.places.get(_NODE_PLACE, {}).values() for beat in _heartbeats(bundle))
        moments = (bundle.moment for objects in self.places.values() for bundle in objects.values())
        return max((*heartbeats, *moments), default="")

    @property
    def count(self) -> int:
        return sum(len(objects) for objects in self.places.values()) + len(self._waiting)

    def find(self, resource: Resource) -> list[msgspec.Raw]:
        """The objects that match the request: in the requested API version if they are held in it, otherwise in any."""
        place = (resource.group, resource.plural)
        other_versions = self._other_versions.get(place, {})
        candidates = (
            other_versions.get((*key, resource.version), bundle) if other_versions else bundle
            for key, bundle in self.places.get(place, {}).items()
        )
        matches = selector(resource)
        namespace = resource.namespace
        return [
            bundle.raw for bundle in candidates if (not namespace or bundle.namespace == namespace) and matches(bundle)
        ]

    def served(self) -> list[ServedResource]:
        """The resources that the objects and CRDs show to be served."""
        by_objects = {
            ServedResource(group=group, version=version, plural=plural, kind=kind, namespaced=namespaced)
            for (group, plural), objects in self.places.items()
            for version, kind, namespaced in {(f.version, f.kind, bool(f.namespace)) for f in objects.values()}
        }
        by_crd = {
            ServedResource(
                group=crd.spec.group,
                version=version,
                plural=crd.spec.names.plural,
                kind=crd.spec.names.kind,
                namespaced=False,
            )
            for crd in self.crds()
            if not _is_refused(crd)
            for version in crd.served
        }
        return sorted(
            by_objects | by_crd,
            key=lambda resource: (resource.group, resource.plural, resource.version, resource.namespaced),
        )

    def plural(self, bundle: BundleObject | ListedKind) -> str:
        row = kinds.find(bundle.kind, group=bundle.group)
        return row.plural if row else self.plurals.get((bundle.group, bundle.kind)) or guessed_plural(bundle.kind)

    def _place(self, bundle: BundleObject | ListedKind) -> None:
        place = self.places.setdefault((bundle.group, self.plural(bundle)), {})
        if isinstance(bundle, ListedKind):
            return
        key = (bundle.namespace, bundle.name or f"\0{len(place)}")
        if key not in place:
            place[key] = bundle
        elif bundle.version == place[key].version:
            self.repeated += 1
        else:
            other_versions = self._other_versions.setdefault((bundle.group, self.plural(bundle)), {})
            other_versions.setdefault((*key, bundle.version), bundle)


def _heartbeats(bundle: BundleObject) -> Iterator[str]:
    try:
        status = msgspec.json.decode(bundle.raw, type=_BundleNode).status
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return
    for condition in (status and status.conditions) or ():
        if beat := time_of(condition.last_heartbeat_time):
            yield beat


def is_built_in(group: str) -> bool:
    """Whether the group is part of every API server, so that it needs no CRD."""
    return "." not in group or group.endswith(_BUILT_IN)


def guessed_plural(kind: str) -> str:
    """The plural of a kind by the usual Kubernetes rules; used if no CRD states it."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


def selector(resource: Resource) -> Callable[[BundleObject], bool]:
    """A predicate for the label and field selectors of the request. Raises InvalidResponse for
    unsupported selectors.
    """
    labels, fields = _terms(resource.label_selector), _terms(resource.field_selector)
    if not labels and not fields:
        return lambda _: True

    def matches(bundle: BundleObject) -> bool:
        document = _tree(bundle.raw)
        metadata_labels = _at(document, "metadata.labels")
        present_labels = metadata_labels if isinstance(metadata_labels, dict) else {}
        return all(term.fits(present_labels.get(term.key)) for term in labels) and all(
            term.fits(_at(document, term.key)) for term in fields
        )

    return matches


@dataclass(frozen=True, slots=True)
class _Term:
    key: str
    sign: str
    value: str

    def fits(self, value: Any) -> bool:  # noqa: ANN401 - any JSON
        if self.sign == "exists":
            return value is not None
        same = (value or "") == self.value if isinstance(value, str | None) else str(value) == self.value
        return same if self.sign == "=" else not same


def _terms(text: str) -> list[_Term]:
    return [_term(part.strip()) for part in text.split(",") if part.strip()]


def _term(text: str) -> _Term:
    if "(" in text or " in " in text or text.startswith("!"):
        raise InvalidResponse("a bundle knows only simple selectors", code="bad_selector")
    for sign in ("!=", "==", "="):
        key, separator, value = text.partition(sign)
        if separator:
            return _Term(key.strip(), "!=" if sign == "!=" else "=", value.strip())
    return _Term(text, "exists", "")


def _tree(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - plain JSON
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}


def _at(tree: Any, path: str) -> Any:  # noqa: ANN401 - plain JSON
    for step in path.split("."):
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def pages_of(items: list[msgspec.Raw], size: int) -> Iterable[list[msgspec.Raw]]:
    """The items in pages; one empty page if there are none."""
    return (items[start : start + size] for start in range(0, max(len(items), 1), size))


def _is_refused(crd: CRD) -> bool:
    """Whether the API server serves nothing of the CRD, because another CRD has its names."""
    conditions = (crd.status and crd.status.conditions) or ()
    return any((condition.type, condition.status) == ("Established", "False") for condition in conditions)
