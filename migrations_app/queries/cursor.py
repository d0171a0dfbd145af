"""Keyset cursors: where a list goes on, as one opaque text. They hold sort keys only and are checked on the way in."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import TypeAlias

Key: TypeAlias = str | int
LONGEST = 1500


def encode(keys: Sequence[Key]) -> str:
    """One text for a query string."""
    packed = json.dumps(list(keys), separators=(",", ":"), ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str, kinds: Sequence[type[Key]]) -> tuple[Key, ...] | None:
    """The keys of a cursor, checked against the types expected; None when it is none of ours."""
    if not text or len(text) > LONGEST:
        return None
    try:
        keys = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    if not isinstance(keys, list) or [type(key) for key in keys] != list(kinds):
        return None
    return tuple(keys)
