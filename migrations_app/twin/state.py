"""What the rooms of the twin share: the objects, the definitions, the clock, and who may do what."""

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from migrations_app.twin.answers import RequestRefused, not_found
from migrations_app.twin.calls import Call
from migrations_app.twin.definitions import Definition, Definitions
from migrations_app.twin.objects.budget_index import BudgetIndex
from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.objects.ownership import Writing
from migrations_app.twin.store import Key, SharedParts, Store, StoredObject, owner_uids
from migrations_app.twin.watches import Watch

Tree = dict[str, Any]
Clock = Callable[[], datetime]
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

    clock: Clock
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
    _told: tuple[datetime, str] | None = None

    def now(self) -> str:
        now = self.clock()
        if self._told is None or self._told[0] != now:
            self._told = now, now.strftime(TIME_FORMAT)
        return self._told[1]

    def next_uid(self) -> str:
        self.made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.seed}/{self.made}"))

    def suffix(self) -> str:
        """The five characters that the server adds to generateName."""
        return self.next_uid().replace("-", "")[:5]

    def find(self, call: Call) -> StoredObject:
        """The object that the call names. Raises RequestRefused."""
        stored_object = self.store.find(call.kind.place, call.key)
        if stored_object is None:
            raise not_found(call.kind, call.name)
        return stored_object

    def view(self, call: Call, stored: StoredObject) -> Tree:
        return self.definitions.view(call.definition, stored, version=call.version)

    def writing(self, call: Call, *, operation: str = "Update") -> Writing:
        """Who writes, as managedFields name it; servers before 1.22 do not tell the subresource."""
        told = call.subresource if self.minor >= _FIRST_WITH_SUBRESOURCE else ""
        return Writing(call.manager, operation, call.api_version, told)

    def put(self, definition: Definition, document: Tree, *, version: str) -> StoredObject:
        """Stores an object that is given in that version; returns it as stored. Raises RequestRefused."""
        kind = definition.kind
        stored = self.definitions.converted(definition, document, version=kind.storage) if kind.custom else document
        metadata = stored["metadata"] | {"resourceVersion": self.store.next_revision()}
        whole = stored | {"metadata": metadata}
        made = StoredObject(self.parts.shared(whole) if kind.place == _PODS else whole, definition.serial)
        if kind.api_version(version) != made.document["apiVersion"]:
            shown = document | {"metadata": document["metadata"] | {"resourceVersion": metadata["resourceVersion"]}}
            made.views = {version: (definition.serial, shown)}
        key = metadata.get("namespace", ""), metadata["name"]
        old = self.store.find(kind.place, key)
        if old is not None and owner_uids(old.document) != owner_uids(made.document):
            self.touched.append((kind.place, key, old))
        self._keep(kind.place, key, made=made)
        if kind.place != _PODS or old is None or not _same_to_owners(old.document, made.document):
            self.touched.append((kind.place, key, made))
        return made

    def _keep(self, place: Place, key: Key, *, made: StoredObject) -> None:
        self.store.put(place, key, stored=made)
        if place == BUDGETS:
            self.budgets.put(made.document)
        for watch in self.watches:
            watch.note(place, key, stored=made)

    def put_as_it_is(self, definition: Definition, document: Tree) -> None:
        """Stores an object in the version in which it is given, as older objects of a cluster are stored."""
        metadata = document["metadata"] | {"resourceVersion": self.store.next_revision()}
        whole = document | {"metadata": metadata}
        if definition.kind.place == _PODS:
            whole = self.parts.shared(whole)
        key = metadata.get("namespace", ""), metadata["name"]
        self._keep(definition.kind.place, key, made=StoredObject(whole, definition.serial))

    def drop(self, place: Place, key: Key) -> None:
        gone = self.store.find(place, key)
        self.store.drop(place, key)
        if place == BUDGETS:
            self.budgets.drop(key)
        self.store.next_revision()
        if gone is not None:
            self.touched.append((place, key, gone))
            for watch in self.watches:
                watch.note(place, key, stored=gone, gone=True)

    def check_namespace(self, call: Call, *, name: str) -> None:
        """Raises RequestRefused where nothing of that name may be created: the namespace is absent or being deleted."""
        if not call.namespace:
            return
        stored_object = self.store.find(NAMESPACES, ("", call.namespace))
        if stored_object is None:
            spaces = self.definitions.find(NAMESPACES)
            if spaces is not None:
                raise not_found(spaces.kind, call.namespace)
        elif stored_object.document["metadata"].get("deletionTimestamp"):
            message = (
                f'{call.kind.resource} "{name}" is forbidden: unable to create new content in namespace '
                f"{call.namespace} because it is being terminated"
            )
            details = {"name": name, "kind": call.kind.plural}
            raise RequestRefused(403, "Forbidden", message=message, details=details)


def _same_to_owners(old: Tree, new: Tree) -> bool:
    """Whether the garbage collector has nothing to look at: the object stays, with the owners that it had."""
    before, after = old["metadata"], new["metadata"]
    same = before.get("uid") == after.get("uid") and before.get("ownerReferences") == after.get("ownerReferences")
    return same and "deletionTimestamp" not in before and "deletionTimestamp" not in after


@dataclass(frozen=True, slots=True)
class Work:
    """One request on the twin."""

    state: State
    call: Call

    def stored(self, document: Tree) -> Tree:
        """Stores the object, unless the request is a dry run; returns it as the caller sees it."""
        if self.call.dry:
            return document
        made = self.state.put(self.call.definition, document, version=self.call.version)
        return self.state.view(self.call, made)
