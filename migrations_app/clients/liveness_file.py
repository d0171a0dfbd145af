"""The heartbeat file of a process without web pages: touched by its main loop, read by `karpdash.alive`."""

import os
from pathlib import Path


class LivenessFile:
    """A file that is touched and holds the state of the process as one word. Without a path, nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._word: str | None = None

    def touch(self, word: str = "") -> None:
        """Writes the word, or renews the file's time. If that fails, the liveness probe fails."""
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
