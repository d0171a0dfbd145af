"""A text that must never be shown: no repr, no pickle, no place in a message (T23)."""

import hmac
from typing import NoReturn


class Secret:
    """Holds a credential. Only `reveal()` gives it, so every use can be found by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself."""
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
