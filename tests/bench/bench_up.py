"""An idle `karpdash up`: memory of all its processes together, and how long a stop takes. Run as a script.

Memory is the proportional set size (PSS): what processes share counts once. Linux only.
"""

import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.installations.running import Up
from tests.servers.waiting import eventually

MAX_MIB = 350
LONGEST_STOP = 5.0
SETTLES = 45.0
"""Seconds after the first page in which the sample fleet is scanned."""
SCANNED = "SELECT count(*) FROM migrations_app_snapshot"


def mebibytes(pids: set[int]) -> float:
    """The memory of those processes together."""
    return sum(_pss(pid) for pid in pids) / 1024


def _pss(pid: int) -> int:
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def main() -> int:
    """0 when both bounds are kept."""
    with tempfile.TemporaryDirectory(prefix="kb-") as folder:
        up = Up(Path(folder)).start().serving()
        try:
            eventually(lambda: int(up.rows(SCANNED)[0][0]) > 0, what="a snapshot", seconds=120)
            time.sleep(SETTLES)
            used = mebibytes(up.family())
            began = time.monotonic()
            up.end(signal.SIGINT)
            took = time.monotonic() - began
        except (AssertionError, TimeoutError, subprocess.TimeoutExpired):
            up.end(signal.SIGKILL)
            raise
    sys.stdout.write(
        f"up: {used:.0f} MiB PSS of all processes, idle (at most {MAX_MIB})\n"
        f"up: stops in {took:.1f} s (at most {LONGEST_STOP:.0f})\n"
    )
    return 0 if used <= MAX_MIB and took <= LONGEST_STOP else 1


if __name__ == "__main__":
    sys.exit(main())
