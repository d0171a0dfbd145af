"""The state that the modules of the twin share: the objects, the definitions and the clock."""

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import RequestRefused, not_found
from migrations_app.twin.calls import Call
from migrations_app.twin.definitions import Definition, Definitions
from migrations_app.twin.objects.budget_index import BudgetIndex
from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.objects.ownership import Writing
from migrations_app.twin.store import Key, SharedParts, Store, StoredObject, owner_uids
from migrations_app.twin.watches import Watch

TwinClock = Callable[[], datetime]
_FIRST_WITH_SUBRESOURCE = 22
NAMESPACES: Place = ("", "namespaces")
BUDGETS: Place = ("policy", "poddisruptionbudgets")
_PODS: Place = ("", "pods")
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(slots=True)
class State:
    """The whole twin. `minor` is the server's minor version, `seed` makes uids repeatable.

    Writes to `untracked` kinds leave metadata.managedFields alone, as a server does for objects without any.
    """

    clock: TwinClock
    minor: int
    seed: str
    untracked: Collection[Place]
    definitions: Definitions
    store: Store = field(default_factory=Store)
    parts: SharedParts = field(default_factory=SharedParts)
    made: int = 0
    watches: list[Watch] = field(default_factory=list)
    touched: list[tuple[Place, Key, StoredObject]] = field(default_factory=list)
    """Objects that the garbage collector has to look at: as they were stored, or the last form of those deleted."""
    budgets: BudgetIndex = field(default_factory=BudgetIndex)
    _formatted_now: tuple[datetime, str] | None = None

    def now(self) -> str:
        now = self.clock()
        if self._formatted_now is None or self._formatted_now[0] != now:
            self._formatted_now = now, now.strftime(TIME_FORMAT)
        return self._formatted_now[1]

    def next_uid(self) -> str:
        self.made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.seed}/{self.made}"))

    def suffix(self) -> str:
        """Returns the five characters that the server appends to generateName."""
        return self.next_uid().replace("-", "")[:5]

    def find(self, call: Call) -> StoredObject:
        """Returns the object that the call names. Raises RequestRefused."""
        stored_object = self.store.find(call.kind.place, call.key)
        if stored_object is None:
            raise not_found(call.kind, call.name)
        return stored_object

    def view(self, call: Call, stored: StoredObject) -> JsonMap:
        return self.definitions.view(call.definition, stored, version=call.version)

    def writing(self, call: Call, *, operation: str = "Update") -> Writing:
        """Returns the writer for managedFields; servers before 1.22 leave out the subresource."""
        named_subresource = call.subresource if self.minor >= _FIRST_WITH_SUBRESOURCE else ""
        return Writing(call.manager, operation, call.api_version, named_subresource)

    def put(self, definition: Definition, document: JsonMap, *, version: str) -> StoredObject:
        """Stores an object of that version and returns it as stored. Raises RequestRefused."""
        kind = definition.kind
        converted = self.definitions.converted(definition, document, version=kind.storage) if kind.custom else document
        metadata = converted["metadata"] | {"resourceVersion": self.store.next_revision()}
        document_to_store = converted | {"metadata": metadata}
        new_object = StoredObject(
            self.parts.shared(document_to_store) if kind.place == _PODS else document_to_store, definition.serial
        )
        if kind.api_version(version) != new_object.document["apiVersion"]:
            requested_form = document | {
                "metadata": document["metadata"] | {"resourceVersion": metadata["resourceVersion"]}
            }
            new_object.views = {version: (definition.serial, requested_form)}
        key = metadata.get("namespace", ""), metadata["name"]
        old_object = self.store.find(kind.place, key)
        if old_object is not None and owner_uids(old_object.document) != owner_uids(new_object.document):
            self.touched.append((kind.place, key, old_object))
        self._store(kind.place, key, stored=new_object)
        if kind.place != _PODS or old_object is None or not _same_to_owners(old_object.document, new_object.document):
            self.touched.append((kind.place, key, new_object))
        return new_object

    def _store(self, place: Place, key: Key, *, stored: StoredObject) -> None:
        self.store.put(place, key, stored=stored)
        if place == BUDGETS:
            self.budgets.put(stored.document)
        for watch in self.watches:
            watch.note(place, key, stored=stored)

    def put_as_it_is(self, definition: Definition, document: JsonMap) -> None:
        """Stores an object in its own API version, as old objects of a cluster are stored."""
        metadata = document["metadata"] | {"resourceVersion": self.store.next_revision()}
        document_to_store = document | {"metadata": metadata}
        if definition.kind.place == _PODS:
            document_to_store = self.parts.shared(document_to_store)
        key = metadata.get("namespace", ""), metadata["name"]
        self._store(definition.kind.place, key, stored=StoredObject(document_to_store, definition.serial))

    def drop(self, place: Place, key: Key) -> None:
        dropped = self.store.find(place, key)
        self.store.drop(place, key)
        if place == BUDGETS:
            self.budgets.drop(key)
        self.store.next_revision()
        if dropped is not None:
            self.touched.append((place, key, dropped))
            for watch in self.watches:
                watch.note(place, key, stored=dropped, gone=True)

    def check_namespace(self, call: Call, *, name: str) -> None:
        """Raises RequestRefused if the namespace is missing or being deleted, so that nothing may be created in it."""
        if not call.namespace:
            return
        namespace = self.store.find(NAMESPACES, ("", call.namespace))
        if namespace is None:
            definition = self.definitions.find(NAMESPACES)
            if definition is not None:
                raise not_found(definition.kind, call.namespace)
        elif namespace.document["metadata"].get("deletionTimestamp"):
            message = (
                f'{call.kind.resource} "{name}" is forbidden: unable to create new content in namespace '
                f"{call.namespace} because it is being terminated"
            )
            details = {"name": name, "kind": call.kind.plural}
            raise RequestRefused(403, "Forbidden", message=message, details=details)


def _same_to_owners(old: JsonMap, new: JsonMap) -> bool:
    """Returns whether the garbage collector has nothing to do: the object stays, with the same owners."""
    before, after = old["metadata"], new["metadata"]
    same = before.get("uid") == after.get("uid") and before.get("ownerReferences") == after.get("ownerReferences")
    return same and "deletionTimestamp" not in before and "deletionTimestamp" not in after


@dataclass(frozen=True, slots=True)
class Work:
    """One request on the twin."""

    state: State
    call: Call

    def stored(self, document: JsonMap) -> JsonMap:
        """Stores the object, unless the request is a dry run; returns it as the caller sees it."""
        if self.call.dry:
            return document
        stored_object = self.state.put(self.call.definition, document, version=self.call.version)
        return self.state.view(self.call, stored_object)
