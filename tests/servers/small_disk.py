"""A small disk for tests: a file system in memory that only chosen processes see. It needs root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.processes import Child
from tests.servers.waiting import eventually

POSSIBLE = os.getuid() == 0 and shutil.which("unshare") is not None
_WITHIN = ("unshare", "--mount", "--propagation", "private", "sh", "-ec")


def on_small_disk(folder: Path, *command: str, size: str) -> list[str]:
    """Returns the command that runs with that folder as an empty disk of that size, such as 32m."""
    return [*_WITHIN, f'mount -t tmpfs -o size={size},mode=700 none "$0"; exec "$@"', str(folder), *command]


def beside(pid: int) -> list[str]:
    """Returns the words before a command that shall see the same disk as that process."""
    return ["nsenter", "--mount", "--target", str(pid)]


@contextmanager
def small_disk(folder: Path, *, size: str) -> Iterator[list[str]]:
    """Context with such a disk; returns the words before a command that shall see it."""
    holder = Child(on_small_disk(folder, "sleep", "infinity", size=size), log=folder.parent / "disk.log")
    there = beside(holder.process.pid)
    try:
        eventually(
            lambda: subprocess.run([*there, "mountpoint", "-q", str(folder)], check=False).returncode == 0,
            what="a small disk",
        )
        yield there
    finally:
        holder.stop()
