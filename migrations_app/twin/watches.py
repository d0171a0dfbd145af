"""Changes that somebody has not looked at yet: of each object the last one, so that nothing piles up."""

from dataclasses import dataclass, field
from typing import NamedTuple

from migrations_app.twin.objects.kinds import Place
from migrations_app.twin.store import Key, StoredObject


class UnreadChange(NamedTuple):
    """An object as it is now, or as it was when it went."""

    namespace: str
    stored: StoredObject
    gone: bool


@dataclass(slots=True)
class Watch:
    """The unread changes of one reader, by kind; an object that was replaced under its name is told as two."""

    _unread: dict[Place, dict[tuple[Key, str], UnreadChange]] = field(default_factory=dict)

    def note(self, place: Place, key: Key, *, stored: StoredObject, gone: bool = False) -> None:
        found = self._unread.setdefault(place, {})
        found.pop((key, stored.uid), None)
        found[key, stored.uid] = UnreadChange(key[0], stored, gone)

    def take(self, place: Place, namespace: str) -> list[UnreadChange]:
        """The unread changes of that kind, oldest first, in that namespace; an empty one means all."""
        if not namespace:
            return list(self._unread.pop(place, {}).values())
        held = self._unread.get(place, {})
        found = {key: change for key, change in held.items() if change.namespace == namespace}
        for key in found:
            del held[key]
        return list(found.values())

    @property
    def count(self) -> int:
        """How many changes are unread, of all kinds together."""
        return sum(map(len, self._unread.values()))
