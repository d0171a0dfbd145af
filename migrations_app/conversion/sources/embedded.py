"""Objects of Karpenter inside other documents: in a policy, a patch, a wrapper or the text of a ConfigMap."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from migrations_app.conversion.findings import FieldPath
from migrations_app.conversion.metadata import name_of
from migrations_app.karpenter import kinds
from migrations_app.manifests import templates
from migrations_app.manifests.reader import Manifest, read

_GROUPS: Final = (kinds.CORE_GROUP, kinds.AWS_GROUP)
_NOT_OURS_TO_READ: Final = frozenset({"annotations", "managedFields", "ownerReferences"})
"""Written by controllers, such as the manifest that was applied last."""


class EmbeddedObject(NamedTuple):
    """An object, or a reference to one, inside another document. `line_of` gives the line of one of its fields in the
    file, from 1.
    """

    api_version: str
    kind: str
    body: Mapping[str, Any]
    line_of: Callable[[FieldPath], int]

    @property
    def line(self) -> int:
        """The line of its version."""
        return self.line_of(("apiVersion" if "apiVersion" in self.body else "version",))

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        stated = self.body.get("name")
        return name_of(self.body) or (stated if isinstance(stated, str) else "")

    @property
    def is_reference(self) -> bool:
        """True if it has nothing that an object has, and so only names one."""
        return not {*self.body} & {"spec", "metadata", "data"}


def embedded_objects(manifest: Manifest) -> Iterator[EmbeddedObject]:
    """Karpenter's objects inside the document, and what names one by version; none for an object of Karpenter."""
    if _stated(manifest.body) is None:
        yield from _within(manifest.body, (), manifest=manifest)


def _within(value: Any, path: FieldPath, *, manifest: Manifest) -> Iterator[EmbeddedObject]:  # noqa: ANN401  # plain JSON
    if isinstance(value, str):
        yield from _in_text(value, manifest.line_of(path))
    elif isinstance(value, dict):
        stated = _stated(value)
        if stated:
            yield EmbeddedObject(*stated, value, lambda field: manifest.line_of((*path, *field)))
            return
        for key, inner in value.items():
            if key not in _NOT_OURS_TO_READ:
                yield from _within(inner, (*path, key), manifest=manifest)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _within(inner, (*path, number), manifest=manifest)


def _stated(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """apiVersion and kind of an object of Karpenter, or of what names one by group, version and kind."""
    kind, api_version = body.get("kind"), body.get("apiVersion", f"{body.get('group')}/{body.get('version')}")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return None
    group, _, version = api_version.partition("/")
    row = kinds.find(kind, group=group)
    return (api_version, kind) if row and group in _GROUPS and row.generation_of(version) else None


def _in_text(text: str, line: int) -> Iterator[EmbeddedObject]:
    """Those of a text of several lines that begins below the given line."""
    if "\n" not in text or "apiVersion" not in text or not any(group in text for group in _GROUPS):
        return
    reading = read(text, file="")
    for inner in reading.manifests:
        if stated := _stated(inner.body):
            yield _moved(EmbeddedObject(*stated, inner.body, inner.line_of), line)
        else:
            yield from (_moved(found, line) for found in embedded_objects(inner))
    if reading.faults:
        seen = {inner.line_of(("apiVersion",)) for inner in reading.manifests}
        yield from (_moved(found, line) for found in _in_template(text) if found.line not in seen)


def _in_template(text: str) -> Iterator[EmbeddedObject]:
    for template in templates.stated_kinds(text):
        body = {"apiVersion": template.api_version, "kind": template.kind, "metadata": {}}
        if stated := _stated(body):
            yield EmbeddedObject(*stated, body, partial(_same_line, template.line))


def _same_line(line: int, _field: FieldPath) -> int:
    return line


def _moved(found: EmbeddedObject, lines: int) -> EmbeddedObject:
    """The same object in a text that begins so many lines further down."""
    return found._replace(line_of=lambda field: lines + found.line_of(field))
