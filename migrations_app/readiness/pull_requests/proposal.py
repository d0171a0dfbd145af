"""Computes the pull request for a change and the files of a repository; another module sends it."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final

import msgspec

from migrations_app.checks.changes import Change, HelmChange
from migrations_app.errors import InvalidInput, InvalidManifest
from migrations_app.manifests import JsonMap, edits
from migrations_app.manifests.text_lines import one_line
from migrations_app.readiness.pull_requests.helm_edits import value_notes
from migrations_app.readiness.pull_requests.object_edits import (
    ObjectEdit,
    is_object,
    object_edits,
    with_edit,
    work_outside_files,
)
from migrations_app.readiness.pull_requests.value_sources import (
    GitOrigin,
    Readings,
    files_to_read,
    split_values,
    with_source_values,
)

LINES_AROUND: Final = 3
LONGEST_TITLE: Final = 120
UNKNOWN_ORIGIN: Final = GitOrigin("", "")
_NOT_IN_BRANCHES: Final = re.compile(r"[^a-z0-9]+")
_KIND_OF_SECRET: Final = re.compile(r"""(?m)^[ \t]*(?:-[ \t]*)*["']?kind["']?\s*:\s*["']?Secret\b""")


class FileEdit(msgspec.Struct, frozen=True):
    """One file of the repository before and after."""

    path: str
    old: str
    new: str

    @property
    def diff(self) -> str:
        """Its diff, as git shows it."""
        return diff_of(self)


class RequestSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What the request is about. `key` is the id of the cluster."""

    key: str
    cluster: str
    check: str
    hop: str
    title: str


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a pull request. `missing` are objects that none of the files holds."""

    branch: str
    title: str
    body: str
    files: tuple[FileEdit, ...]
    missing: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        """The diff of all files, as git shows it."""
        return "".join(map(diff_of, self.files))

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that would be sent, as hexadecimal digits."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


def diff_of(file_edit: FileEdit) -> str:
    """Returns the diff of one file."""
    lines = unified_diff(
        file_edit.old.splitlines(keepends=True),
        file_edit.new.splitlines(keepends=True),
        f"a/{file_edit.path}",
        f"b/{file_edit.path}",
        n=LINES_AROUND,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def propose(
    change: Change, texts: Mapping[str, str], *, subject: RequestSubject, origin: GitOrigin = UNKNOWN_ORIGIN
) -> Proposal:
    """Returns the pull request that makes the change in these files, by path.

    Raises InvalidInput: `not_in_files` if none of them holds an object of the change, `in_several_files`,
    `secret_in_file`, `edit_refused`, `nothing_to_change` if the files already have the change.
    """
    object_changes = object_edits(change)
    readings = _readings(texts)
    places = {edit: _places(readings, edit) for edit in object_changes}
    missing = tuple(dict.fromkeys(_object_name(edit) for edit, edit_places in places.items() if not edit_places))
    if len(missing) == len(dict.fromkeys(map(_object_name, object_changes))):
        raise InvalidInput(f"no file that was read holds {', '.join(missing)}", code="not_in_files", where="path")
    bodies = _bodies(readings, places, origin=origin)
    files = tuple(
        FileEdit(path, texts[path], edited_file(texts[path], bodies[path], path=path))
        for path in readings
        if path in bodies
    )
    changed = tuple(file for file in files if file.old != file.new)
    if not changed:
        raise InvalidInput("the files already say what the fix would write", code="nothing_to_change", where="path")
    return Proposal(
        branch=branch_name(subject),
        title=title_of(subject),
        body=_body(subject, change, files=changed, missing=missing),
        files=changed,
        missing=missing,
        beside=work_outside_files(change),
    )


def title_of(subject: RequestSubject) -> str:
    """Returns the title of the request, on one line."""
    return f"{subject.title} ({subject.cluster})".replace("\n", " ")[:LONGEST_TITLE]


def branch_name(subject: RequestSubject) -> str:
    """Returns the branch of a change: always the same for the same change, so that a second request finds it."""
    identity = f"{subject.key}\0{subject.check}\0{subject.hop}"
    cluster = _NOT_IN_BRANCHES.sub("-", subject.cluster.lower()).strip("-")[:40].strip("-") or "cluster"
    check = _NOT_IN_BRANCHES.sub("-", subject.check.lower()).strip("-")
    return f"karpdash/{cluster}/{check}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def may_hold(path: str, text: str, *, change: Change) -> bool:
    """Returns whether the file may be part of the change: it is YAML and names an object of it, or may hold values."""
    object_changes = object_edits(change)
    named = any(isinstance(edit, HelmChange) or edit.target.name in text for edit in object_changes)
    return path.endswith((".yaml", ".yml")) and named


def further_files(change: Change, texts: Mapping[str, str], *, origin: GitOrigin) -> tuple[str, ...]:
    """Returns the paths of further files that the change needs: sources of values of deliveries in these files."""
    readings = _readings(texts)
    charts = [edit for edit in object_edits(change) if isinstance(edit, HelmChange)]
    paths = [
        file
        for edit in charts
        for documents in readings.values()
        for document in documents
        if is_object(document, edit)
        for file in files_to_read(document, edit, readings=readings, origin=origin)
    ]
    return tuple(file for file in dict.fromkeys(paths) if file not in texts)


def _readings(texts: Mapping[str, str]) -> Readings:
    return {path: objects for path, text in texts.items() if (objects := objects_of(text)) is not None}


def objects_of(text: str) -> list[Any] | None:
    """Returns the documents of a file; None for a file that is no plain YAML, such as a template."""
    try:
        return edits.values(text)
    except InvalidManifest:
        return None


def _places(readings: Mapping[str, Sequence[Any]], edit: ObjectEdit) -> list[tuple[str, int]]:
    """Returns file and number of the document with the object of the edit. Raises InvalidInput for more than one."""
    places = [
        (path, number)
        for path, documents in readings.items()
        for number, document in enumerate(documents)
        if is_object(document, edit)
    ]
    if len(places) > 1:
        where = ", ".join(dict.fromkeys(path for path, _ in places))
        raise InvalidInput(
            f"{_object_name(edit)} stands more than once, in {where}: name the file",
            code="in_several_files",
            where="path",
        )
    return places


def _bodies(
    readings: Readings, places: Mapping[ObjectEdit, list[tuple[str, int]]], *, origin: GitOrigin
) -> dict[str, dict[int, Any]]:
    """Returns the changed documents of each file, by number."""
    new_bodies: dict[str, dict[int, Any]] = {}

    def current(path: str, number: int) -> Any:  # noqa: ANN401 - a document of YAML
        return new_bodies.setdefault(path, {}).get(number, readings[path][number] if readings[path] else {})

    for edit, edit_places in places.items():
        for path, number in edit_places:
            remaining_edit: ObjectEdit = edit
            if isinstance(edit, HelmChange):
                remaining_edit, elsewhere = split_values(readings[path][number], edit, readings=readings, origin=origin)
                for source_place, values in elsewhere.items():
                    before = current(source_place.path, source_place.number)
                    new_bodies[source_place.path][source_place.number] = with_source_values(
                        before, source_place, values=values, edit=edit
                    )
            before = current(path, number)
            new_bodies[path][number] = with_edit(before, remaining_edit)
    return new_bodies


def edited_file(text: str, new_bodies: Mapping[int, JsonMap], *, path: str) -> str:
    """Returns the text of the file with the documents of these numbers replaced.

    Raises InvalidInput: `secret_in_file`, `edit_refused`.
    """
    if _KIND_OF_SECRET.search(text):
        raise InvalidInput(
            "the file also holds a Secret; its text is not stored here", code="secret_in_file", where=path
        )
    try:
        return edits.edited(text, new_bodies)
    except InvalidManifest as refused:
        raise InvalidInput(refused.message, code="edit_refused", where=path) from None


def _object_name(edit: ObjectEdit) -> str:
    return f"{edit.target.kind} {edit.target.name}"


def _body(subject: RequestSubject, change: Change, *, files: Sequence[FileEdit], missing: Sequence[str]) -> str:
    charts = (object_edit for object_edit in object_edits(change) if isinstance(object_edit, HelmChange))
    facts = [
        f"cluster: {subject.cluster}",
        f"check:   {subject.check}" + (f" (upgrade {subject.hop})" if subject.hop else ""),
        *(f"changes: {name}" for name in dict.fromkeys(map(_object_name, object_edits(change)))),
        *(f"value:   {reason}" for chart in charts for reason in value_notes(chart)),
        *(f"file:    {file.path}" for file in files),
        *(f"not in these files: {name}" for name in missing),
        *(f"to be done beside it: {hint}" for hint in work_outside_files(change)),
        *(f"note: {note}" for note in change.notes),
    ]
    return body_of("karpdash found that this check fails, and proposes the fix below.", facts)


def body_of(head: str, facts: Sequence[str]) -> str:
    """Returns Markdown. All text of a cluster or file is in a code block, so that nothing in it becomes a link or a
    mention."""
    return (
        f"{head}\n\n{_block(facts)}\n\n"
        "karpdash opened this request and never merges it. Nothing in the cluster changes before somebody here does.\n"
    )


def _block(lines: Sequence[str]) -> str:
    text = "\n".join(map(one_line, lines))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
