"""Makes cells of CSV files safe for spreadsheets."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that a spreadsheet takes for the beginning of a formula."""


def harmless(cell: object) -> object:
    """Returns the cell, with an apostrophe before text that a spreadsheet would evaluate."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
