"""Other bytes than were written: how people, editors and attackers change what karpdash reads."""

import copy
import gzip
import json
import random
from typing import Any

YAML_PIECES = (b"exec:", b"&a ", b"*a", b"\n  - ", b"{}", b"!!x ", b"\t", b": ", b"''", b"? ")
TEXT_PIECES = (
    *YAML_PIECES,
    *(
        b"<<: *a",
        b"\n---\n",
        b"\0",
        b"\xff\xfe",
        b"\xe2\x80\xae",
        b"[" * 40,
        b"1e999",
        b"-0",
        b"null",
        b'"',
        b"%",
        b"${",
    ),
    *(
        b"$(id)",
        b"`id`",
        b"; id #",
        b"\r\n",
        b"apiVersion: karpenter.sh/v1alpha5\n",
        b"kind: List\nitems:\n",
        b"~",
        b"|\n ",
    ),
)
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 1e308, "", " ", "\0", "\u202e", "x" * 5000, "$(id)", "`id`", "a\nb", "'; id; '",
    "../../x", "1e999", "-0", "NaN", [], {}, [[]], [None], {"": None}, {"a": {"a": {"a": {}}}}, ["x"] * 300,
)  # fmt: skip


def changed(raw: bytes, dice: random.Random, *, pieces: tuple[bytes, ...] = YAML_PIECES) -> bytes:
    """A few bytes lost, doubled, replaced, or one of the pieces put in between."""
    found = bytearray(raw)
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(found)) if found else 0
        piece = found[at : at + dice.randrange(1, 12)]
        how = dice.randrange(4)
        if how == 0 and len(found) > len(piece):
            del found[at : at + len(piece)]
        elif how == 1:
            found[at:at] = piece
        elif how == 2 and found:
            found[at] = dice.randrange(256)
        else:
            found[at:at] = dice.choice(pieces)
    return bytes(found)


def changed_tree(tree: Any, dice: random.Random) -> Any:
    """A copy of the JSON in which one to four places are another value, gone, doubled or renamed."""
    made = json.loads(json.dumps(tree))
    for _ in range(dice.randrange(1, 5)):
        place = _place(made, dice)
        if place is not None:
            _put(*place, dice=dice)
    return made


def _place(tree: Any, dice: random.Random) -> tuple[Any, Any] | None:
    """(container, key) somewhere in the tree."""
    found: tuple[Any, Any] | None = None
    while isinstance(tree, dict | list) and tree:
        key = dice.choice(list(tree)) if isinstance(tree, dict) else dice.randrange(len(tree))
        found, tree = (tree, key), tree[key]
        if dice.random() < 0.2:
            break
    return found


def _put(container: Any, key: Any, *, dice: random.Random) -> None:
    how = dice.randrange(4)
    if how == 0:
        del container[key]
    elif how == 1:
        container[key] = copy.deepcopy(dice.choice(ODD))
    elif isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif how == 2:
        container[str(dice.choice(ODD))] = container.pop(key)
    else:
        container[key] = [container[key], copy.deepcopy(container[key])]


def changed_archive(plain: bytes, dice: random.Random) -> bytes:
    """Some bytes of the tar or of its packed form are other ones; half of the headers get a right checksum again."""
    found = bytearray(plain)
    for _ in range(dice.randrange(1, 5)):
        found[dice.randrange(len(found))] = dice.choice([0, 1, 0x2F, 0x2E, 0x37, 0x80, 0xFF, dice.randrange(256)])
    if dice.random() < 0.5:
        for start in range(0, len(found) - 1024, 512):
            block = found[start : start + 148] + b" " * 8 + found[start + 156 : start + 512]
            found[start + 148 : start + 156] = f"{sum(block):06o}\0 ".encode()
    raw = bytearray(gzip.compress(bytes(found), mtime=0, compresslevel=1))
    if dice.random() < 0.3:
        raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    return bytes(raw[: dice.randrange(1, len(raw) + 1)] if dice.random() < 0.1 else raw)
