"""Changes values inside a YAML text and keeps everything else: comments, order, quotes, empty lines.

Only the places that differ are rewritten. The result is read again and compared with the expected values, so that a
text is changed exactly or not at all.
"""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from migrations_app.errors import InvalidManifest
from migrations_app.manifests import writer
from migrations_app.manifests.writer import Plain
from migrations_app.manifests.yaml_reader import KIB, YamlLimits, compose

FILE: Final = YamlLimits(size=512 * KIB, documents=500, depth=40, nodes=50_000, alias_nodes=1000)
"""Limits for a file of a repository. Aliases are read but a document with aliases is never changed, because a value may
then be used in two places."""
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BETWEEN: Final = re.compile(r"[ \t]*")
_DASH: Final = re.compile(r"-(?=\s|$)")


class _Edit(NamedTuple):
    """Replaces the characters from `start` to `end` with `text`."""

    start: int
    end: int
    text: str


class _TooOdd(Exception):
    """The text is written in a form that cannot be edited in place."""


def values(text: str) -> list[Plain]:
    """The value of each document. Raises InvalidManifest."""
    try:
        composeds = list(compose(text, limits=FILE))
    except yaml.YAMLError:
        raise InvalidManifest("this is no YAML that can be read", code="not_yaml") from None
    if any(composed.repeats for composed in composeds):
        raise InvalidManifest("a key is written twice in one map", code="repeated_key")
    return [composed.value for composed in composeds]


def edited(text: str, new_values: Mapping[int, Plain]) -> str:
    """The text in which the documents with these numbers, from 0, have the new values.

    Raises InvalidManifest if the text cannot be read, or cannot be edited in place.
    """
    before = values(text)
    after = [new_values.get(number, value) for number, value in enumerate(before)]
    if any(isinstance(event, AliasEvent) for event in yaml.parse(text, Loader=_LOADER)):
        raise InvalidManifest("aliases are not changed; change it by hand", code="edit_refused")
    nodes = list(yaml.compose_all(text, Loader=_LOADER))
    try:
        edits = [
            edit
            for number, node in enumerate(nodes)
            if before[number] != after[number]
            for edit in _changed(text, node, old=before[number], new=after[number])
        ]
        result = _spliced(text, edits)
        fits = values(result) == after
    except (_TooOdd, InvalidManifest, IndexError):
        fits = False
    if not fits:
        raise InvalidManifest("it is written in a way that is not changed here; change it by hand", code="edit_refused")
    return result


def _spliced(text: str, edits: list[_Edit]) -> str:
    """The text after the edits. Insertions at the same place keep their order and come before a removal there.

    Raises _TooOdd if two edits overlap.
    """
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        if edit.start < at:
            raise _TooOdd
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join((*parts, text[at:]))


def _changed(text: str, node: Node, *, old: Plain, new: Plain) -> Iterator[_Edit]:
    if old == new and type(old) is type(new):
        return
    block = not getattr(node, "flow_style", False) and bool(node.value)
    if isinstance(node, MappingNode) and isinstance(new, dict) and block and any(key in new for key in old):
        yield from _in_map(text, node, old=old, new=new)
    elif isinstance(node, SequenceNode) and isinstance(new, list) and block and new:
        yield from _in_list(text, node, old=old, new=new)
    elif _is_scalar(node) and not (isinstance(new, dict | list) and new):
        yield _Edit(node.start_mark.index, node.end_mark.index, _scalar_text(text, node, new=new))
    elif getattr(node, "flow_style", False) and not block:
        yield _Edit(node.start_mark.index, node.end_mark.index, json.dumps(new, ensure_ascii=False))
    else:
        raise _TooOdd


