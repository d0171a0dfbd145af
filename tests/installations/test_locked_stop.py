"""Another program holds the lock of the database while `karpdash up` stops: every worker ends by itself (R28)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from karpdash.processes.queues import WORKERS
from tests.installations.running import Up
from tests.servers.waiting import eventually

pytestmark = pytest.mark.timeout(600)
UNWRITTEN = "the heartbeat could not be written"


def test_a_stop_while_the_database_is_locked_kills_nobody(tmp_path: Path) -> None:  # R28
    up = Up(tmp_path, settings={"sweep_interval": "1"}, words=("--no-demo",)).start()
    try:
        up.serving()
        logs = [up.data / "logs" / f"worker-{lane}.log" for lane in WORKERS]
        eventually(
            lambda: up.rows("SELECT count(*) FROM migrations_app_pulse")[0][0] > len(WORKERS),
            what="each worker",
            seconds=240,
        )
        with closing(sqlite3.connect(up.data / "karpdash.sqlite3", timeout=60, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            eventually(lambda: all(UNWRITTEN in log.read_text() for log in logs), what="workers that wait", seconds=240)
            assert up.end() == 0
        assert "did not stop in time" not in up.err
    finally:
        if up.process is not None and not up.ended:
            up.end()
