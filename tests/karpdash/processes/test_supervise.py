"""Children: started, restarted when they fall, stopped with all that they started themselves."""

import os
import signal
import sys

import pytest

from karpdash.processes.supervise import Child, Supervisor
from tests.servers.waiting import eventually

SLEEP = "import time; time.sleep(60)"


def child(tmp_path, code=SLEEP, name="part"):
    return Child(name, [sys.executable, "-c", code], tmp_path / f"{name}.log")


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def started(tmp_path):
    supervisor = Supervisor([child(tmp_path)])
    supervisor.start_rest()
    yield supervisor
    supervisor.stop()


def test_stop_ends_the_child(started):
    pid = started.children[0].process.pid
    assert started.children[0].running
    started.stop()
    assert gone(pid)


def test_a_fallen_child_is_started_again_after_a_pause(started, capsys):
    first = started.children[0].process.pid
    os.kill(first, signal.SIGKILL)
    eventually(lambda: not started.children[0].running, what="the child to end")
    started._restart_ended()
    assert "part ended with -9" in capsys.readouterr().err
    started.children[0].next_start = 1e-9
    started._restart_ended()
    assert started.children[0].running
    assert started.children[0].process.pid != first


def test_pauses_grow_and_are_bounded(tmp_path, capsys):
    fallen = child(tmp_path)
    pauses = [Supervisor([fallen])._pause(fallen, 1.0) for _ in range(8)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert capsys.readouterr().err.count("starts again") == 8


def test_grandchildren_go_too(tmp_path):
    code = (
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]);"
        "print(p.pid, flush=True); p.wait()"
    )
    supervisor = Supervisor([child(tmp_path, code)])
    supervisor.start_rest()
    log = tmp_path / "part.log"
    eventually(lambda: log.exists() and log.read_text().endswith("\n"), what="the grandchild")
    grandchild = int(log.read_text())
    supervisor.stop()
    eventually(lambda: gone(grandchild), what="the grandchild to end")


def test_what_does_not_serve_is_not_waited_for_for_ever(started):
    assert started.wait_until_serving("http://127.0.0.1:9/healthz", seconds=0.3) is False


def test_a_signal_ends_the_watch(started):
    started._stop_by_signal(signal.SIGTERM, None)
    assert started.watch() == 0
