"""Children that share the memory of the supervisor: sessions, exit codes, signals, logs."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from karpdash.processes import child_processes, datadir
from karpdash.processes.supervise import Child, Supervisor

pytestmark = pytest.mark.skipif(not child_processes.CAN_FORK, reason="forks only on Linux")


def ends(run, tmp_path, **more):
    log = tmp_path / "part.log"
    return child_processes.fork(run, name="part", log=log, **more).wait(), log.read_text()


def test_the_exit_code_is_what_it_returns_and_its_words_are_in_the_log(tmp_path):
    def speaks():
        sys.stdout.write("out\n")
        sys.stderr.write("err\n")
        return 7

    assert ends(speaks, tmp_path) == (7, "out\nerr\n")


@pytest.mark.parametrize(("told", "code", "said"), [(3, 3, ""), (None, 0, ""), ("not so", 1, "not so\n")])
def test_an_exit_is_an_exit(tmp_path, told, code, said):
    assert ends(lambda: sys.exit(told), tmp_path) == (code, said)


def test_a_crash_is_in_the_log_and_never_reaches_the_supervisor(tmp_path):
    def crashes():
        raise RuntimeError("broken")

    code, said = ends(crashes, tmp_path)
    assert (code, said.splitlines()[0], said.splitlines()[-1]) == (
        1, "Traceback (most recent call last):", "RuntimeError: broken",
    )  # fmt: skip


def test_it_leads_a_session_of_its_own_and_has_a_name(tmp_path):
    def tells():
        sys.stdout.write(f"{os.getsid(0) == os.getpid()} {Path('/proc/self/comm').read_text()}")
        return 0

    assert ends(tells, tmp_path) == (0, "True karpdash:part\n")


def test_a_signal_ends_it_though_the_supervisor_catches_it(tmp_path):
    supervisor = Supervisor([Child("part", [], tmp_path / "log", run=lambda: time.sleep(60) or 0)])
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        supervisor.catch_signals()
        supervisor.start_rest()
        process = supervisor.children[0].process
        supervisor.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (process.wait(), supervisor.children[0].running) == (-signal.SIGTERM, False)


def test_children_end_side_by_side_and_the_first_ones_last(tmp_path):
    ended = tmp_path / "ended"

    def lasts(name):
        def stop(_number, _frame):
            with ended.open("a") as file:
                file.write(f"{name}\n")
            os._exit(0)

        def run():
            signal.signal(signal.SIGTERM, stop)
            (tmp_path / f"{name}-ready").touch()
            time.sleep(60)
            return 0

        return run

    names = ("broker", "web", "worker")
    children = [Child(name, [], tmp_path / name, run=lasts(name)) for name in names]
    supervisor = Supervisor(children)
    supervisor.start_first(children[:1])
    supervisor.start_rest()
    while not all((tmp_path / f"{name}-ready").exists() for name in names):
        time.sleep(0.01)
    supervisor.stop()
    told = ended.read_text().split()
    assert (sorted(told), told[-1]) == (sorted(names), "broker")


def test_the_lock_of_the_folder_is_not_held_by_children(tmp_path):  # R34
    lock = datadir.lock(tmp_path)

    def runs():
        (tmp_path / "ready").touch()
        time.sleep(60)
        return 0

    child = child_processes.fork(runs, name="part", log=tmp_path / "log")
    lock.close()
    try:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        datadir.lock(tmp_path).close()
    finally:
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL


def test_where_the_kernel_cannot_be_asked_nothing_is_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(child_processes, "_PRCTL", None)
    assert ends(lambda: 5, tmp_path) == (5, "")
