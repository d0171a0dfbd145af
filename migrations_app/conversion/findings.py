"""Findings of a conversion: what it dropped, made explicit or left undecided. Each has a stable code.

`error`: the object is not converted. `action`: it is converted, and a decision is required before it is applied.
`warn`: behaviour may change. `info`: worth knowing. `markdown` prints the catalogue for the documentation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from migrations_app.conversion.finding_codes import CATALOGUE
from migrations_app.manifests.writer import Plain

FindingSeverity = Literal["error", "action", "warn", "info"]
FieldPath = tuple[str | int, ...]

SEVERITIES: Final[tuple[FindingSeverity, ...]] = ("error", "action", "warn", "info")


def field_path(path: FieldPath) -> str:
    """`spec.requirements[2].values` for ("spec", "requirements", 2, "values"); keys with dots are put in brackets."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step and step.replace("_", "").replace("-", "").isalnum():
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{step}]")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class ConversionFinding:
    """One finding about one object. `at` is a path in the object given by `kind` and `name`; `proposal` is a value to
    use instead.
    """

    code: str
    kind: str
    name: str
    at: FieldPath
    what: str
    proposal: Plain = None

    @property
    def severity(self) -> FindingSeverity:
        return CATALOGUE[self.code].severity

    @property
    def why(self) -> str:
        return CATALOGUE[self.code].why

    @property
    def source(self) -> str:
        return CATALOGUE[self.code].source

    @property
    def path(self) -> str:
        return field_path(self.at)

    @property
    def object(self) -> str:
        """`Kind/name`, or `-` if the finding is about no object."""
        return f"{self.kind}/{self.name}" if self.kind else "-"

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON responses: severity, code, object, path, what, why, source, proposal."""
        return {
            "severity": self.severity,
            "code": self.code,
            "object": {"kind": self.kind, "name": self.name},
            "path": self.path,
            "what": self.what,
            "why": self.why,
            "source": self.source,
            "proposal": self.proposal,
        }


class FindingCollector:
    """Collects the findings of one object during its conversion."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.losses: list[ConversionFinding] = []
        self.failed = False

    def add(self, code: str, path: FieldPath, *, what: str, proposal: Plain = None) -> None:
        self.losses.append(ConversionFinding(code, self.kind, self.name, path, what, proposal))
        self.failed = self.failed or CATALOGUE[code].severity == "error"


def worst(losses: Iterable[ConversionFinding]) -> FindingSeverity | None:
    """The highest severity among the findings; None if there are none."""
    severities = {loss.severity for loss in losses}
    return next((severity for severity in SEVERITIES if severity in severities), None)


def markdown() -> str:
    """A Markdown table of severity, code, reason and source, highest severity first."""
    rows = ["| severity | code | why | source |", "|---|---|---|---|"]
    for severity in SEVERITIES:
        rows += [
            f"| {severity} | `{code}` | {entry.why} | {entry.source} |"
            for code, entry in sorted(CATALOGUE.items())
            if entry.severity == severity
        ]
    return "\n".join(rows) + "\n"
