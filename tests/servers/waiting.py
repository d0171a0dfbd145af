"""Waits for a server to notice a change: its caches follow the store with a delay."""

import time
from collections.abc import Callable

WAIT_SECONDS = 60.0
AT_ONCE = 30.0
"""Seconds that "at once" may take where others keep the cores busy. For what would otherwise last for ever."""


def eventually(is_so: Callable[[], bool], *, what: str, seconds: float = WAIT_SECONDS) -> None:
    """Returns as soon as `is_so` returns true; raises TimeoutError naming `what`."""
    end = time.monotonic() + seconds
    pause = 0.005
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def eventually_by_steps(is_so: Callable[[], bool], *, step: Callable[[], object], what: str, seconds: float) -> None:
    """As `eventually`, for work of many steps: it may take any time, while each step comes within that time.

    `step` returns the progress. Raises TimeoutError if it does not change for so long.
    """
    while not is_so():
        here = step()
        eventually(lambda: is_so() or step() != here, what=f"{what}, beyond {here}", seconds=seconds)  # noqa: B023 - called at once
