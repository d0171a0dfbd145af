"""What of a report others get: everything but the fields that only our own programs read."""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import PartLine, Report
from migrations_app.readiness.runbook import Runbook, RunbookHop

INTERNAL: Final[Mapping[str, tuple[str, ...]]] = {
    "Evidence": ("data",),
    "Finding": ("reason",),
    "PartLine": ("reasons",),
}
"""By type the fields that are in no published JSON and in no schema."""


def published(report: Report) -> Report:
    """The report as it is printed and served."""
    return replace(report, parts=tuple(map(_line, report.parts)), checks=tuple(map(_finding, report.checks)))


def published_plan(plan: Runbook) -> Runbook:
    """The runbook as it is printed and served."""
    return replace(plan, hops=tuple(map(_hop, plan.hops)))


def _hop(hop: RunbookHop) -> RunbookHop:
    return replace(hop, steps=tuple(map(_finding, hop.steps)))


def _line(line: PartLine) -> PartLine:
    return replace(line, reasons=UNSET)


def _finding(finding: Finding) -> Finding:
    return replace(finding, reason=UNSET)
