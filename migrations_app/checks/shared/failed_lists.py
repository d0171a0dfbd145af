"""The lists of Karpenter's objects, nodes and pods that fail, or answer in another version than the newest only."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from migrations_app.inventory.parts import AHEAD, NOT_CONVERTED, Part, Seen, Unseen

OURS = ("forbidden", "unauthorized", "not_asked", "too_large", "scan_too_large")
"""Reasons that lie with the scan, its rights and its limits: whether the server would answer is not known."""


class FailedList(NamedTuple):
    """A list that the server does not answer; `why` is the code of the error, `told` that and its words."""

    part: str
    why: str
    told: str


def failed_lists(parts: Mapping[str, Part[object]]) -> Iterator[FailedList]:
    """The lists that fail for reasons of the server: in every version, or in the newest one."""
    for name, part in parts.items():
        if isinstance(part, Unseen) and part.why not in (*OURS, AHEAD):
            yield FailedList(name, part.why, f"{part.why}: {part.detail}" if part.detail else part.why)
        other = part.other_version if isinstance(part, Seen) else None
        if isinstance(part, Seen) and other is not None and other.why != NOT_CONVERTED:
            yield FailedList(name, other.why, f"{other.wanted} {other.why}, read as {part.served}: {other.detail}")


def not_tried(parts: Mapping[str, Part[object]]) -> list[str]:
    """The lists that were not requested, each with the reason: whether the server answers them is not known."""
    unseen = ((name, part) for name, part in parts.items() if isinstance(part, Unseen))
    return [f"{name} ({part.why})" for name, part in unseen if part.why in OURS]
