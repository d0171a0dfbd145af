"""Reads texts and converts them to results for the terminal, the API and the page; also to Terraform resources and a
kustomization."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.findings import ConversionFinding, FindingSeverity, worst
from migrations_app.conversion.metadata import name_of
from migrations_app.conversion.objects import KnownNames, Options
from migrations_app.manifests import reader, writer
from migrations_app.manifests.writer import Plain

Body = Mapping[str, Any]

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_TEMPLATE_MARKS: Final = re.compile(r"[$%]\{")


def terraform(bodies: Iterable[Body]) -> str:
    """One kubectl_manifest resource for each object, in order; names are made unique."""
    taken: dict[str, int] = {}
    return "\n".join(_resource(body, taken) for body in bodies)


def _resource(body: Body, taken: dict[str, int]) -> str:
    name = _terraform_name(body, taken)
    text = _TEMPLATE_MARKS.sub(lambda match: match[0][0] + match[0], writer.text_of(body))
    mark = _free_mark(text)
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<{mark}\n{text}{mark}\n}}\n'


def _terraform_name(body: Body, taken: dict[str, int]) -> str:
    """An unused resource name; `taken` holds the last number tried for each name, so that many equal names stay
    cheap."""
    base = _NOT_IN_NAMES.sub("_", f"{body['kind']}_{name_of(body)}".lower()).strip("_")
    name, number = base, taken.get(base, 1)
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken[base] = number
    taken[name] = 1 if name != base else number
    return name


def _free_mark(text: str) -> str:
    """A heredoc delimiter that is not a line of the text."""
    lines = {line.strip() for line in text.splitlines()}
    mark = "YAML"
    while mark in lines:
        mark += "_"
    return mark


def json_patch(old: Plain, new: Plain, *, path: str = "") -> Iterator[dict[str, Any]]:
    """The JSON Patch (RFC 6902) operations from old to new; lists are replaced as a whole."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old:
            if key not in new:
                yield {"op": "remove", "path": f"{path}/{_pointer(key)}"}
        for key, value in new.items():
            at = f"{path}/{_pointer(key)}"
            if key not in old:
                yield {"op": "add", "path": at, "value": value}
            else:
                yield from json_patch(old[key], value, path=at)
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def kustomize(pairs: Iterable[tuple[Body, list[dict[str, Any]]]]) -> str:
    """A kustomization with a patch for each object that keeps kind and name, and the new objects as a separate file.

    Flux accepts the same `patches` in the spec of its Kustomization, Argo CD in spec.source.kustomize of its
    Application. A patch cannot create an object, so new objects go to another file, whose content follows as
    comments.
    """
    patches: list[dict[str, Any]] = []
    new_objects: list[Body] = []
    for source, results in pairs:
        for body in results:
            if (body["kind"], name_of(body)) == (source.get("kind"), name_of(source)):
                patches += _patch(source, body)
            else:
                new_objects.append(body)
    kustomization: dict[str, Any] = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    if new_objects:
        kustomization["resources"] = [NEW_FILE]
    if patches:
        kustomization["patches"] = patches
    return writer.text_of(kustomization) + _as_comments(new_objects)


NEW_FILE: Final = "karpenter-converted.yaml"


def _patch(source: Body, body: Body) -> list[dict[str, Any]]:
    manifest = {key: value for key, value in source.items() if key != "status"}
    operations = list(json_patch(_manifest_part(manifest), body))
    if not operations:
        return []
    group, _, version = str(source["apiVersion"]).partition("/")
    target = {"group": group, "version": version, "kind": body["kind"], "name": name_of(body)}
    text = "\n".join(writer.list_text(operations))
    return [{"target": target, "patch": f"{text}\n"}]


def _manifest_part(source: Body) -> dict[str, Any]:
    """The object as a repository holds it: without fields that only the server writes."""
    metadata = source.get("metadata") or {}
    fields = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
    return {**source, "metadata": fields}


def _as_comments(new_objects: list[Body]) -> str:
    if not new_objects:
        return ""
    lines = writer.stream(map(writer.text_of, new_objects)).splitlines()
    return f"# {NEW_FILE}:\n" + "".join(f"# {line}".rstrip() + "\n" for line in lines)


