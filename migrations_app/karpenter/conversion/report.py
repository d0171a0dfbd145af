"""From texts to results: what the terminal, the API and the page all show of a conversion."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from migrations_app.karpenter import manifests, yaml_out
from migrations_app.karpenter.conversion.convert import Item, convert
from migrations_app.karpenter.conversion.losses import Loss, Severity, worst
from migrations_app.karpenter.conversion.options import Known, Options

_CONVERTIBLE: Final = ("alpha", "beta", "v1")
_UNREADABLE: Final = ("not-yaml", "file-unreadable", "too-large")
_VIEW_ONLY: Final = "# For viewing only: Karpenter owns this object, never apply it."


@dataclass(frozen=True, slots=True)
class Finding:
    """A loss and where it was found; `document` and `line` are 0 where there is none."""

    loss: Loss
    file: str = ""
    document: int = 0
    line: int = 0
    item: int | None = None

    @property
    def place(self) -> str:
        """`pools.yaml, document 2, line 14`, as far as it is known."""
        item = None if self.item is None else f"item {self.item + 1}"
        parts = (
            self.file,
            f"document {self.document}" if self.document else None,
            item,
            f"line {self.line}" if self.line else None,
        )
        return ", ".join(part for part in parts if part)

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON answers: that of the loss, and file, document, item, line."""
        place = {"file": self.file, "document": self.document, "item": self.item, "line": self.line}
        return {**self.loss.as_dict(), **place}


@dataclass(frozen=True, slots=True)
class Converted:
    """One object of the input with its results. `objects` is empty when it was refused or is of another kind."""

    manifest: manifests.Manifest
    item: Item

    @property
    def objects(self) -> list[dict[str, Any]]:
        return self.item.objects

    def texts(self) -> list[str]:
        """The results as YAML documents; the comments of the source stand above the first."""
        head = "\n".join(part for part in (self.manifest.head, _VIEW_ONLY if self.item.view_only else "") if part)
        return [yaml_out.text_of(body, head="" if index else head) for index, body in enumerate(self.objects)]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that came of the input, in input order."""

    converted: tuple[Converted, ...]
    findings: tuple[Finding, ...]
    readable: int
    """How many documents could be read, whatever they hold."""

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [body for one in self.converted for body in one.objects]

    @property
    def worst(self) -> Severity | None:
        """The gravest severity, or None when there is nothing to say."""
        return worst(finding.loss for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0 nothing left for a person, 1 an error or a decision is open, 2 nothing could be read."""
        if not self.readable and any(finding.loss.code in _UNREADABLE for finding in self.findings):
            return 2
        return 1 if self.worst in ("error", "action") else 0

    def as_yaml(self) -> str:
        """All results as one YAML text; empty when there are none."""
        return yaml_out.stream(text for one in self.converted for text in one.texts())

    def as_json(self) -> str:
        """One object as it is, several as a List, which kubectl takes too; empty when there are none."""
        found = self.objects
        if not found:
            return ""
        whole = found[0] if len(found) == 1 else {"apiVersion": "v1", "kind": "List", "items": found}
        return json.dumps(whole, indent=4) + "\n"


def convert_texts(
    sources: Iterable[tuple[str, bytes | str]],
    options: Options = Options(),  # noqa: B008  # frozen
    *,
    known: Known = Known(),  # noqa: B008  # frozen
    unreadable: Iterable[Finding] = (),
) -> Report:
    """Reads and converts (file name, text) pairs. `unreadable`: files that could not even be opened."""
    readings = [manifests.read(data, file=name) for name, data in sources]
    found = [manifest for reading in readings for manifest in reading.manifests]
    items = convert([manifest.body for manifest in found], options, known=known).items
    converted = tuple(Converted(manifest, item) for manifest, item in zip(found, items, strict=True))
    order = {reading.file: index for index, reading in enumerate(readings)}
    findings = [_of_fault(fault) for reading in readings for fault in reading.faults]
    findings += [finding for one in converted for finding in _of_item(one)]
    findings.sort(key=lambda finding: (order[finding.file], finding.document, finding.item or 0))
    findings = [*unreadable, *findings]
    convertible = any(item.generation in _CONVERTIBLE for item in items)
    if not convertible and worst(finding.loss for finding in findings) != "error":
        what = "no Provisioner, AWSNodeTemplate, NodePool or EC2NodeClass was found"
        findings.append(Finding(Loss("nothing-to-convert", "", "", (), what)))
    return Report(converted, tuple(findings), sum(reading.documents for reading in readings))


def _of_fault(fault: manifests.Fault) -> Finding:
    loss = Loss(fault.code, fault.kind, fault.name, fault.path, fault.what)
    return Finding(loss, fault.file, fault.document, fault.line)


def _of_item(one: Converted) -> Iterable[Finding]:
    manifest = one.manifest
    document = manifest.document
    for loss in one.item.losses:
        yield Finding(loss, document.file, document.number, manifest.line_of(loss.at), manifest.item)
