"""A twin's objects as one value, and a twin made of it: for twins that outlive their process."""

from typing import Any

import msgspec

from migrations_app.twin.loading import load
from migrations_app.twin.objects.kinds import CRD
from migrations_app.twin.state import State

Tree = dict[str, Any]


class SavedTwin(msgspec.Struct, frozen=True, kw_only=True):
    """`revision` and `made` are the counters of resource versions and of uids."""

    revision: int
    made: int
    documents: list[Tree]


def saved(state: State) -> SavedTwin:
    """Every object as it is stored, definitions first."""
    places = sorted(state.store.places(), key=lambda place: place != CRD.place)
    documents = [
        stored_object.document for place in places for stored_object in state.store.collection(place).between("")
    ]
    return SavedTwin(revision=state.store.revision, made=state.made, documents=documents)


def restore(state: State, given: SavedTwin) -> None:
    """Stores the objects with the resource versions that they had, and no others."""
    for place in state.store.places():
        for key in list(state.store.collection(place).keys):
            state.store.drop(place, key)
    load(state, given.documents)
    versions = {document["metadata"]["uid"]: document["metadata"]["resourceVersion"] for document in given.documents}
    for place in state.store.places():
        for stored in state.store.collection(place).objects.values():
            known = versions.get(stored.uid)
            if known is not None:
                metadata = stored.document["metadata"] | {"resourceVersion": known}
                stored.document = stored.document | {"metadata": metadata}
    state.store.revision, state.made = given.revision, given.made
