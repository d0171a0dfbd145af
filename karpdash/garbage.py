"""How often Python looks for unreachable objects, in a process that loads the program."""

import atexit
import gc

PYTHONS = gc.get_threshold()
WHILE_LOADING = (50_000, 20, 10)
"""Loading makes a million objects that all stay. With Python's own thresholds a start looks through them 600 times."""


def collect_seldom() -> None:
    """For a command, or until `collect_as_usual`. Its end looks for nothing: all memory goes back to the system."""
    gc.set_threshold(*WHILE_LOADING)
    atexit.register(gc.freeze)


def collect_as_usual() -> None:
    """For a process that serves, once it has loaded: what is there by now stays, and is not looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*PYTHONS)
