"""Versions as values: Karpenter releases, their minors, and Kubernetes minors.

A minor is text such as "0.32" or "1.10". Minors do not sort as text ("1.10" < "1.9"), so compare them with
`minor_order`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_RELEASE = re.compile(
    r"v?(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
_MINOR = re.compile(r"v?(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})", re.ASCII)
_KUBERNETES = re.compile(r"v?([1-9]\d{0,2})\.(0|[1-9]\d{0,2})(?:\+|(?:\.\d+)?(?:[-+][0-9A-Za-z.+-]*)?)", re.ASCII)
_MAX_LENGTH = 128
"""No version, tag or label value is longer; longer text is refused before the regular expression runs."""

Order = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


@dataclass(frozen=True, slots=True)
class Release:
    """One Karpenter release. Ordered as in semantic versioning: 1.0.0-rc.1 comes before 1.0.0."""

    major: int
    minor_number: int
    patch: int
    pre: str = ""

    @property
    def minor(self) -> str:
        return f"{self.major}.{self.minor_number}"

    @property
    def order(self) -> Order:
        parts = tuple(_pre_order(part) for part in self.pre.split(".")) if self.pre else ()
        return self.major, self.minor_number, self.patch, 0 if self.pre else 1, parts

    def __str__(self) -> str:
        return f"{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")

    def __lt__(self, other: "Release") -> bool:
        return self.order < other.order

    def __le__(self, other: "Release") -> bool:
        return self.order <= other.order

    def __gt__(self, other: "Release") -> bool:
        return self.order > other.order

    def __ge__(self, other: "Release") -> bool:
        return self.order >= other.order


def parse(text: object) -> Release | None:
    """The release named by "v0.32.10", "0.32.10" or "1.0.0-rc.1"; None for anything else, a bare minor included."""
    return _parsed(text) if isinstance(text, str) and len(text) <= _MAX_LENGTH else None


@lru_cache(maxsize=4096)  # one evaluation parses the same few hundred releases thousands of times
def _parsed(text: str) -> Release | None:
    match = _RELEASE.fullmatch(text.strip())
    if match is None:
        return None
    return Release(int(match[1]), int(match[2]), int(match[3]), match[4] or "")


def release(text: str) -> Release:
    """Same as `parse`, for trusted text: raises ValueError if it is not a release."""
    parsed = parse(text)
    if parsed is None:
        raise ValueError(f"not a release: {text!r}")
    return parsed


def parse_minor(text: object) -> str | None:
    """The minor named by "0.32" or "v0.32"; None for anything else, a whole release included."""
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        return None
    match = _MINOR.fullmatch(text.strip())
    return f"{int(match[1])}.{int(match[2])}" if match else None


@lru_cache(maxsize=4096)  # compared hundreds of thousands of times in one evaluation
def minor_order(minor: str) -> tuple[int, int]:
    """A sort key for minors: (major, minor) as integers. Raises ValueError if the text is not a minor."""
    major, _, number = minor.partition(".")
    return int(major), int(number)


def minors_text(minors: tuple[str, ...]) -> str:
    """A range of minors as text: "0.32", "0.32 to 0.37", or "no known release"."""
    if not minors:
        return "no known release"
    return minors[0] if len(minors) == 1 else f"{minors[0]} to {minors[-1]}"


def kubernetes_minor(text: object) -> str | None:
    """The minor of a Kubernetes version in a server's spelling ("v1.29.3-eks-036c24b", "1.29+", "1.29"); None for
    anything else.
    """
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        return None
    match = _KUBERNETES.fullmatch(text.strip())
    return f"{int(match[1])}.{int(match[2])}" if match else None


def _pre_order(part: str) -> tuple[int, int, str]:
    return (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)


def within(running: Release, *, first: str, last: str) -> bool:
    """Whether the release lies between two bounds, both included; a minor includes all its patches, an empty bound is
    open.
    """
    return (not first or _place(running, first) >= 0) and (not last or _place(running, last) <= 0)


def _place(running: Release, bound: str) -> int:
    """-1, 0 or 1: below, at or above the bound; a minor as bound includes all its patches."""
    exact = parse(bound)
    if exact is not None:
        return (running > exact) - (running < exact)
    running_order, bound_order = minor_order(running.minor), minor_order(bound)
    return (running_order > bound_order) - (running_order < bound_order)
