"""Finds lists of Karpenter's objects, nodes and pods that failed, or that the server answered only in an older
version."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from migrations_app.inventory.parts import AHEAD, NOT_CONVERTED, Part, Seen, Unseen

SCAN_REASONS = ("forbidden", "unauthorized", "not_asked", "too_large", "scan_too_large")
"""Reasons caused by the scan, its permissions and its limits; they do not show whether the server would answer."""


class FailedList(NamedTuple):
    """A list that the server did not answer; `why` is the code of the error, `told` the code with the message."""

    part: str
    why: str
    told: str


def failed_lists(parts: Mapping[str, Part[object]]) -> Iterator[FailedList]:
    """The lists that failed on the server, in every version or only in the newest one."""
    for name, part in parts.items():
        if isinstance(part, Unseen) and part.why not in (*SCAN_REASONS, AHEAD):
            yield FailedList(name, part.why, f"{part.why}: {part.detail}" if part.detail else part.why)
        other = part.other_version if isinstance(part, Seen) else None
        if isinstance(part, Seen) and other is not None and other.why != NOT_CONVERTED:
            yield FailedList(name, other.why, f"{other.wanted} {other.why}, read as {part.served}: {other.detail}")


def not_tried(parts: Mapping[str, Part[object]]) -> dict[str, str]:
    """The lists that were not requested, each with its reason; whether the server answers them is unknown."""
    unseen = ((name, part) for name, part in parts.items() if isinstance(part, Unseen))
    return {name: part.why for name, part in unseen if part.why in SCAN_REASONS}
