"""Ids as forms send them."""

import uuid
from collections.abc import Iterable


def uuids_in(texts: Iterable[str]) -> tuple[uuid.UUID, ...]:
    """Those of the texts that are ids, each once."""
    return tuple(dict.fromkeys(found for text in texts if (found := uuid_in(text))))


def uuid_in(text: str) -> uuid.UUID | None:
    """None for a text that is no id."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
