"""Files named on the command line, and standard input."""

import os
import sys
from pathlib import Path

STDIN = "-"
READING = os.O_RDONLY | sum(getattr(os, f"O_{name}", 0) for name in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY"))
"""Flags to open a file for reading: no link, no pipe that blocks, not inherited by programs; as the system allows."""


def is_stdin(path: Path) -> bool:
    """Whether the name stands for standard input."""
    return str(path) == STDIN


def beginning(path: Path, most: int) -> bytes:
    """At most that many bytes of the file, or of standard input for `-`. Raises OSError, and ValueError for a name
    that no file can have.
    """
    if is_stdin(path):
        return sys.stdin.buffer.read(most)
    with path.open("rb") as file:
        return file.read(most)
