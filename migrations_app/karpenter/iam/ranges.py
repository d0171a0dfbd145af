"""Release numbers of Karpenter and the spans of minors in which a fact holds."""

import re
from dataclasses import dataclass

from migrations_app.errors import BadInput

Minor = tuple[int, int]

FIRST: Minor = (0, 28)
LAST_ZERO: Minor = (0, 37)
LAST: Minor = (1, 14)

_RELEASE = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.\d{1,3}(?:-[0-9A-Za-z.-]{1,40})?)?\+?", re.ASCII)


@dataclass(frozen=True)
class Span:
    """Minors from `since` to `until`, both included; without an end it holds to the newest release known."""

    since: Minor
    until: Minor | None = None

    def __contains__(self, minor: object) -> bool:
        return isinstance(minor, tuple) and self.since <= minor and (self.until is None or minor <= self.until)


ALWAYS = Span(FIRST)


def spelled(minor: Minor) -> str:
    """`0.32` for (0, 32)."""
    return f"{minor[0]}.{minor[1]}"


def minor_of(release: str) -> Minor:
    """The minor of a release such as `0.32`, `v1.0.14` or the hop `0.33+`; BadInput when its needs are not known."""
    found = _RELEASE.fullmatch(release.strip())
    if found is None:
        raise BadInput(f"{release[:40]!r} is not a release; write it like 0.32 or 1.0.14")
    minor = int(found[1]), int(found[2])
    if minor not in every_minor():
        known = f"{spelled(FIRST)} to {spelled(LAST_ZERO)} and 1.0 to {spelled(LAST)}"
        raise BadInput(f"permissions are known for {known}, not for {spelled(minor)}")
    return minor


def every_minor() -> tuple[Minor, ...]:
    """Every minor whose needs are known, oldest first."""
    zero = tuple((0, n) for n in range(FIRST[1], LAST_ZERO[1] + 1))
    return zero + tuple((1, n) for n in range(LAST[1] + 1))
