"""Simulates the garbage collector: deletes dependents without an owner, orphans them, and completes foreground
deletions.

Source: kubernetes/kubernetes@v1.20.2:pkg/controller/garbagecollector/garbagecollector.go (attemptToDeleteItem). The
real one runs beside the server with a delay; here it has finished when the request is answered.
"""

from collections.abc import Mapping
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import RequestRefused
from migrations_app.twin.calls import Call
from migrations_app.twin.deletion import FOREGROUND, ORPHAN, delete
from migrations_app.twin.objects.kinds import CRD, Place
from migrations_app.twin.state import State, Work
from migrations_app.twin.store import Key, StoredObject, owner_uids

Owner = Mapping[str, Any]


class GarbageCollector:
    """Works on the objects that were written or deleted since its last run."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._refused: list[tuple[Place, Key, StoredObject]] = []

    def collect(self) -> None:
        """Processes every queued object and those that this changes; a refused one is tried again the next time."""
        queue = [*self._refused, *self._state.touched]
        self._refused.clear()
        while queue:
            self._state.touched.clear()
            for place, key, stored in queue:
                try:
                    self._process(place, key, queued_object=stored)
                except RequestRefused:
                    self._refused.append((place, key, stored))
            queue = [*self._state.touched]
        self._state.touched.clear()

    def _process(self, place: Place, key: Key, *, queued_object: StoredObject) -> None:
        """Processes an object that was written or deleted; `queued_object` is its form before or after that."""
        self._free_owners(queued_object)
        stored_object = self._state.store.find(place, key)
        if stored_object is None or stored_object.uid != queued_object.uid:
            for dependent_place, dependent_key in self._state.store.dependents(queued_object.uid):
                self._settle(dependent_place, dependent_key)
            return
        finalizers = _finalizers(stored_object)
        if _is_terminating(stored_object) and ORPHAN in finalizers:
            self._orphan(place, key, owner=stored_object)
        elif _is_terminating(stored_object) and FOREGROUND in finalizers:
            self._foreground(place, key, owner=stored_object)
        else:
            self._settle(place, key)

    def _free_owners(self, dependent: StoredObject) -> None:
        """Ends the foreground deletion of owners that waited for this dependent only."""
        for uid in owner_uids(dependent.document):
            where = self._state.store.by_uid(uid)
            owner = self._state.store.find(*where) if where else None
            if where and owner is not None and _is_terminating(owner) and FOREGROUND in _finalizers(owner):
                self._end_foreground(*where, owner=owner)

    def _orphan(self, place: Place, key: Key, *, owner: StoredObject) -> None:
        for dependent_place, dependent_key in self._state.store.dependents(owner.uid):
            stored_object = self._state.store.find(dependent_place, dependent_key)
            if stored_object is not None:
                other_owners = [reference for reference in _owners(stored_object) if reference.get("uid") != owner.uid]
                self._write(dependent_place, stored_object.document, changed={"ownerReferences": other_owners})
        self._drop_finalizer(place, key, finalizer=ORPHAN)

    def _foreground(self, place: Place, key: Key, *, owner: StoredObject) -> None:
        for dependent_place, dependent_key in self._state.store.dependents(owner.uid):
            self._settle(dependent_place, dependent_key)
        self._end_foreground(place, key, owner=owner)

    def _end_foreground(self, place: Place, key: Key, *, owner: StoredObject) -> None:
        if not self._blocking(owner.uid):
            self._drop_finalizer(place, key, finalizer=FOREGROUND)

    def _blocking(self, uid: str) -> bool:
        """Returns whether a dependent is left that its owner has to wait for."""
        stored_objects = (self._state.store.find(*where) for where in self._state.store.each_dependent(uid))
        return any(
            owner.get("uid") == uid and owner.get("blockOwnerDeletion")
            for stored_object in stored_objects
            if stored_object is not None
            for owner in _owners(stored_object)
        )

    def _settle(self, place: Place, key: Key) -> None:
        """Deletes an object without an existing owner; removes references to missing owners if it has another one."""
        stored_object = self._state.store.find(place, key)
        if stored_object is None or not _owners(stored_object) or _is_terminating(stored_object):
            return
        owner_states = [(owner, self._owner_state(owner, key)) for owner in _owners(stored_object)]
        if any(state == "unknown" for _, state in owner_states):
            return
        solid_owners = [owner for owner, state in owner_states if state == "solid"]
        if solid_owners:
            if len(solid_owners) < len(owner_states):
                self._write(place, stored_object.document, changed={"ownerReferences": solid_owners})
            return
        waiting = any(state == "waiting" for _, state in owner_states)
        if waiting and self._state.store.dependents(stored_object.uid):
            self._unblock(place, key)
            self._delete(place, key, policy="Foreground")
            return
        finalizers = _finalizers(stored_object)
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        self._delete(place, key, policy=policy)

    def _owner_state(self, owner: Owner, key: Key) -> str:
        """Returns the state of an owner: solid, waiting (for its dependents), absent, or unknown. Unknown are owners
        of kinds that are not served, or of which the twin never held an object, so that they may not have been read."""
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        definition = self._state.definitions.by_kind(group, str(owner.get("kind", "")))
        if definition is None or not self._state.store.collection(definition.kind.place).used:
            return "unknown"
        where = (key[0] if definition.kind.namespaced else "", str(owner.get("name", "")))
        stored_object = self._state.store.find(definition.kind.place, where)
        if stored_object is None or stored_object.uid != owner.get("uid"):
            return "absent"
        return "waiting" if _is_terminating(stored_object) and FOREGROUND in _finalizers(stored_object) else "solid"

    def _unblock(self, place: Place, key: Key) -> None:
        """Ends the waiting of owners that own each other in a circle."""
        stored_object = self._state.store.find(place, key)
        if stored_object is None:
            return
        dependent_objects = [
            self._state.store.find(*where) for where in self._state.store.dependents(stored_object.uid)
        ]
        if any(
            stored_object is not None and _is_terminating(stored_object) and FOREGROUND in _finalizers(stored_object)
            for stored_object in dependent_objects
        ):
            owners = [{**owner, "blockOwnerDeletion": False} for owner in _owners(stored_object)]
            self._write(place, stored_object.document, changed={"ownerReferences": owners})

    def _drop_finalizer(self, place: Place, key: Key, *, finalizer: str) -> None:
        stored_object = self._state.store.find(place, key)
        if stored_object is None:
            return
        other_finalizers = [name for name in _finalizers(stored_object) if name != finalizer]
        if other_finalizers:
            self._write(place, stored_object.document, changed={"finalizers": other_finalizers})
        else:
            self._state.drop(place, key)

    def _write(self, place: Place, document: JsonMap, *, changed: JsonMap) -> None:
        definition = self._state.definitions.find(place)
        if definition is None:
            return
        metadata = {key: value for key, value in (document["metadata"] | changed).items() if value != []}
        version = document["apiVersion"].rpartition("/")[2]
        self._state.put(definition, document | {"metadata": metadata}, version=version)

    def _delete(self, place: Place, key: Key, *, policy: str) -> None:
        definition = self._state.definitions.find(place)
        if definition is not None:
            body = {"propagationPolicy": policy}
            version = definition.kind.storage
            call = Call(
                method="DELETE", definition=definition, version=version, namespace=key[0], name=key[1], body=body
            )
            delete(Work(self._state, call))


def settle_definitions(state: State) -> None:
    """Serves the kinds of new CustomResourceDefinitions; removes deleted ones together with their objects."""
    seen = 0
    while seen < len(state.touched):
        place, key, _ = state.touched[seen]
        seen += 1
        if place == CRD.place:
            _settle_definition(state, key)
            continue
        definition = state.definitions.find(place)
        if definition is not None and definition.ending:
            _settle_definition(state, ("", definition.kind.resource))


def _settle_definition(state: State, key: Key) -> None:
    plural, _, group = key[1].partition(".")
    stored_object = state.store.find(CRD.place, key)
    if stored_object is None:
        state.definitions.forget((group, plural))
        return
    state.definitions.define(stored_object.document)
    definition = state.definitions.find((group, plural))
    if definition is None or not definition.ending:
        return
    objects = state.store.collection((group, plural)).objects
    for namespace, name in [where for where, stored_object in objects.items() if not _is_terminating(stored_object)]:
        version = definition.kind.storage
        delete(
            Work(state, Call(method="DELETE", definition=definition, version=version, namespace=namespace, name=name))
        )
    if not objects:
        state.drop(CRD.place, key)
        state.definitions.forget((group, plural))


def _finalizers(stored: StoredObject) -> list[str]:
    return list(stored.document["metadata"].get("finalizers") or ())


def _owners(stored: StoredObject) -> list[Owner]:
    return list(stored.document["metadata"].get("ownerReferences") or ())


def _is_terminating(stored: StoredObject) -> bool:
    return "deletionTimestamp" in stored.document["metadata"]
