"""Sets, moves or removes keys of a YAML map as text; everything else stays, including comments."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import yaml

from migrations_app.errors import InvalidInput
from migrations_app.manifests import writer
from migrations_app.manifests.text_lines import one_line
from migrations_app.manifests.writer import Plain
from migrations_app.manifests.yaml_reader import compose

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KEY: Final = re.compile(r"\s*(?:[^\s#'\"{\[&*!|>%@`-][^#:]*|'[^']*'|\"[^\"]*\")\s*:(?:\s|$)")
Steps = tuple[str, ...]


class MapEdit(NamedTuple):
    """Sets the key at `steps` to `text`, which is JSON, or removes the key if `text` is empty. `why` becomes a comment
    in place of a removed key; `source` is the key whose comments move along."""

    steps: Steps
    text: str
    why: str = ""
    source: Steps = ()


class _Place(NamedTuple):
    """The lines of a key and its value, from `start` to `end` (not included); `indent` is the column of the key."""

    start: int
    end: int
    indent: int
    block: bool
    """Whether the value is a map in block style that is not empty."""


def edited(text: str, edits: Iterable[MapEdit], *, expected: Plain) -> str | None:
    """The text after the edits; None if the text cannot be edited line by line, such as a map in braces, or the result
    does not equal `expected`."""
    lines = text.splitlines()
    order = sorted(edits, key=lambda map_edit: not map_edit.text)  # a moved key takes its comments along before it goes
    try:
        for edit in order:
            _make(lines, edit)
        after = "\n".join(lines) + "\n" if lines else ""
        composed = next(iter(compose(after)), None)
    except (_NotByLine, InvalidInput, yaml.YAMLError):
        return None
    return after if (composed.value if composed else None) == (expected or None) else None


class _NotByLine(Exception):
    """The text does not have one key per line."""


def _make(lines: list[str], edit: MapEdit) -> None:
    if not edit.text:
        _take_out(lines, edit)
        return
    if _place(lines, edit.steps) is not None:
        _replace(lines, edit)
    else:
        _add(lines, edit)


def _take_out(lines: list[str], edit: MapEdit) -> None:
    place = _place(lines, edit.steps)
    if place is None:
        return
    steps = edit.steps
    while len(steps) > 1 and _is_alone(lines, steps):
        steps = steps[:-1]
        place = _place(lines, steps) or place
    comments = [line.strip() for line in lines[place.start : place.end] if line.lstrip().startswith("#")]
    comments = comments if steps != edit.steps else []
    comments += [f"# {'.'.join(edit.steps)}: {' '.join(one_line(edit.why).split())}"] if edit.why else []
    lines[place.start : place.end] = [f"{' ' * place.indent}{comment}" for comment in comments]


def _replace(lines: list[str], edit: MapEdit) -> None:
    place = _place(lines, edit.steps)
    assert place is not None  # noqa: S101 - the caller has looked
    lines[place.start : place.end] = _written(edit.steps[-1:], edit.text, indent=place.indent)


def _add(lines: list[str], edit: MapEdit) -> None:
    """Adds the key after the last key of the nearest map that exists."""
    about = _comments(lines, edit.source)
    depth = next((count for count in range(len(edit.steps) - 1, 0, -1) if _place(lines, edit.steps[:count])), 0)
    if depth == 0:
        at, indent = len(lines), 0
        while at and not lines[at - 1].strip():
            at -= 1
    else:
        holder = _place(lines, edit.steps[:depth])
        if holder is None or not holder.block:
            raise _NotByLine
        at, indent = holder.end, _inner(lines, edit.steps[:depth])
    new_lines = _written(edit.steps[depth:], edit.text, indent=indent)
    lines[at:at] = [*(f"{' ' * indent}{line}" for line in about), *new_lines]


def _written(steps: Steps, text: str, *, indent: int) -> list[str]:
    body: Plain = json.loads(text)
    for step in reversed(steps):
        body = {step: body}
    return [f"{' ' * indent}{line}" if line else "" for line in writer.text_of(body).splitlines()]


def _comments(lines: list[str], steps: Steps) -> list[str]:
    """The comments right above a key and after its value, starting with the number sign; those above are removed from
    `lines`."""
    place = _place(lines, steps) if steps else None
    if place is None:
        return []
    first = place.start
    while first and re.match(r"\s*#", lines[first - 1]):
        first -= 1
    comments = [line.strip() for line in lines[first : place.start]]
    trailing = re.search(r"\s(#.*)$", lines[place.start]) if place.end == place.start + 1 else None
    if trailing and not re.search(r"['\"]", lines[place.start]):
        comments.append(trailing[1].strip())
    del lines[first : place.start]
    return comments


def _root(lines: list[str]) -> Any:  # noqa: ANN401 - PyYAML has no types for its C parser
    root = yaml.compose("\n".join(lines) + "\n", Loader=_LOADER)
    if root is not None and (not isinstance(root, yaml.MappingNode) or root.flow_style):
        raise _NotByLine
    return root


def _pairs(node: Any, steps: Steps) -> Iterator[tuple[Any, Any, int]]:  # noqa: ANN401 - as above
    """For each step its key, its value, and the line of the next key of the same map; -1 if there is none."""
    for step in steps:
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            return
        keys = [key for key, _ in node.value]
        at = next((number for number, key in enumerate(keys) if key.value == step), None)
        if at is None:
            return
        following = keys[at + 1].start_mark.line if at + 1 < len(keys) else -1
        yield keys[at], node.value[at][1], following
        node = node.value[at][1]


def _place(lines: list[str], steps: Steps) -> _Place | None:
    """The lines of the key; None if it does not exist. Raises _NotByLine if the key shares its line with other text."""
    root = _root(lines)
    pairs = list(_pairs(root, steps)) if root is not None else []
    if len(pairs) < len(steps):
        return None
    key, value, _ = pairs[-1]
    start, indent = key.start_mark.line, key.start_mark.column
    if lines[start][:indent].strip() or not _KEY.match(lines[start]):
        raise _NotByLine
    end = next((line for _, _, line in reversed(pairs) if line >= 0), len(lines))
    while end > start + 1 and _is_apart(lines[end - 1], indent):
        end -= 1
    block = isinstance(value, yaml.MappingNode) and not value.flow_style and bool(value.value)
    return _Place(start, end, indent, block)


def _is_apart(line: str, indent: int) -> bool:
    """Whether a line after the value belongs to what follows: an empty line, or a comment that is not indented deeper
    than the key."""
    stripped = line.lstrip()
    return not stripped or (stripped.startswith("#") and len(line) - len(stripped) <= indent)


def _is_alone(lines: list[str], steps: Steps) -> bool:
    """Whether the key is the only one of its map."""
    *_, (_, holder, _) = list(_pairs(_root(lines), steps[:-1]))
    return isinstance(holder, yaml.MappingNode) and len(holder.value) == 1


def _inner(lines: list[str], steps: Steps) -> int:
    """The column of the keys in the map at `steps`."""
    *_, (_, holder, _) = list(_pairs(_root(lines), steps))
    return int(holder.value[0][0].start_mark.column)
