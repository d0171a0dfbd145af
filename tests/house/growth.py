"""Measures how the cost of work grows with its input, as lines of Python that run and bytes held at once; no clock is
used.
"""

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Returns how many lines of Python run during the work. Work of the C library within one line counts as one."""
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
    """Returns the largest number of MiB held during the work, beyond what was held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def assert_linear(work: Callable[[int], Callable[[], object]], *, sizes: tuple[int, int, int]) -> None:
    """Asserts that twice the size costs at most 2.3 times as much, twice in a row; `work(size)` returns what is
    measured.
    """
    assert (sizes[1], sizes[2]) == (2 * sizes[0], 4 * sizes[0])
    work(sizes[0])()  # what is loaded or compiled once
    small, middle, large = (lines_run(work(size)) for size in sizes)
    assert (middle < 2.3 * small, large < 2.3 * middle) == (True, True), (small, middle, large)
