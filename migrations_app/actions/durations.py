"""Durations as text, for pages and reports.

A terminal's time line (rehearsals/text.py), a badge (readiness/outputs/badge.py) and the time since a moment
(templatetags/formatting.py) have words of their own.
"""

from datetime import timedelta


def duration_text(length: timedelta) -> str:
    """The duration in its two largest units, such as `2 h 5 min`. A second unit of 0 is left out."""
    seconds = max(0, int(length.total_seconds()))
    units = (("d", seconds // 86400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60))
    first = next((index for index, (_, count) in enumerate(units) if count), len(units) - 1)
    parts = units[first : first + 2]
    return " ".join(f"{count} {unit}" for unit, count in parts if count or len(parts) == 1)
