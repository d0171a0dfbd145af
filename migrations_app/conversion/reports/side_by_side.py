"""Old and new text side by side, aligned line by line, with each finding at its line; as values for a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final, Literal

from migrations_app.conversion.findings import ConversionFinding, FieldPath
from migrations_app.manifests import writer
from migrations_app.manifests.writer import Plain

Mark = Literal["same", "moved", "changed", "removed", "added"]

_LONG: Final = 3000  # beyond this many lines no comparison is made, since its cost is quadratic


@dataclass(frozen=True, slots=True)
class SideBySideRow:
    """One row of the page. Line numbers start at 1, None means no line on that side; `losses` are indexes of findings.

    `moved` lines have the same content at another depth, such as those moved from spec to spec.template.spec.
    """

    mark: Mark
    old_number: int | None
    old: str | None
    new_number: int | None
    new: str | None
    losses: tuple[int, ...] = ()


def _line_of(path: FieldPath, marks: Mapping[FieldPath, int]) -> int:
    """The line of the path or of its nearest ancestor; 1 if neither exists."""
    for length in range(len(path), 0, -1):
        if path[:length] in marks:
            return marks[path[:length]]
    return 1


def rows(
    source: Mapping[str, Any], results: Sequence[Mapping[str, Any]], *, losses: Iterable[ConversionFinding] = ()
) -> list[SideBySideRow]:
    """The lines of the source and of its results, aligned; every finding is linked to a line of the old side. The
    fields of a result of the same kind are sorted as in the source, so that only real differences show."""
    old_text, marks = writer.text_and_lines(source)
    old = old_text.splitlines()
    bodies = (_ordered_as(source, body) if body.get("kind") == source.get("kind") else body for body in results)
    new = writer.stream(map(writer.text_of, bodies)).splitlines()
    at_line: dict[int, list[int]] = {}
    for index, loss in enumerate(losses):
        at_line.setdefault(_line_of(loss.at, marks), []).append(index)
    return [_row(_line(old, left), _line(new, right), at_line=at_line) for left, right in _aligned(old, new)]


def _ordered_as(old: Plain, new: Plain) -> Any:  # noqa: ANN401  # the same plain value, its maps in another order
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {key: _ordered_as(old.get(key), new[key]) for key in _keys_as(old, new)}
    if isinstance(old, list) and isinstance(new, list):
        return [_ordered_as(before, after) for before, after in zip(old, new, strict=False)] + new[len(old) :]
    return new


def _keys_as(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The new keys in the old order; a key without an old one stays after the key that it followed."""
    keys_after: dict[str | None, list[str]] = {None: []}
    shared = None
    for key in new:
        if key in old:
            shared = key
            keys_after[key] = [key]
        else:
            keys_after[shared].append(key)
    return [*keys_after[None], *(key for start in old for key in keys_after.get(start, ()))]


def _line(side: list[str], index: int | None) -> tuple[int | None, str | None]:
    return (None, None) if index is None else (index + 1, side[index])


def _row(
    old: tuple[int | None, str | None], new: tuple[int | None, str | None], *, at_line: Mapping[int, list[int]]
) -> SideBySideRow:
    return SideBySideRow(_mark(old[1], new[1]), *old, *new, losses=tuple(at_line.get(old[0] or 0, ())))


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """The index of every line on both sides. Top-level keys are paired first, so that spec stays next to spec."""
    done_old = done_new = 0
    for top_old, top_new in [*_tops(old, new), (len(old), len(new))]:
        for left, right in _between(old[done_old:top_old], new[done_new:top_new]):
            yield None if left is None else done_old + left, None if right is None else done_new + right
        if top_old < len(old):
            yield top_old, top_new
        done_old, done_new = top_old + 1, top_new + 1


def _tops(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """The lines with the same top-level key on both sides, in order."""
    old_lines, new_lines = ([index for index, line in enumerate(side) if line[:1].strip()] for side in (old, new))
    our_keys = [old[index].partition(":")[0] for index in old_lines]
    their_keys = [new[index].partition(":")[0] for index in new_lines]
    for block in SequenceMatcher(None, our_keys, their_keys, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            yield old_lines[block.a + step], new_lines[block.b + step]


def _between(old: list[str], new: list[str]) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of lines, aligned by content at any depth; texts that are too long are paired in order."""
    if len(old) + len(new) > _LONG:
        blocks = [(0, len(old), 0, len(new))]
    else:
        bare_old, bare_new = [line.strip() for line in old], [line.strip() for line in new]
        blocks = [step[1:] for step in SequenceMatcher(None, bare_old, bare_new, autojunk=False).get_opcodes()]
    for old_start, old_end, new_start, new_end in blocks:
        yield from zip_longest(range(old_start, old_end), range(new_start, new_end))


def _mark(left: str | None, right: str | None) -> Mark:
    if left is None:
        return "added"
    if right is None:
        return "removed"
    if left == right:
        return "same"
    return "moved" if left.strip() == right.strip() else "changed"
