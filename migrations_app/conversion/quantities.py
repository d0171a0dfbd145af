"""Go durations and Kubernetes quantities: parsing, canonical text, and equality by value.

Quantities are integers in billionths, rounded away from zero, as in the API server. Sources: time.ParseDuration and
Duration.String of Go, and the patterns of the CRDs named below;
kubernetes/apimachinery:pkg/api/resource/quantity.go, results compared with kubectl.
"""

import re
from functools import lru_cache
from typing import Final

NEVER: Final = "Never"

_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_SECOND: Final = 10**9
_MAX_LENGTH: Final = 64
# aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.sh_nodepools.yaml: whole hours, minutes, seconds
_SERVED: Final = re.compile(r"(?:\d+[smh])+", re.ASCII)


def nanoseconds(text: str) -> int | None:
    """The length of `1h30m`, `0.5s`, `-2m` or `0` in nanoseconds; None if Go cannot parse it."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text[1:] if text[:1] == "+" else text)
    if rest == "0":
        return 0
    if not rest or len(rest) > _MAX_LENGTH:
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
    """Nanoseconds in Go's format: `0s`, `1m30s`, `720h0m0s`, `1m0.5s`, `1.5ms`."""
    if length == 0:
        return "0s"
    sign, remaining = ("-", -length) if length < 0 else ("", length)
    if remaining < _SECOND:
        unit, size = next((u, s) for u, s in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if remaining >= s)
        return f"{sign}{_with_fraction(remaining, size)}{unit}"
    minutes, rest = divmod(remaining, 60 * _SECOND)
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


def is_crd_duration(text: str) -> bool:
    """True if the NodePool CRDs accept this text as a duration: `Never`, or whole h, m and s."""
    return text == NEVER or _SERVED.fullmatch(text) is not None


_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<part>\d*))?(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?\d+)", re.ASCII
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_DOWN: Final = tuple((power, suffix) for suffix, power in reversed(_DECIMAL.items()))
_NANO: Final = 9
_LONGEST_QUANTITY: Final = 64  # the API server stops at 2**63; longer text is an attack or a mistake
_WIDEST: Final = 40


def _scaled(digits: int, power: int) -> int:
    """digits * 10**power, rounded up if power is negative."""
    return digits * int(10**power) if power >= 0 else -(-digits // int(10**-power))


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[int, str] | None:
    """(billionths, family) with family "binary", "decimal" or "exponent"; None if this is not a quantity."""
    text = text.strip()
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_QUANTITY else None
    if match is None:
        return None
    whole, part, suffix = match["whole"], match["part"] or "", match["suffix"]
    if not whole and not part:
        return None
    digits, power = int(whole + part), _NANO - len(part)
    if suffix in _BINARY:
        value, family = _scaled(digits * 1024 ** _BINARY[suffix], power), "binary"
    elif suffix in _DECIMAL:
        value, family = _scaled(digits, power + _DECIMAL[suffix]), "decimal"
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _WIDEST:
            return None
        value, family = _scaled(digits, power + exponent), "exponent"
    return (-value if match["sign"] == "-" else value), family


def _decimal(value: int) -> str:
    sign, remaining = ("-", -value) if value < 0 else ("", value)
    for power, suffix in _DECIMAL_DOWN:
        unit = 10 ** (power + _NANO)
        if remaining % unit == 0:
            return f"{sign}{remaining // unit}{suffix}"
    raise AssertionError("a whole number of billionths always ends at the suffix n")


def _binary(value: int) -> str:
    whole = value // 10**_NANO
    suffix = ""
    for name in _BINARY:
        if whole % 1024:
            break
        whole //= 1024
        suffix = name
    return f"{whole}{suffix}"


def _exponent(value: int) -> str:
    sign, remaining = ("-", -value) if value < 0 else ("", value)
    power = -_NANO
    while remaining % 1000 == 0:
        remaining //= 1000
        power += 3
    return f"{sign}{remaining}" if power == 0 else f"{sign}{remaining}e{power}"


@lru_cache(maxsize=4096)
def canonical(text: str) -> str | None:
    """The API server's text for this quantity; None if it is not a quantity."""
    quantity = read(text)
    if quantity is None:
        return None
    value, family = quantity
    if value == 0:
        return "0"
    if family == "exponent":
        return _exponent(value)
    if family == "binary" and abs(value) >= 1024 * 10**_NANO and value % 10**_NANO == 0:
        return _binary(value)
    return _decimal(value)


def billionths(text: str) -> int | None:
    """The value for comparison, independent of spelling; None if this is not a quantity."""
    quantity = read(text)
    return None if quantity is None else quantity[0]
