"""The fleet list as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable

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
    "out of date",
    "partial",
)


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
        "" if entry.done is None or entry.done.percent is None else entry.done.percent,
        entry.done.bound if entry.done else "unknown",
        row.scanned_at.isoformat(timespec="seconds") if row.scanned_at else "",
        _word(row.stale, known=row.scanned_at is not None),
        _word(not row.complete, known=row.scanned_at is not None),
    )


def _word(is_so: bool, *, known: bool) -> str:
    """Yes or no; empty of a cluster without a result."""
    return ("yes" if is_so else "no") if known else ""
