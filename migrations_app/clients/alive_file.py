"""The file by which a process without pages tells that its main loop turns; `karpdash.alive` reads it."""

import os
from pathlib import Path


class AliveFile:
    """A file that is touched, and holds the state of the process as a word. Without a path nothing happens."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._word: str | None = None

    def touch(self, word: str = "") -> None:
        """A disk that takes nothing does not end the process: its probe says so soon enough."""
        if self._path is None:
            return
        try:
            if word == self._word:
                os.utime(self._path)
            else:
                self._path.write_text(word)
                self._word = word
        except OSError:
            self._word = None
