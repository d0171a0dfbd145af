"""How the cost of work grows with its size, measured side by side in one process, whatever the speed of the machine."""

import gc
import time
from collections.abc import Callable

LINEAR = 3.0
"""The most that `growth` may be where the cost grows with the size; its square gives the ratio of the two sizes."""


def growth(work: Callable[[int], object], *, small: int, large: int) -> float:
    """How many times the processor time for one unit of `large` is that for one of `small`: about 1 where the cost
    grows with the size, `large / small` where it grows with its square. The least of three runs each, in turns.
    """
    spent: dict[int, list[float]] = {small: [], large: []}
    for _ in range(3):
        for size in spent:
            gc.collect()
            started = time.process_time()
            work(size)
            spent[size].append(time.process_time() - started)
    return min(spent[large]) / min(spent[small]) * small / large
