"""A worker that gets SIGQUIT ends soon, whatever its tasks, its pool and its main process are doing (R28)."""

import os
import signal
from pathlib import Path

import pytest

from karpdash.processes.lanes import KILL_AFTER, SOFT_STOP
from tests.journeys.installation import Installation, members
from tests.journeys.slow_cluster import SlowCluster
from tests.servers.processes import Child
from tests.servers.waiting import WAIT_SECONDS, eventually

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SECONDS = SOFT_STOP + KILL_AFTER + WAIT_SECONDS
GIVEN_BACK = ("queued", 0, "")


def scanning(site: Installation, slow: SlowCluster, program: str = "celery") -> tuple[Child, str]:
    """Returns a worker whose only process waits for the slow cluster's pods, and that cluster's id."""
    worker, cluster = site.worker(program), site.ask("register", slow.kubeconfig, "slow")
    site.requested(cluster)
    assert slow.asked.acquire(timeout=90), "nobody lists the pods"
    return worker, cluster


def is_stopped(child: Child) -> bool:
    return Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_scan_that_ends_in_time_is_done_once_and_the_heartbeat_goes(site: Installation, slow: SlowCluster):
    worker, cluster = scanning(site, slow)
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
    worker, _ = scanning(site, slow, "tests.journeys.starved_worker")
    assert is_stopped(worker)
    worker.process.send_signal(signal.SIGQUIT)
    worker.process.send_signal(signal.SIGCONT)
    assert worker.process.wait(SECONDS) == 0
    assert site.scan() == GIVEN_BACK


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
