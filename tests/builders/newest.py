"""The newest release that the tables know, and the minor after it, so that no test writes them as numbers."""

from dataclasses import replace

from migrations_app.karpenter import releases
from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.table_types import MinorRelease, Patch, RollbackTarget, Since

NEWEST_ROW = RELEASES[-1]
NEWEST_MINOR = NEWEST_ROW.minor
"""Also the last hop of every path."""
NEWEST_RELEASE = releases.newest()
NEWEST = str(NEWEST_RELEASE)
"""Its newest good patch, where every path ends."""
NEXT_MINOR = f"{NEWEST_ROW.order[0]}.{NEWEST_ROW.order[1] + 1}"
"""The minor that nobody has made yet."""


def table_to(minor: str) -> Table:
    """Returns the table as it was when that minor was the newest, for tests that depend on its numbers."""
    return RELEASES[: [row.minor for row in RELEASES].index(minor) + 1]


def following(row: MinorRelease, *, patches: int = 1, **changes: object) -> MinorRelease:
    """Returns the row of the minor after that one, equal except for its numbers and `changes`."""
    major, number = row.order
    minor = f"{major}.{number + 1}"
    first = f"{minor}.0"
    made: dict[str, object] = {
        "minor": minor,
        "patches": tuple(Patch(f"{minor}.{place}", f"2027-0{1 + place}-01") for place in range(patches)),
        "kubernetes": (Since(first, row.kubernetes[-1].value),),
        "crds": (Since(first, row.crds[-1].value),),
        "nodepool_hash": (Since(first, row.nodepool_hash[-1].value),),
        "nodeclass_hash": (Since(first, row.nodeclass_hash[-1].value),),
        "upgrade_from": ("1.0", row.minor),
        "rollback_to": (RollbackTarget(row.minor),),
        "bad": (),
    }
    return replace(row, **(made | changes))  # type: ignore[arg-type]  # names and values are those of the row
