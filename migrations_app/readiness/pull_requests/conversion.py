"""Computes the pull request that converts the manifests of a repository to their next generation.

Objects that keep kind and name are changed where they stand. The successor of an alpha object is written behind it in
the same file: the alpha object stays until its nodes are replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.metadata import name_of
from migrations_app.conversion.objects import Options, TargetVersion
from migrations_app.errors import InvalidInput
from migrations_app.manifests import JsonMap, edits, writer
from migrations_app.readiness.pull_requests.proposal import (
    FileEdit,
    Proposal,
    RequestSubject,
    body_of,
    branch_name,
    edited_file,
    objects_of,
    title_of,
)

CONVERSION: Final = "conversion"
"""Takes the place of the check id in a request that converts manifests; its hop is the generation."""
TARGETS: Final[Mapping[str, TargetVersion]] = {"v1beta1": "v1beta1", "v1": "v1"}
ObjectKey = tuple[str, str]
"""Kind and name."""


@dataclass(slots=True)
class _FileChange:
    """The changes of one file: replaced documents by number, and documents added at its end."""

    replaced: dict[int, JsonMap] = field(default_factory=dict)
    added: list[JsonMap] = field(default_factory=list)


def may_hold_objects(path: str, text: str) -> bool:
    """Returns whether the file may hold an object of Karpenter."""
    return path.endswith((".yaml", ".yml")) and "karpenter" in text


def propose_conversion(texts: Mapping[str, str], to: TargetVersion, *, subject: RequestSubject) -> Proposal:
    """Returns the pull request that converts the objects of these files, by path.

    Raises InvalidInput: `not_in_files` if the files hold no object of Karpenter, `not_converted` if none of them can be
    converted, `in_several_files`, `secret_in_file`, `edit_refused`, `nothing_to_change`.
    """
    readings = {path: objects for path, text in texts.items() if (objects := objects_of(text)) is not None}
    places = [
        (path, number)
        for path, documents in readings.items()
        for number, document in enumerate(documents)
        if isinstance(document, dict)
    ]
    items = convert([readings[path][number] for path, number in places], Options(to=to)).items
    karpenter_items = [(place, item) for place, item in zip(places, items, strict=True) if item.generation != "other"]
    if not karpenter_items:
        raise InvalidInput("no file that was read holds an object of Karpenter", code="not_in_files", where="path")
    _refuse_repeated(item for _, item in karpenter_items)
    files = _files(texts, _changes(karpenter_items))
    if not files:
        raise _reason_for_nothing([item for _, item in karpenter_items])
    items = tuple(item for _, item in karpenter_items)
    return Proposal(
        branch=branch_name(subject),
        title=title_of(subject),
        body=_body(subject, items, files=files),
        files=files,
        beside=tuple(_open_questions(items)),
    )


def _changes(karpenter_items: Sequence[tuple[tuple[str, int], Item]]) -> Mapping[str, _FileChange]:
    """Returns the changes of each file. An object that another document already is, or becomes, is not added again."""
    known_keys = {_key(item.source) for _, item in karpenter_items}
    by_path: dict[str, _FileChange] = {}
    for (path, number), item in karpenter_items:
        change = by_path.setdefault(path, _FileChange())
        for body in [] if item.view_only else item.objects:
            if _key(body) == _key(item.source):
                change.replaced[number] = body
            elif _key(body) not in known_keys:
                known_keys.add(_key(body))
                change.added.append(body)
    return by_path


def _files(texts: Mapping[str, str], changes: Mapping[str, _FileChange]) -> tuple[FileEdit, ...]:
    """Returns the files that differ. Raises InvalidInput."""
    written = (
        FileEdit(path, texts[path], _new_text(texts[path], change, path=path)) for path, change in changes.items()
    )
    return tuple(file_edit for file_edit in written if file_edit.old != file_edit.new)


def _new_text(text: str, change: _FileChange, *, path: str) -> str:
    before = edited_file(text, change.replaced, path=path)
    if not change.added:
        return before
    ending = "\r\n" if "\r\n" in before else "\n"
    added = writer.stream(map(writer.text_of, change.added)).replace("\n", ending)
    between = "" if before.endswith("\n") else ending
    after = f"{before}{between}---{ending}{added}"
    expected = [*edits.values(before), *change.added]
    if objects_of(after) != expected:
        raise InvalidInput("nothing can be written behind it; convert it by hand", code="edit_refused", where=path)
    return after


def _refuse_repeated(items: Iterator[Item]) -> None:
    seen: set[ObjectKey] = set()
    for item in items:
        key = _key(item.source)
        if key in seen:
            message = f"{' '.join(key)} stands more than once: name the file"
            raise InvalidInput(message, code="in_several_files", where="path")
        seen.add(key)


def _reason_for_nothing(items: Sequence[Item]) -> InvalidInput:
    refused = next((loss for item in items for loss in item.losses if loss.severity == "error"), None)
    if refused is not None:
        return InvalidInput(f"{refused.object}: {refused.what}", code="not_converted", where="path")
    return InvalidInput("the files hold what the conversion would write", code="nothing_to_change", where="path")


def _open_questions(items: Sequence[Item]) -> Iterator[str]:
    """Yields what is not converted, and what a person decides before the request is merged."""
    headings = {"error": "not converted", "action": "decide before it is merged"}
    for item in items:
        for loss in item.losses:
            if loss.severity in headings:
                yield f"{headings[loss.severity]}: {loss.object} {loss.path}: {loss.what}".replace(" : ", ": ")


def _body(subject: RequestSubject, items: Sequence[Item], *, files: Sequence[FileEdit]) -> str:
    facts = [
        f"cluster: {subject.cluster}",
        f"to:      {subject.hop}",
        *(f"object:  {item.kind} {item.name}" for item in items if item.objects),
        *(f"file:    {file.path}" for file in files),
        *_open_questions(items),
        *(f"warning: {loss.object}: {loss.what}" for item in items for loss in item.losses if loss.severity == "warn"),
    ]
    return body_of("karpdash converted these manifests as `karpdash convert` does.", facts)


def _key(body: Mapping[str, Any]) -> ObjectKey:
    return str(body.get("kind")), name_of(body)
