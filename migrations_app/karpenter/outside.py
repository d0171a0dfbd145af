"""What to search for outside of a cluster on the way from one release to another."""

from migrations_app.karpenter.outside_rows import OUTSIDE_ROWS, OutsideRow, Place
from migrations_app.karpenter.versions import Release, minor_order


def outside_between(
    place: Place, start: Release, *, landing: Release, table: tuple[OutsideRow, ...] = OUTSIDE_ROWS
) -> tuple[OutsideRow, ...]:
    """The rows that begin to matter on the way from `start` to `landing`."""
    low, high = minor_order(start.minor), minor_order(landing.minor)
    return tuple(row for row in table if row.place == place and low < minor_order(row.release) <= high)


def spoken_row(row: OutsideRow) -> str:
    """What to search for, where, and what to write instead."""
    return f"{row.search} in {row.where} (now {row.instead})"
