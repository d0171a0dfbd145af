"""The coverage as a page of Markdown: each change and each known pain with its checks, or why there is none."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from migrations_app.karpenter.coverage_shape import CAUSES, Coverage

HEAD = """# Coverage

This page is generated from the tables of coverage; change those, not this file.

Every change of a Karpenter release that can break something, and every pain that is known from the field, stands here
once: with the [checks](checks.md) that answer it, with what a person has to search for, or with the reason why there
is nothing to check.
"""


def coverage_page(changes: Iterable[Coverage], pains: Iterable[Coverage]) -> str:
    """The whole page: the changes by the release that brings them, then the pains by their area."""
    every, known = tuple(changes), tuple(pains)
    parts = [HEAD, _count("changes", every), _count("pains", known), "\n## Changes"]
    for release, rows in groupby(every, key=lambda entry: entry.release):
        parts += _table(f"### {release}", rows)
    parts.append("\n## Pains")
    for area, rows in groupby(known, key=lambda entry: entry.id.partition("-")[0]):
        parts += _table(f"### {area}", rows)
    return "\n".join(parts) + "\n"


def _count(word: str, entries: tuple[Coverage, ...]) -> str:
    asked = sum(bool(entry.checks) for entry in entries)
    return f"- {len(entries)} {word}: {asked} answered by checks, {len(entries) - asked} with a reason"


def _table(title: str, rows: Iterable[Coverage]) -> Iterator[str]:
    yield f"\n{title}\n\n| entry | subject | answered by |\n| --- | --- | --- |"
    for entry in rows:
        yield f"| {entry.id} | {_cell(entry.subject)} | {_cell(_answer(entry))} |"


def _answer(entry: Coverage) -> str:
    told = [", ".join(f"[{check}](checks.md#{check})" for check in entry.checks)]
    if entry.table:
        told.append(f"table {entry.table}")
    if entry.search:
        told.append(f"by hand: {entry.search}")
    if entry.cause:
        told.append(f"{CAUSES[entry.cause]}. {entry.reason}")
    return "; ".join(part for part in told if part)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
