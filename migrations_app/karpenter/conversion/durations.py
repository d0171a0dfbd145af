"""Go's duration text: reading it and printing it as Go does.

Source: time.ParseDuration and Duration.String of Go, and the patterns of the CRDs named below.
"""

import re
from typing import Final

NEVER: Final = "Never"

_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_SECOND: Final = 10**9
_LONGEST: Final = 64
# aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml: whole hours, minutes, seconds
_SERVED: Final = re.compile(r"(?:\d+[smh])+", re.ASCII)


def nanoseconds(text: str) -> int | None:
    """The length of `1h30m`, `0.5s`, `-2m` or `0`; None when Go would not read it."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text[1:] if text[:1] == "+" else text)
    if rest == "0":
        return 0
    if not rest or len(rest) > _LONGEST:
        return None
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            return None
        whole, _, fraction = part[1].partition(".")
        unit = _UNITS[part[2]]
        total += int(whole or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        position = part.end()
    return sign * total


def text_of(length: int) -> str:
    """Nanoseconds as Go prints them: `0s`, `1m30s`, `720h0m0s`, `1m0.5s`, `1.5ms`."""
    if length == 0:
        return "0s"
    sign, left = ("-", -length) if length < 0 else ("", length)
    if left < _SECOND:
        unit, size = next((u, s) for u, s in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if left >= s)
        return f"{sign}{_with_fraction(left, size)}{unit}"
    minutes, rest = divmod(left, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_with_fraction(rest, _SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _with_fraction(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")


def from_seconds(seconds: int) -> str:
    """Go's text for a whole number of seconds."""
    return text_of(seconds * _SECOND)


def served(text: str) -> bool:
    """True when the NodePool CRDs accept this text for a duration: `Never`, or whole h, m and s."""
    return text == NEVER or _SERVED.fullmatch(text) is not None