def _is_scalar(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style not in ("|", ">")


def _scalar_text(text: str, node: Node, *, new: Plain) -> str:
    """The new scalar with the quotes of the old one; with a leading space if it follows a colon directly."""
    written = writer.text_of({"k": new}).removeprefix("k: ").rstrip("\n")
    if "\n" in written:
        raise _TooOdd
    if isinstance(new, str) and getattr(node, "style", None) == "'" and "'" not in new and new.isprintable():
        written = f"'{new}'"
    elif isinstance(new, str) and getattr(node, "style", None) == '"' and not written.startswith('"'):
        written = json.dumps(new, ensure_ascii=False)
    return f" {written}" if text[node.start_mark.index - 1 : node.start_mark.index] == ":" else written


def _in_map(text: str, node: Node, *, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Edit]:
    pairs = [(str(key.value), key, value) for key, value in node.value]
    column = node.value[0][0].start_mark.column
    last = 0
    for number, (name, key, value) in enumerate(pairs):
        following = pairs[number + 1][1] if number + 1 < len(pairs) else None
        if name not in new:
            yield _removed(text, key, value=value, following=following)
            continue
        if old[name] != new[name] or type(old[name]) is not type(new[name]):
            yield from _entry(text, key, value=value, old=old[name], new=new[name], name=name, column=column)
        last = _next_line(text, _end(text, value))
    added = {name: value for name, value in new.items() if name not in old}
    if added:
        yield _Edit(last, last, _below(text, last, lines=writer.text_of(added).splitlines(), column=column))


def _entry(text: str, key: Node, *, value: Node, old: Plain, new: Plain, name: str, column: int) -> Iterator[_Edit]:
    """Edits for the value of one key: only the places that differ, or the whole value if those cannot be edited in
    place."""
    try:
        edits = list(_changed(text, value, old=old, new=new))
        _spliced(text, edits)
        yield from edits
    except _TooOdd:
        lines = writer.text_of({name: new}).splitlines()
        first = lines[0].removeprefix(lines[0].partition(":")[0])
        if lines[0].startswith(('"', "?")):
            raise
        rest = [" " * column + line if line else line for line in lines[1:]]
        yield _Edit(key.end_mark.index, _end(text, value), "\n".join((first, *rest)))


def _removed(text: str, key: Node, *, value: Node, following: Node | None) -> _Edit:
    """Removes the lines of one entry; after a list dash, only the text up to the next entry."""
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if _BETWEEN.fullmatch(text, start, key.start_mark.index):
        return _Edit(start, _next_line(text, _end(text, value)), "")
    if following is None:
        raise _TooOdd
    return _Edit(key.start_mark.index, following.start_mark.index, "")


def _in_list(text: str, node: Node, *, old: list[Any], new: list[Any]) -> Iterator[_Edit]:
    items, column = node.value, node.start_mark.column
    starts = [text.rfind("\n", 0, item.start_mark.index) + 1 for item in items]
    if not all(_BETWEEN.fullmatch(text, at, at + column) and _DASH.match(text, at + column) for at in starts):
        raise _TooOdd
    match = SequenceMatcher(a=list(map(_as_key, old)), b=list(map(_as_key, new)), autojunk=False)
    for kind, old_start, old_end, new_start, new_end in match.get_opcodes():
        if kind == "equal":
            continue
        replaced = min(old_end - old_start, new_end - new_start)
        for step in range(replaced):
            yield from _changed(text, items[old_start + step], old=old[old_start + step], new=new[new_start + step])
        for item, at in zip(items[old_start + replaced : old_end], starts[old_start + replaced : old_end], strict=True):
            yield _Edit(at, _next_line(text, _end(text, item)), "")
        if added := new[new_start + replaced : new_end]:
            yield _inserted(text, items, added=added, before=old_start + replaced, column=column)


def _inserted(text: str, items: list[Node], *, added: list[Any], before: int, column: int) -> _Edit:
    lines = writer.list_text(added)
    if before:
        at = _next_line(text, _end(text, items[before - 1]))
        return _Edit(at, at, _below(text, at, lines=lines, column=column))
    at = text.rfind("\n", 0, items[0].start_mark.index) + 1
    return _Edit(at, at, "".join(f"{' ' * column}{line}\n" for line in lines))


def _as_key(value: Plain) -> str:
    return json.dumps(value, sort_keys=True)


def _below(text: str, at: int, *, lines: list[str], column: int) -> str:
    """The lines, indented, with the line ending of the line above; at the end of a text without final newline they
    start with one."""
    ending = "\r\n" if text[:at].endswith("\r\n") else "\n"
    indented = [" " * column + line if line else line for line in lines]
    if text[:at].endswith("\n"):
        return "".join(line + ending for line in indented)
    return "".join(ending + line for line in indented)


def _end(text: str, node: Node) -> int:
    """The offset behind the last character of the value, without comments that follow."""
    if isinstance(node, MappingNode) and node.value and not node.flow_style:
        return _end(text, node.value[-1][1])
    if isinstance(node, SequenceNode) and node.value and not node.flow_style:
        return _end(text, node.value[-1])
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        return len(text[: node.end_mark.index].rstrip())
    return int(node.end_mark.index)


def _next_line(text: str, at: int) -> int:
    line_end = text.find("\n", at)
    return len(text) if line_end < 0 else line_end + 1
