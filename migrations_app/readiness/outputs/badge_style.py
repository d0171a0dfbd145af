"""The type of a badge, section or reason on a page: its word, colour and icon."""

from typing import NamedTuple


class BadgeStyle(NamedTuple):
    """`tone` is a CSS class (is-pass, ...), `icon` a symbol of icons.svg; the word is always shown beside both.

    `id` is the name by which a page refers to it.
    """

    word: str
    tone: str
    icon: str
    note: str = ""
    id: str = ""
