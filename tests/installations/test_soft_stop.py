"""A worker that gets SIGQUIT ends soon, whatever its tasks, its pool and its main process are doing (R28)."""

import os
import signal
import time
from pathlib import Path

import pytest

from karpdash.processes.queues import KILL_AFTER, LAST_SECONDS, SOFT_STOP
from karpdash.processes.soft_stop import CHECK_SECONDS
from tests.installations.installation import Installation, members
from tests.installations.slow_cluster import SlowCluster
from tests.servers.processes import Child
from tests.servers.waiting import WAIT_SECONDS, eventually

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SECONDS = SOFT_STOP + KILL_AFTER + WAIT_SECONDS
GIVEN_BACK = ("queued", 0, "")


def scanning(
    site: Installation, slow: SlowCluster, program: str = "celery", *, pool: str = "prefork"
) -> tuple[Child, str]:
    """Returns a worker whose only process waits for the slow cluster's pods, and that cluster's id."""
    worker, cluster = site.worker(program, pool=pool), site.ask("register", slow.kubeconfig, "slow")
    site.requested(cluster)
    assert slow.asked.acquire(timeout=90), "nobody lists the pods"
    return worker, cluster


def is_stopped(child: Child) -> bool:
    return Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_scan_that_ends_in_time_is_done_once_and_the_heartbeat_goes(site: Installation, slow: SlowCluster, pool: str):
    worker, cluster = scanning(site, slow, pool=pool)
    eventually(lambda: site.count("pulse") == 1, what="a heartbeat")
    worker.process.send_signal(signal.SIGQUIT)
    slow.go_on.set()
    assert worker.process.wait(SECONDS) == 0
    assert (site.scan(), site.count("pulse")) == (("done", 1, ""), 0)
    site.worker()
    site.requested(cluster)
    site.wait_for_end()  # and the message of the first scan did not come again
    assert site.rows("SELECT state, attempts FROM migrations_app_scan") == [("done", 1), ("done", 1)]


def test_a_scan_that_began_unseen_by_the_main_process_is_given_back(site: Installation, slow: SlowCluster):
    worker, _ = scanning(site, slow, "tests.installations.starved_worker")
    assert is_stopped(worker)
    worker.process.send_signal(signal.SIGQUIT)
    worker.process.send_signal(signal.SIGCONT)
    assert worker.process.wait(SECONDS) == 0
    assert site.scan() == GIVEN_BACK


def test_sigterm_after_it_does_not_wait_for_the_scan(site: Installation, slow: SlowCluster):
    worker, _ = scanning(site, slow)
    worker.process.send_signal(signal.SIGQUIT)
    time.sleep(2 * CHECK_SECONDS)  # two signals at once have no order
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(SECONDS) == 0
    assert site.scan() == GIVEN_BACK


def test_a_worker_whose_idle_process_hangs_is_ended_by_its_alarm(site: Installation, slow: SlowCluster):
    worker, _ = scanning(site, slow)
    slow.go_on.set()
    site.wait_for_end()
    site.wait_for_messages()  # a process that has yet to say that its scan ended is not idle, and would be killed
    for pid in members(worker) - {worker.process.pid}:
        os.kill(pid, signal.SIGSTOP)
    worker.process.send_signal(signal.SIGQUIT)
    assert worker.process.wait(SECONDS + LAST_SECONDS) == -signal.SIGALRM
    eventually(lambda: not members(worker), what="its pool to end with it")


def test_a_process_that_does_not_end_is_killed(site: Installation, slow: SlowCluster):
    worker, _ = scanning(site, slow)
    for pid in members(worker) - {worker.process.pid}:
        os.kill(pid, signal.SIGSTOP)
    worker.process.send_signal(signal.SIGQUIT)
    assert worker.process.wait(SECONDS) == 0
    slow.go_on.set()
    site.beat()
    site.worker()  # whoever was killed gave nothing back: its lease ends
    site.wait_for_end()
    assert site.scan() == ("done", 2, "")
