"""Splits a JSON list by its brackets if one object breaks the decoder, so that the other objects are kept.

The fast decoder rejects the whole page for one lone surrogate or one object nested a thousand levels deep (K12).
"""

import re

import msgspec

# A string without an end is one token, too, and nothing is tried twice: time and memory follow the length.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|[{}\[\],]', re.DOTALL)
_KEY = re.compile(rb'[ \t\r\n]*"items"[ \t\r\n]*:[ \t\r\n]*\Z')
_OPEN, _CLOSE = frozenset(b"{["), frozenset(b"}]")


def parsable_items(body: bytes | bytearray) -> tuple[bytes, list[msgspec.Raw]] | None:
    """(the list without its items, each item); None if the text is not a complete JSON object with a list of items."""
    start = _items_start(body)
    if start is None:
        return None
    items, end = _split(body, start)
    if end is None:
        return None
    return bytes(body[:start]) + bytes(body[end:]), items


def _items_start(body: bytes | bytearray) -> int | None:
    """The offset after the opening bracket of the top-level `items`; None if there is none."""
    depth, before = 0, 0
    for token in _TOKEN.finditer(body):
        sign = body[token.start()]
        if sign in _OPEN:
            if depth == 1 and sign == ord("[") and _KEY.match(body, before, token.start()):
                return token.end()
            depth += 1
        elif sign in _CLOSE:
            depth -= 1
        if depth == 1 and sign in b"{,":
            before = token.end()
    return None


def _split(body: bytes | bytearray, start: int) -> tuple[list[msgspec.Raw], int | None]:
    """(each item, offset of the closing bracket); the second is None if the list does not end."""
    items: list[msgspec.Raw] = []
    depth, first = 0, start
    for token in _TOKEN.finditer(body, start):
        sign = body[token.start()]
        if depth == 0 and sign in b",]":
            if item := bytes(body[first : token.start()]).strip():
                items.append(msgspec.Raw(item))
            if sign == ord("]"):
                return items, token.start()
            first = token.end()
        depth += (sign in _OPEN) - (sign in _CLOSE)
    return items, None
