"""How often Python looks for unreachable objects while a cluster is played."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 50, 100)
"""A twin holds hundreds of thousands of objects that are in no circle. Each look at all of them is for nothing: with
Python's own thresholds they cost one seventh of a rehearsal of 2,000 nodes, and its memory is the same.
"""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Meanwhile the garbage collector runs seldom, in the whole process; a decorator, too."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
