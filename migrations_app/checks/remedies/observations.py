"""Read-only commands as changes, and comments that say how to undo a change."""

from collections.abc import Iterator

from migrations_app.checks.changes import Change, Observation, leaves
from migrations_app.checks.render import kubectl
from migrations_app.checks.render.kubectl import MAX_NAMES_SHOWN


def read_command(*words: str, notes: tuple[str, ...] = ()) -> Observation:
    """One read-only program with its arguments."""
    return Observation(pipe=(words,), notes=notes)


def undo_comments(change: Change, head: str) -> Iterator[str]:
    """Comments: `head`, then the kubectl commands of every undo; nothing if nothing can be undone."""
    lines = [kubectl.text(leave.undo) for leave in leaves(change) if leave.undo is not None]
    if lines:
        yield head
        yield from dict.fromkeys(lines[:MAX_NAMES_SHOWN])
    if len(lines) > MAX_NAMES_SHOWN:
        yield f"and {len(lines) - MAX_NAMES_SHOWN} more, in the same way"
