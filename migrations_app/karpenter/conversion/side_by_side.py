"""Old and new beside each other, line by line, each loss at its line: what a page needs, as values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal

from migrations_app.karpenter import yaml_out
from migrations_app.karpenter.conversion.losses import Loss, Path

Mark = Literal["same", "changed", "removed", "added"]

_LONG: Final = 3000  # beyond this many lines each side is shown whole, since comparing takes the square of it


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page. Numbers count from 1, None is no line on that side; `losses` index into those given."""

    mark: Mark
    old_number: int | None
    old: str | None
    new_number: int | None
    new: str | None
    losses: tuple[int, ...] = ()


def _line_of(path: Path, marks: Mapping[Path, int]) -> int:
    """The line of the path or of its nearest ancestor; 1 when neither is there."""
    for length in range(len(path), 0, -1):
        if path[:length] in marks:
            return marks[path[:length]]
    return 1


def rows(source: Mapping[str, Any], results: Sequence[Mapping[str, Any]], *, losses: Iterable[Loss] = ()) -> list[Row]:
    """The lines of the source and of its results, aligned; every loss is linked to a line of the old side."""
    old_text, marks = yaml_out.text_and_lines(source)
    old = old_text.splitlines()
    new = yaml_out.stream(map(yaml_out.text_of, results)).splitlines()
    at_line: dict[int, list[int]] = {}
    for index, loss in enumerate(losses):
        at_line.setdefault(_line_of(loss.at, marks), []).append(index)
    return [
        Row(
            mark,
            None if left is None else left + 1,
            None if left is None else old[left],
            None if right is None else right + 1,
            None if right is None else new[right],
            () if left is None else tuple(at_line.get(left + 1, ())),
        )
        for mark, left, right in _aligned(old, new)
    ]


def _aligned(old: list[str], new: list[str]) -> Iterable[tuple[Mark, int | None, int | None]]:
    if len(old) + len(new) > _LONG:
        steps = [("replace", 0, len(old), 0, len(new))]
    else:
        steps = list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for step, old_start, old_end, new_start, new_end in steps:
        for offset in range(max(old_end - old_start, new_end - new_start)):
            left = old_start + offset if old_start + offset < old_end else None
            right = new_start + offset if new_start + offset < new_end else None
            yield _mark(step, left, right=right), left, right


def _mark(step: str, left: int | None, *, right: int | None) -> Mark:
    if step == "equal":
        return "same"
    if left is None:
        return "added"
    return "removed" if right is None else "changed"
