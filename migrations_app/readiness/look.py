"""How a word looks on a page: the one type for badges, sections and reasons."""

from typing import NamedTuple


class Look(NamedTuple):
    """`tone` is a class of the sheet (is-pass, ...), `icon` a symbol of icons.svg; a word always stands beside both.

    `id` is what a page calls the thing, where it refers to it.
    """

    word: str
    tone: str
    icon: str
    note: str = ""
    id: str = ""