_CONVERTIBLE: Final = ("alpha", "beta", "v1")
_UNREADABLE: Final = ("not-yaml", "file-unreadable", "too-large")
_VIEW_ONLY: Final = "# For viewing only: Karpenter owns this object, never apply it."


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding and where it was found; `document` and `line` are 0 if there is none."""

    loss: ConversionFinding
    file: str = ""
    document: int = 0
    line: int = 0
    item: int | None = None

    @property
    def place(self) -> str:
        """`pools.yaml, document 2, line 14`, as far as known."""
        item = None if self.item is None else f"item {self.item + 1}"
        parts = (
            self.file,
            f"document {self.document}" if self.document else None,
            item,
            f"line {self.line}" if self.line else None,
        )
        return ", ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON responses, with file, document, item and line."""
        place = {"file": self.file, "document": self.document, "item": self.item, "line": self.line}
        return {**self.loss.as_dict(), **place}


@dataclass(frozen=True, slots=True)
class ConvertedObject:
    """One input object with its results. `objects` is empty if it was refused or is of another kind."""

    manifest: reader.Manifest
    item: Item

    @property
    def objects(self) -> list[dict[str, Any]]:
        return self.item.objects

    def texts(self) -> list[str]:
        """The results as YAML documents; comments of the source are placed above the first."""
        head = "\n".join(part for part in (self.manifest.head, _VIEW_ONLY if self.item.view_only else "") if part)
        return [writer.text_of(body, head="" if index else head) for index, body in enumerate(self.objects)]


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """All results of the input, in input order."""

    converted: tuple[ConvertedObject, ...]
    findings: tuple[LocatedFinding, ...]
    readable: int
    """Number of documents that could be read, with any content."""

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [body for converted_object in self.converted for body in converted_object.objects]

    @property
    def worst(self) -> FindingSeverity | None:
        """The highest severity; None if there are no findings."""
        return worst(finding.loss for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0: no action needed; 1: an error or a decision is open; 2: nothing could be read."""
        if not self.readable and any(finding.loss.code in _UNREADABLE for finding in self.findings):
            return 2
        return 1 if self.worst in ("error", "action") else 0

    def as_yaml(self) -> str:
        """All results as one YAML text; empty if there are none."""
        return writer.stream(text for converted_object in self.converted for text in converted_object.texts())

    def as_json(self) -> str:
        """One object by itself, several as a List, which kubectl accepts too; empty if there are none."""
        bodies = self.objects
        if not bodies:
            return ""
        document = bodies[0] if len(bodies) == 1 else {"apiVersion": "v1", "kind": "List", "items": bodies}
        return json.dumps(document, indent=4) + "\n"


def convert_texts(
    sources: Iterable[tuple[str, bytes | str]],
    options: Options = Options(),  # noqa: B008  # frozen
    *,
    known_names: KnownNames = KnownNames(),  # noqa: B008  # frozen
    unreadable: Iterable[LocatedFinding] = (),
) -> ConversionReport:
    """Reads and converts (file name, text) pairs. `unreadable`: findings for files that could not be opened."""
    readings = [reader.read(data, file=name) for name, data in sources]
    manifests = [manifest for reading in readings for manifest in reading.manifests]
    items = convert([manifest.body for manifest in manifests], options, known_names=known_names).items
    converted = tuple(ConvertedObject(manifest, item) for manifest, item in zip(manifests, items, strict=True))
    order = {reading.file: index for index, reading in enumerate(readings)}
    findings = [_of_fault(fault) for reading in readings for fault in reading.faults]
    findings += [finding for converted_object in converted for finding in _of_item(converted_object)]
    findings.sort(key=lambda finding: (order[finding.file], finding.document, finding.item or 0))
    findings = [*unreadable, *findings]
    convertible = any(item.generation in _CONVERTIBLE for item in items)
    if not convertible and worst(finding.loss for finding in findings) != "error":
        message = "no Provisioner, AWSNodeTemplate, NodePool or EC2NodeClass was found"
        findings.append(LocatedFinding(ConversionFinding("nothing-to-convert", "", "", (), message)))
    return ConversionReport(converted, tuple(findings), sum(reading.documents for reading in readings))


def _of_fault(fault: reader.ManifestFault) -> LocatedFinding:
    loss = ConversionFinding(fault.code, fault.kind, fault.name, fault.path, fault.what)
    return LocatedFinding(loss, fault.file, fault.document, fault.line)


def _of_item(converted: ConvertedObject) -> Iterable[LocatedFinding]:
    manifest = converted.manifest
    document = manifest.document
    for loss in converted.item.losses:
        yield LocatedFinding(loss, document.file, document.number, manifest.line_of(loss.at), manifest.item)
