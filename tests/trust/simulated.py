"""Clocks that jump, and three days of a fleet of a thousand clusters, each in a process of its own (R10, R18, R20)."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from karpdash.processes import datadir
from tests.installations.running import ROOT, bare_environment
from tests.servers.processes import discard, folder
from tests.trust.days import INTERVAL
from tests.trust.parts import Part

HOURS = 72


def played(count: int, dice: random.Random, *, what: str, size: tuple[str, ...] = ()) -> Sequence[str]:
    """That many cases on a database of their own, which is SQLite."""
    where = folder("trust")
    data = datadir.prepare(where / "d")
    env = bare_environment(
        data_dir=str(data), broker_url="memory://", scan_interval=str(INTERVAL), log_level="ERROR", free_mib="0",
        free_percent="0", database_url=f"sqlite:///{data}/karpdash.sqlite3",
    )  # fmt: skip
    words = [sys.executable, "-m", "tests.trust.days", what, str(count), str(dice.randrange(2**32)), *size]
    try:
        told = subprocess.run(words, cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, check=True)
        answers: list[str] = json.loads(told.stdout)
        return answers
    finally:
        discard(where)


PARTS = (
    Part(name="clocks that jump", full=1_000, rules="R10, R13, R18, T28", series=partial(played, what="clock")),
    Part(
        name="hours of a fleet of 1,000", full=HOURS, rules="R10, R11, R20, R26", series=partial(played, what="fleet")
    ),
)
