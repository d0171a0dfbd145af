"""Remote text made safe to show: short, one line, no control or direction characters."""

import re

from migrations_app.redaction import replace

LONGEST = 300
_SPACES = re.compile(r"\s+")
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")


def clean(text: str, *, longest: int = LONGEST) -> str:
    """The text on one line, odd characters as U+FFFD, anything that looks like a credential removed."""
    flat = _SPACES.sub(" ", text[: 4 * longest]).strip()
    kept = "".join(char if char.isprintable() and char not in _DIRECTIONS else "\ufffd" for char in flat)
    safe = replace(kept)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"
