"""Fills a twin with the objects of a reading, with their uids and API versions; saves and restores its objects."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from migrations_app.clients.bundle.index import guessed_plural
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap
from migrations_app.twin.definitions import Definition, accepted, crd_faults
from migrations_app.twin.objects.kinds import CRD, ServedKind
from migrations_app.twin.state import State

_ALWAYS = ("default", "kube-system")


def load(state: State, documents: Iterable[Mapping[str, Any]]) -> None:
    """Stores the objects; of an object that occurs twice the first one counts. A kind without a
    CustomResourceDefinition is served without a schema. Missing namespaces of objects are created. Documents without
    kind or name are left out."""
    namespaces: set[str] = set()
    waiting: list[JsonMap] = []
    for document in documents:
        if not document.get("kind") or not (document.get("metadata") or {}).get("name"):
            continue
        namespaces.add(str(document["metadata"].get("namespace") or ""))
        if document["kind"] == CRD.kind or _known_definition(state, document) is not None:
            _store(state, dict(document))
        else:
            waiting.append(dict(document))
    for document in waiting:
        _store(state, document)
    for name in sorted(namespaces.union(_ALWAYS) - {""}):
        _store(state, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": _ACTIVE})
    state.touched.clear()


def _known_definition(state: State, document: Mapping[str, Any]) -> Definition | None:
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    return state.definitions.by_kind(group, document["kind"])


_ACTIVE = {"phase": "Active"}


def _store(state: State, document: JsonMap) -> None:
    definition = _definition(state, document)
    metadata = {key: value for key, value in document["metadata"].items() if value is not None}
    if not definition.kind.namespaced:
        metadata.pop("namespace", None)
    key = metadata.get("namespace", ""), metadata["name"]
    if state.store.find(definition.kind.place, key) is not None:
        return
    if not metadata.get("uid"):
        metadata["uid"] = state.next_uid()
    if not metadata.get("creationTimestamp"):
        metadata["creationTimestamp"] = state.now()
    if definition.kind.counted:
        metadata.setdefault("generation", 1)
    document = document | {"metadata": metadata}
    if definition.kind.place == CRD.place:
        if [*crd_faults(document)]:
            return
        document = accepted(document, None, now=state.now())
        state.definitions.define(document)
    state.put_as_it_is(definition, document)


def _definition(state: State, document: JsonMap) -> Definition:
    definition = _known_definition(state, document)
    if definition is not None:
        return definition
    group, _, version = str(document.get("apiVersion", "")).rpartition("/")
    return state.definitions.serve(_kind_of_object(document, group=group, version=version))


def _kind_of_object(document: JsonMap, *, group: str, version: str) -> ServedKind:
    """A kind of which only an object is known."""
    row = kinds.find(document["kind"], group=group)
    plural = row.plural if row else guessed_plural(document["kind"])
    namespaced = bool(document["metadata"].get("namespace"))
    return ServedKind(
        group=group,
        plural=plural,
        kind=document["kind"],
        versions=(version,),
        storage=version,
        namespaced=namespaced,
        counted=True,
        custom=True,
        unconditional=False,
    )


class SavedTwin(msgspec.Struct, frozen=True, kw_only=True):
    """The stored content of a twin. `revision` and `made` are the counters of resource versions and of uids."""

    revision: int
    made: int
    documents: list[JsonMap]


def saved(state: State) -> SavedTwin:
    """Every object as it is stored, definitions first."""
    places = sorted(state.store.places(), key=lambda place: place != CRD.place)
    documents = [
        stored_object.document for place in places for stored_object in state.store.collection(place).between("")
    ]
    return SavedTwin(revision=state.store.revision, made=state.made, documents=documents)


def restore(state: State, twin: SavedTwin) -> None:
    """Stores the objects with the resource versions that they had, and no others."""
    for place in state.store.places():
        for key in list(state.store.collection(place).keys):
            state.store.drop(place, key)
    load(state, twin.documents)
    versions = {document["metadata"]["uid"]: document["metadata"]["resourceVersion"] for document in twin.documents}
    for place in state.store.places():
        for stored in state.store.collection(place).objects.values():
            version = versions.get(stored.uid)
            if version is not None:
                metadata = stored.document["metadata"] | {"resourceVersion": version}
                stored.document = stored.document | {"metadata": metadata}
    state.store.revision, state.made = twin.revision, twin.made
