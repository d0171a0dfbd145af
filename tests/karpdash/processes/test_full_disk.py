"""The timetable needs no disk: it ticks on where nothing can be written (R25)."""

import resource
import subprocess
import sys

import pytest
from redis import Redis

from tests.installations.running import ROOT, bare_environment
from tests.servers.waiting import WAIT_SECONDS, eventually

pytestmark = pytest.mark.redis


def _nothing_is_written() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "celery", "-A", "karpdash.celery", "beat", "--pidfile", ""],
        ["-c", "from karpdash.celery import tick; tick()"],
    ],
    ids=["a process", "a thread of karpdash up"],
)
def test_beat_ticks_where_nothing_can_be_written(redis_url, tmp_path, words):  # R25
    env = bare_environment(data_dir=str(tmp_path / "d"), broker_url=redis_url, sweep_interval="1")
    (tmp_path / "d").mkdir()
    (tmp_path / "here").mkdir()
    beat = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path / "here",
        env=env | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_nothing_is_written,
    )  # fmt: skip
    try:
        with Redis.from_url(redis_url) as queue:
            eventually(lambda: beat.poll() is not None or int(queue.llen("upkeep")) >= 10, what="ten ticks")
            queue.delete("upkeep")
        assert beat.poll() is None
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["d", "here"]
    finally:
        beat.terminate()
        beat.wait(WAIT_SECONDS)
