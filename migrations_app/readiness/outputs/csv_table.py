"""Writes the findings as CSV (RFC 4180) for spreadsheets, one row for each piece of evidence."""

import csv
import io

from migrations_app.checks.base import Evidence, Finding
from migrations_app.readiness.outputs.plain import plain
from migrations_app.readiness.outputs.spreadsheet import harmless
from migrations_app.readiness.report import Report

COLUMNS = (
    "cluster", "hop", "phase", "check", "severity", "status", "title", "summary", "kind", "namespace", "name", "path",
    "seen", "wanted", "count",
)  # fmt: skip


def render(report: Report) -> str:
    """Returns a header and one row for each piece of evidence; a finding without evidence gets one row."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for finding in report.checks:
        for row in finding.evidence or (None,):
            writer.writerow(harmless(plain(text)) for text in _row(report.cluster.name, finding, row=row))
    return out.getvalue()


def _row(cluster: str, finding: Finding, *, row: Evidence | None) -> tuple[str, ...]:
    about = (finding.hop, finding.phase, finding.id, finding.severity, finding.status, finding.title, finding.summary)
    if row is None:
        return (cluster, *about, *[""] * 7)
    return (cluster, *about, row.kind, row.namespace, row.name, row.path, row.seen, row.wanted, str(row.count))
