"""Named places in the life of a request. Nothing happens at them, unless a test process puts something there."""

from collections.abc import Callable

NAMES = ("before_intent", "after_intent", "after_send", "before_outcome", "after_outcome", "after_transition")


def _nothing(_name: str) -> None:
    return


reached: Callable[[str], None] = _nothing
"""Called as `crash_points.reached(name)`; a test process replaces it to die there."""
