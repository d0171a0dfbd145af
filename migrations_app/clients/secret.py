"""Safe handling of text: `clean` makes remote text safe to show, `Secret` holds text that must never be shown (T23)."""

import hmac
import re
from typing import NoReturn

from migrations_app.redaction import replace_secrets

MAX_LENGTH = 300
_SPACES = re.compile(r"\s+")
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")


def clean(text: str, *, longest: int = MAX_LENGTH) -> str:
    """The text on one line, shortened, with control characters as U+FFFD and anything that looks like a credential
    removed.
    """
    flat = _SPACES.sub(" ", text[: 4 * longest]).strip()
    visible = "".join(char if char.isprintable() and char not in _DIRECTIONS else "\ufffd" for char in flat)
    safe = replace_secrets(visible)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


class Secret:
    """Holds a credential: no repr, no pickle. Only `reveal()` returns it, so every use can be found by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The credential itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode("utf-8", "replace"), other._value.encode("utf-8", "replace"))

    def __hash__(self) -> int:
        # A digest of the value could be compared with guesses.
        return hash(Secret)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never pickled or copied")
