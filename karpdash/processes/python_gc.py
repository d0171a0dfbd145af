"""Sets how often Python's garbage collector runs in a process that loads the program."""

import atexit
import gc

DEFAULT_THRESHOLDS = gc.get_threshold()
LOADING_THRESHOLDS = (50_000, 20, 10)
"""Loading creates a million objects that all stay. With Python's own thresholds the collector runs 600 times."""


def collect_seldom() -> None:
    """For a command, or until `collect_as_usual`: runs the collector seldom, and not at exit, when all memory is freed
    anyway.
    """
    gc.set_threshold(*LOADING_THRESHOLDS)
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """For a process that serves, once it has loaded: freezes all existing objects, so that the collector skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*DEFAULT_THRESHOLDS)
