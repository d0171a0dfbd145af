"""The cost of an input as counted work: lines of Python that run, and bytes that are held at once. No clock is read."""

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python run while it works. What the C library does inside one line counts as one."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def peak_mib(work: Callable[[], object]) -> float:
    """MiB that are held at the worst moment of the work, beyond what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def assert_linear(work: Callable[[int], Callable[[], object]], *, sizes: tuple[int, int, int]) -> None:
    """Twice the size costs at most 2.3 times as much, twice in a row; `work` of a size makes what is measured."""
    assert (sizes[1], sizes[2]) == (2 * sizes[0], 4 * sizes[0])
    work(sizes[0])()  # what is loaded or compiled once
    small, middle, large = (lines_run(work(size)) for size in sizes)
    assert (middle < 2.3 * small, large < 2.3 * middle) == (True, True), (small, middle, large)
