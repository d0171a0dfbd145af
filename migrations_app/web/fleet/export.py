"""The fleet list as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator

from migrations_app.queries.fleet.clusters import FleetRow
from migrations_app.readiness.outputs.spreadsheet import harmless
from migrations_app.web.fleet.headline import ShownRow

HEADINGS = (
    "cluster",
    "environment",
    "status",
    "running",
    "next upgrade",
    "target",
    "kubernetes",
    "blockers",
    "first blockers",
    "legacy objects",
    "percent done",
    "bound",
    "last scan",
    "warnings",
    "unknown or to verify",
    "result",
)
"""New columns come last: spreadsheets read them by their place."""


def as_csv(rows: Iterable[ShownRow]) -> str:
    """Returns one line for each cluster; an unknown number is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(HEADINGS)
    for entry in rows:
        writer.writerow([harmless(text) for text in _cells(entry)])
    return buffer.getvalue()


def _cells(entry: ShownRow) -> tuple[object, ...]:
    row, path = entry.row, entry.path
    return (
        row.name,
        row.environment,
        row.bucket,
        row.karpenter_version,
        path.next if path else "",
        path.last if path else row.target,
        row.kubernetes_version,
        row.blockers,
        "; ".join(blocker.summary for blocker in entry.blockers),
        "" if row.legacy_left is None else row.legacy_left,
        *_progress(entry),
        row.scanned_at.isoformat(timespec="seconds") if row.scanned_at else "",
        row.warnings,
        row.unknowns,
        "; ".join(_limits(row)),
    )


def _progress(entry: ShownRow) -> tuple[object, object]:
    """The percent that is done and its bound; both empty without Karpenter, which has no way to go."""
    if entry.row.stage == "no_karpenter":
        return "", ""
    percent = None if entry.done is None else entry.done.percent
    return "" if percent is None else percent, entry.done.bound if entry.done else "unknown"


def _limits(row: FleetRow) -> Iterator[str]:
    """What limits the result of the row, as the page says it."""
    if row.failures:
        yield "last scan failed" if row.failures == 1 else f"last {row.failures} scans failed"
    if row.stale:
        yield "stale"
    if row.scanned_at and not row.complete:
        yield "partial"
