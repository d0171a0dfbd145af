"""Keeps the unread changes of objects: only the last change of each, so that they do not pile up."""

from dataclasses import dataclass, field
from typing import NamedTuple

from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.store import Key, StoredObject


class UnreadChange(NamedTuple):
    """An object as it is now, or as it was before its deletion."""

    namespace: str
    stored: StoredObject
    gone: bool


@dataclass(slots=True)
class Watch:
    """The unread changes of one reader, by kind; an object that was deleted and created again counts as two."""

    _unread: dict[Place, dict[tuple[Key, str], UnreadChange]] = field(default_factory=dict)

    def note(self, place: Place, key: Key, *, stored: StoredObject, gone: bool = False) -> None:
        changes = self._unread.setdefault(place, {})
        changes.pop((key, stored.uid), None)
        changes[key, stored.uid] = UnreadChange(key[0], stored, gone)

    def take(self, place: Place, namespace: str) -> list[UnreadChange]:
        """Returns the unread changes of that kind in that namespace, oldest first; an empty namespace means all."""
        if not namespace:
            return list(self._unread.pop(place, {}).values())
        changes = self._unread.get(place, {})
        taken_changes = {key: change for key, change in changes.items() if change.namespace == namespace}
        for key in taken_changes:
            del changes[key]
        return list(taken_changes.values())

    @property
    def count(self) -> int:
        """How many changes are unread, of all kinds together."""
        return sum(map(len, self._unread.values()))
