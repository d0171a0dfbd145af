"""Debian's chromium, as Playwright starts it: built without windows where that is installed, which takes a third of the
processor for a page.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.processes import program

_QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    # Whatever a page may ask for, no name but the machine's own leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """`playwright.chromium.launch(**chromium.launch)` starts it without a window."""

    executable: Path

    @property
    def launch(self) -> dict[str, Any]:
        """The keyword arguments of Playwright's launch."""
        # Its sandbox needs a user other than root.
        args = (*_QUIET, *(("--no-sandbox",) if os.getuid() == 0 else ()))
        return {"executable_path": str(self.executable), "headless": True, "args": list(args)}


def installed() -> Chromium:
    """Returns the installed browser; skips or fails the test if there is none."""
    return Chromium(Path(shutil.which("chromium-headless-shell") or program("chromium")))
