"""Shell lines that belong to no single tool: comments, read-only commands, files and tasks for a person."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from migrations_app.checks.changes import Observation, PersonTask
from migrations_app.checks.shell import note, quoted, word


def comments(notes: Iterable[str]) -> list[str]:
    """Each note as a comment on one line."""
    return [note(text) for text in notes]


def observed(change: Observation) -> str:
    """The read-only command, and the file for its output."""
    return f"{piped(change.pipe)} > {_new_file(change.into)}" if change.into else piped(change.pipe)


def _new_file(name: str) -> str:
    """The name of the file with the time of the run: the same line for another cluster, or run again once the objects
    are changed or gone, overwrites nothing that was saved.
    """
    path = PurePosixPath(name)
    ending = quoted(path.suffix) if path.suffix else ""
    return f'{quoted(name.removesuffix(path.suffix))}-"$(date -u +%Y%m%dT%H%M%SZ)"{ending}'


def piped(pipe: Iterable[tuple[str, ...]]) -> str:
    """The programs as a shell pipe, every word quoted."""
    return " | ".join(" ".join(map(quoted, words)) for words in pipe)


def task_lines(change: PersonTask) -> list[str]:
    """The task as comments."""
    texts = (f"For a person: {change.what}", change.why, change.where and f"Look at: {change.where}")
    return comments(filter(None, texts))


def printed(text: str) -> list[str]:
    """Lines that print the text line by line; a command after them takes the output.

    Not a here-document: its end would not be recognised if the lines are indented.
    """
    return ["printf '%s\\n' \\", *(f"  {quoted(line)} \\" for line in text.splitlines())]


def rollout_line(deployment: str, *, namespace: str) -> str:
    """The command that waits until every pod of the Deployment is that of its newest revision."""
    return f"kubectl rollout status {quoted(f'deployment/{deployment}')} --namespace {word(namespace)}"
