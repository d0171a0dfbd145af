"""What journeys share: short folders, because a Unix socket's path has 107 bytes at most."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.running import Up, kill
from tests.servers import processes


@pytest.fixture
def place() -> Iterator[Path]:
    """A short, empty folder."""
    folder = processes.folder("j")
    yield folder
    processes.discard(folder)


@pytest.fixture
def up(place: Path) -> Iterator[Up]:
    """`karpdash up`, not started yet; nothing of it is left afterwards."""
    running = Up(place)
    yield running
    if running.process is not None:
        left = running.family()
        if not running.ended:
            running.end(signal.SIGKILL)
        kill(left)
