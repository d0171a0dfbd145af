"""One change of a release or one known problem, with the check that covers it, or the reason why none does."""

from dataclasses import dataclass
from typing import Literal

GapCause = Literal["decision", "afterwards", "harmless", "outside", "how_we_read"]
CAUSES: dict[GapCause, str] = {
    "decision": "Needs a decision outside the cluster",
    "afterwards": "Cannot be seen beforehand",
    "harmless": "Nothing fails and nothing has to be done",
    "outside": "Happens outside of what is read",
    "how_we_read": "Settled by how karpdash reads a cluster",
}
Extent = Literal["judged", "partly", "person", "not_looked"]
EXTENTS: dict[Extent, str] = {
    "judged": "judged",
    "partly": "partly judged",
    "person": "told to a person",
    "not_looked": "not looked at",
}
TELLING = frozenset({"open_reservations_selected", "queries_outside_current", "sources_outside_current"})
"""Checks that never fail, but list for a person what to search for outside the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One entry. `checks` are ids of the catalogue; `table` is the module with the rows that they read, below
    migrations_app, empty if there is none.

    `search` says what to look for manually, and where; `unjudged` says which part no check covers. An entry with
    neither check nor search has a `cause` and a `reason`. `release` is the first minor in which a change takes effect;
    problems have none.
    """

    id: str
    subject: str
    release: str = ""
    checks: tuple[str, ...] = ()
    table: str = ""
    search: str = ""
    unjudged: str = ""
    cause: GapCause | None = None
    reason: str = ""

    @property
    def extent(self) -> Extent:
        """How far checks cover the entry: fully, in part, by listing what a person has to search for, or not at all."""
        if not self.checks:
            return "not_looked"
        if TELLING.issuperset(self.checks):
            return "person"
        return "partly" if self.search or self.unjudged else "judged"


def covered(
    id: str,  # noqa: A002 - what changes and known problems call it
    subject: str,
    *,
    checks: str,
    release: str = "",
    table: str = "",
    search: str = "",
    unjudged: str = "",
) -> Coverage:
    """An entry that checks cover; `checks` are ids separated by spaces."""
    ids = tuple(checks.split())
    return Coverage(id=id, subject=subject, release=release, checks=ids, table=table, search=search, unjudged=unjudged)


def uncovered(id: str, subject: str, *, cause: GapCause, reason: str, release: str = "") -> Coverage:  # noqa: A002 - as above
    """An entry without a check, and why."""
    return Coverage(id=id, subject=subject, release=release, cause=cause, reason=reason)
