"""Writes old and new values as lines of text, for a terminal and for the file that comes with a runbook."""

from collections.abc import Iterable, Iterator
from typing import Final

from migrations_app.conversion.chart_values.side_by_side import RowKind, ValueRow

WORDS: Final[dict[RowKind, str]] = {
    "lost": "lost",
    "renamed": "renamed",
    "removed": "removed",
    "set": "set",
    "default_changed": "default changed",
    "not_read": "not read",
    "kept": "kept",
}
"""The text for each kind of row."""


def lines(rows: Iterable[ValueRow]) -> Iterator[str]:
    """A block of lines for each row that changes something, and one line for all unchanged values."""
    unchanged_keys = []
    for row in rows:
        if row.kind == "kept":
            unchanged_keys.append(row.key)
        else:
            yield from _block(row)
    if unchanged_keys:
        yield f"{WORDS['kept']}  {', '.join(unchanged_keys)}"


def _block(row: ValueRow) -> Iterator[str]:
    to = f" -> {row.new_key}" if row.new_key else ""
    yield f"{WORDS[row.kind]}  {row.key}{to}"
    yield f"  old   {row.old or '(none)'}"
    yield f"  new   {row.new or '(none)'}"
    if row.why:
        yield f"  why   {row.why}"
    if row.loss:
        yield f"  lost  {row.loss}"
