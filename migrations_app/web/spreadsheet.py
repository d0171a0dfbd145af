"""Cells of CSV files that spreadsheets open."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that a spreadsheet takes for the beginning of a formula."""


def harmless(cell: object) -> object:
    """The cell, with an apostrophe before text that a spreadsheet would evaluate."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
