"""Read-only commands, and the notes of a change for people: how to undo it."""

from collections.abc import Iterator

from migrations_app.checks.changes import Change, Observation, leaves
from migrations_app.checks.render import kubectl
from migrations_app.checks.render.kubectl import SHOWN


def shown(*words: str, notes: tuple[str, ...] = ()) -> Observation:
    """One program that only reads, its words as they are."""
    return Observation(pipe=(words,), notes=notes)


def way_back(change: Change, head: str) -> Iterator[str]:
    """Comments: the head, and the commands of kubectl that undo what can be undone; none where nothing can be."""
    lines = [kubectl.text(leave.undo) for leave in leaves(change) if leave.undo is not None]
    if lines:
        yield head
        yield from dict.fromkeys(lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"and {len(lines) - SHOWN} more, in the same way"
