"""Waiting for a server to notice something: its caches follow the store by a moment."""

import time
from collections.abc import Callable

WAIT_SECONDS = 60.0
AT_ONCE = 30.0
"""Seconds that "at once" may take where others keep the cores busy. For what would otherwise last for ever."""


def eventually(is_so: Callable[[], bool], *, what: str, seconds: float = WAIT_SECONDS) -> None:
    """Returns as soon as it is so; raises TimeoutError naming what was waited for."""
    end = time.monotonic() + seconds
    pause = 0.005
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def eventually_by_steps(is_so: Callable[[], bool], *, step: Callable[[], object], what: str, seconds: float) -> None:
    """The same for what is many steps of work: it may take as long as it likes, while each step comes within that time.

    `step` tells how far it is. Raises TimeoutError once it stays where it is for so long.
    """
    while not is_so():
        here = step()
        eventually(lambda: is_so() or step() != here, what=f"{what}, beyond {here}", seconds=seconds)  # noqa: B023 - called at once
