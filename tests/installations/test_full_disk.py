"""The disk of `karpdash up` fills while it works: nothing is lost, and all goes on once there is room (R25)."""

import json
import subprocess
import sys
import urllib.error
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.installations.running import Up
from tests.servers import small_disk
from tests.servers.waiting import eventually

SIZE = "32m"
QUICK = {"free_mib": "0", "free_percent": "0", "sweep_interval": "1", "scan_interval": "4"}
ASK = """
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1] + "?mode=ro", uri=True, timeout=20)
print(json.dumps(database.execute(sys.argv[2]).fetchall()))
"""

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not small_disk.POSSIBLE, reason="a small disk of our own needs root"),
]


class SmallDisk(Up):
    """Its data folder is a small file system of its own, which only its processes see."""

    def command(self) -> list[str]:
        self.data.mkdir()
        return small_disk.on_small_disk(self.data, *super().command(), size=SIZE)

    @property
    def seen(self) -> Path:
        """The data folder as the processes see it."""
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/root{self.data}")

    def fill(self) -> None:
        with suppress(OSError), (self.seen / "fill").open("wb", buffering=0) as fill:
            while True:
                fill.write(b"x" * 4096)

    def missing(self) -> list[str] | None:
        """What readiness misses; None while nobody answers."""
        try:
            return list(json.loads(self.get("/readyz"))["missing"])
        except urllib.error.HTTPError as refused:
            return list(json.loads(refused.read())["missing"])
        except OSError:
            return None

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """What the database answers, read where its processes see it."""
        assert self.process is not None
        inside = [*small_disk.beside(self.process.pid), sys.executable, "-c", ASK]
        told = subprocess.run(
            [*inside, f"file:{self.data}/karpdash.sqlite3", question], capture_output=True, check=True
        )
        return [tuple(row) for row in json.loads(told.stdout)]

    def done(self) -> int:
        return int(self.rows("SELECT count(*) FROM migrations_app_scan WHERE state = 'done'")[0][0])


def test_work_goes_on_once_there_is_room(tmp_path):  # R25
    up = SmallDisk(tmp_path, settings=QUICK).start()
    try:
        up.serving()
        eventually(lambda: up.missing() == [], what="everything to run", seconds=120)
        eventually(lambda: up.done() > 0, what="a scan", seconds=120)
        up.fill()
        eventually(lambda: bool(up.missing()), what="readiness to tell of it", seconds=120)
        eventually(lambda: "starts again" in up.err, what="a worker that ended", seconds=120)
        (up.seen / "fill").unlink()
        eventually(lambda: up.missing() == [], what="everything to run again", seconds=180)
        before = up.done()
        eventually(lambda: up.done() > before, what="the next scan", seconds=180)
        numbers = [seq for (seq,) in up.rows("SELECT seq FROM migrations_app_auditevent ORDER BY seq")]
        assert numbers == list(range(1, len(numbers) + 1))
        up.fill()
        eventually(lambda: bool(up.missing()), what="readiness to tell of it again", seconds=120)
        assert up.end() == 0
        assert "did not stop in time" not in up.err
    finally:
        if up.process is not None and not up.ended:
            up.end()
