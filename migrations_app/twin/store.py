"""Stores the objects: finds them by key or by the uid of an owner, and lists them sorted by key."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from migrations_app.manifests import JsonMap
from migrations_app.twin.objects.kinds import Place

_SHARED = ("labels", "annotations", "ownerReferences")
Key = tuple[str, str]
"""(namespace, name)."""


@dataclass(slots=True)
class StoredObject:
    """One object in the version in which it was written; a write replaces it. `serial` is that of the definition
    with which it was written. `views` caches it in other versions, by version."""

    document: JsonMap
    serial: int = 0
    views: dict[str, tuple[int, JsonMap]] | None = None

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])


class SharedParts:
    """Stores equal parts of pods once: most pods of a workload differ only in name, node and status."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, Any] = {}
        self._ids: dict[int, Any] = {}
        """The same parts by identity: a pod is written several times, and most of its parts are shared by then."""

    def shared(self, document: JsonMap) -> JsonMap:
        """Returns the document with the parts of its spec, its labels and its owners replaced by equal stored ones."""
        metadata = {
            key: self._shared_part(value) if key in _SHARED else value for key, value in document["metadata"].items()
        }
        spec = {key: self._shared_part(value) for key, value in (document.get("spec") or {}).items()}
        return document | {"metadata": metadata, "spec": spec}

    def _shared_part(self, value: Any) -> Any:  # noqa: ANN401 - plain JSON
        if not isinstance(value, dict | list) or id(value) in self._ids:
            return value
        shared_part = self._by_content.setdefault(msgspec.json.encode(value), value)
        self._ids[id(shared_part)] = shared_part
        return shared_part


@dataclass(slots=True)
class Collection:
    """The objects of one kind. `used`: whether it ever had an object."""

    used: bool = False
    objects: dict[Key, StoredObject] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)

    def put(self, key: Key, stored: StoredObject) -> None:
        self.used = True
        if key not in self.objects:
            insort(self.keys, key)
        self.objects[key] = stored

    def take(self, key: Key) -> StoredObject:
        del self.keys[bisect_left(self.keys, key)]
        return self.objects.pop(key)

    def between(self, namespace: str) -> Iterator[StoredObject]:
        """Returns the objects of a namespace, or of all if empty, sorted."""
        if not namespace:
            return (self.objects[key] for key in self.keys)
        first = bisect_left(self.keys, (namespace, ""))
        last = bisect_right(self.keys, (namespace, "\U0010ffff"))
        return (self.objects[key] for key in self.keys[first:last])


class Store:
    """Every object, by kind. `revision` grows by one with each write; it is the objects' resourceVersion."""

    def __init__(self) -> None:
        self.revision = 1
        self._collections: dict[Place, Collection] = {}
        self._dependents: dict[str, dict[tuple[Place, Key], None]] = {}
        self._places: dict[str, tuple[Place, Key]] = {}

    def collection(self, place: Place) -> Collection:
        kind_objects = self._collections.get(place)
        if kind_objects is None:
            kind_objects = self._collections[place] = Collection()
        return kind_objects

    def places(self) -> list[Place]:
        """The kinds that have a collection."""
        return list(self._collections)

    def find(self, place: Place, key: Key) -> StoredObject | None:
        collection = self._collections.get(place)
        return collection.objects.get(key) if collection else None

    def by_uid(self, uid: str) -> tuple[Place, Key] | None:
        """Returns the place of the object with this uid; None if there is none."""
        return self._places.get(uid)

    def dependents(self, uid: str) -> list[tuple[Place, Key]]:
        """Returns the places of the objects that have this uid as an owner."""
        return list(self._dependents.get(uid, ()))

    def each_dependent(self, uid: str) -> Iterator[tuple[Place, Key]]:
        """As `dependents`, as an iterator, for a caller that writes nothing meanwhile."""
        return iter(self._dependents.get(uid, ()))

    def next_revision(self) -> str:
        self.revision += 1
        return str(self.revision)

    def put(self, place: Place, key: Key, *, stored: StoredObject) -> None:
        old = self.find(place, key)
        if old is not None:
            self._forget(place, key, old=old)
        self.collection(place).put(key, stored)
        self._places[stored.uid] = place, key
        for uid in owner_uids(stored.document):
            self._dependents.setdefault(uid, {})[place, key] = None

    def drop(self, place: Place, key: Key) -> None:
        self._forget(place, key, old=self.collection(place).take(key))

    def _forget(self, place: Place, key: Key, *, old: StoredObject) -> None:
        self._places.pop(old.uid, None)
        for uid in owner_uids(old.document):
            dependents = self._dependents.get(uid)
            if dependents is not None:
                dependents.pop((place, key), None)
                if not dependents:
                    del self._dependents[uid]


def owner_uids(document: JsonMap) -> list[str]:
    """The uids in metadata.ownerReferences."""
    return [str(owner.get("uid", "")) for owner in document["metadata"].get("ownerReferences") or ()]
