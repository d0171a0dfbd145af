"""Release numbers of Karpenter and the spans of minors in which a fact holds."""

import re
from dataclasses import dataclass
from itertools import groupby

from migrations_app.errors import BadInput
from migrations_app.karpenter.releases import RELEASES, Table

Minor = tuple[int, int]

_RELEASE = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.\d{1,3}(?:-[0-9A-Za-z.-]{1,40})?)?\+?", re.ASCII)


@dataclass(frozen=True)
class Span:
    """Minors from `since` to `until`, both included; without an end it holds to the newest release known."""

    since: Minor
    until: Minor | None = None

    def __contains__(self, minor: object) -> bool:
        return isinstance(minor, tuple) and self.since <= minor and (self.until is None or minor <= self.until)


ALWAYS = Span(RELEASES[0].order)


def minor_text(minor: Minor) -> str:
    """`0.32` for (0, 32)."""
    return f"{minor[0]}.{minor[1]}"


def minor_of(release: str, *, table: Table = RELEASES) -> Minor:
    """The minor of a release such as `0.32`, `v1.0.14` or the hop `0.33+`; BadInput when its needs are not known."""
    found = _RELEASE.fullmatch(release.strip())
    if found is None:
        raise BadInput(f"{release[:40]!r} is not a release; write it like 0.32 or 1.0.14")
    minor = int(found[1]), int(found[2])
    if minor not in every_minor(table=table):
        raise BadInput(f"permissions are known for {_known(table)}, not for {minor_text(minor)}")
    return minor


def every_minor(*, table: Table = RELEASES) -> tuple[Minor, ...]:
    """Every minor whose needs are known, oldest first: those of the table of releases."""
    return tuple(row.order for row in table)


def _known(table: Table) -> str:
    """The first and the last minor of each major."""
    majors = [list(group) for _, group in groupby(every_minor(table=table), key=lambda minor: minor[0])]
    return " and ".join(f"{minor_text(group[0])} to {minor_text(group[-1])}" for group in majors)
