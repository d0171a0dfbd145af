"""Makes cells of CSV files safe for spreadsheets."""

import re

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Characters that a spreadsheet takes for the beginning of a formula, or passes over at the beginning of a cell."""
_AFTER_SEPARATOR = re.compile(r"(?<=[;\t\r\n])(?=[=+@-])")
"""Where a spreadsheet whose list separator is the semicolon, as in most of Europe, begins a cell inside of a cell: it
reads files with commas as well, and then a quote counts only at the beginning of a cell."""


def harmless(cell: object) -> object:
    """Returns the cell, with an apostrophe before text that a spreadsheet would evaluate."""
    if not isinstance(cell, str):
        return cell
    inside = _AFTER_SEPARATOR.sub("'", cell)
    return f"'{inside}" if inside.startswith(FORMULA) else inside
