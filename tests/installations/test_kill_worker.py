"""Workers that are killed in the middle of a scan, messages that are lost or doubled: one scan, one whole snapshot."""

import random
import signal
import time

import pytest
import redis

from tests.installations.installation import Installation, kill_all, kill_pool
from tests.installations.slow_cluster import SlowCluster
from tests.servers.processes import Child, program
from tests.servers.redis_server import RedisServer
from tests.servers.waiting import AT_ONCE, WAIT_SECONDS

PUBLISHED = """
    SELECT s.complete, c.latest_id = s.id, c.failures FROM migrations_app_snapshot s
    JOIN migrations_app_cluster c ON c.id = s.cluster_id
"""

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tests of what the broker loses: the rows that are left are the same in each database."""


def wait_until_pods_are_asked_for(slow: SlowCluster) -> None:
    assert slow.asked.acquire(timeout=90), "nobody lists the pods"


def published(site: Installation) -> list[tuple[bool, bool, int]]:
    return [(bool(complete), bool(latest), failures) for complete, latest, failures in site.rows(PUBLISHED)]


@pytest.mark.parametrize("kill", [kill_all, kill_pool])
def test_a_scan_whose_worker_is_killed_ends_in_one_whole_snapshot(  # R01
    site: Installation, slow: SlowCluster, kill: object
) -> None:
    assert callable(kill)
    site.beat()
    worker = site.worker()
    site.requested(site.ask("register", slow.kubeconfig, "slow"))
    wait_until_pods_are_asked_for(slow)
    kill(worker)
    assert (site.scan()[0], site.count("snapshot")) == ("running", 0)
    if kill is kill_all:
        site.worker()
    wait_until_pods_are_asked_for(slow)
    slow.go_on.set()
    site.wait_for_end()
    assert (site.scan(), published(site)) == (("done", 2, ""), [(True, True, 0)])


def test_a_scan_that_kills_every_worker_ends_and_the_old_snapshot_stays(  # R36
    site: Installation, slow: SlowCluster
) -> None:
    site.beat()
    worker = site.worker()
    cluster = site.ask("register", slow.kubeconfig, "slow")
    slow.go_on.set()
    site.requested(cluster)
    site.wait_for_end()
    wait_until_pods_are_asked_for(slow)
    slow.go_on.clear()
    site.requested(cluster)
    for _ in range(3):
        wait_until_pods_are_asked_for(slow)
        kill_pool(worker)
    site.wait_for_end()
    assert (site.scan(), published(site)) == (("failed", 3, "worker_lost"), [(True, True, 1)])


def test_a_worker_that_is_told_to_stop_gives_its_scan_back(site: Installation, slow: SlowCluster) -> None:  # R28
    worker = site.worker()
    site.requested(site.ask("register", slow.kubeconfig, "slow"))
    wait_until_pods_are_asked_for(slow)
    worker.process.send_signal(signal.SIGQUIT)
    worker.process.wait(WAIT_SECONDS)
    assert site.scan() == ("queued", 0, "")
    slow.go_on.set()
    site.worker()  # and no beat: the message came back by itself
    site.wait_for_end()
    assert (site.scan(), published(site)) == (("done", 1, ""), [(True, True, 0)])


KILLS = 12


def test_whatever_is_published_under_a_rain_of_kills_is_whole(site: Installation) -> None:  # R01
    dice = random.Random(20261121)
    worker = site.worker()
    site.beat()
    clusters = site.ask("samples")
    site.requested(clusters[0])
    site.wait_for_end()
    for _ in range(KILLS):
        for cluster in clusters:
            site.requested(cluster)
        time.sleep(dice.uniform(0.02, 0.4))
        kill_pool(worker)
        worker = worker if worker.process.poll() is None else site.worker()
    site.wait_for_end()
    ends = site.rows("SELECT DISTINCT state, error_code, error_detail FROM migrations_app_scan")
    assert {end[:2] for end in ends} <= {("done", ""), ("failed", "worker_lost")}, ends
    done = site.rows("SELECT count(*), count(DISTINCT snapshot_id) FROM migrations_app_scan WHERE state = 'done'")
    snapshots = site.count("snapshot")
    assert (done, site.ask("halves")) == ([(snapshots, snapshots)], [])
    assert snapshots > len(clusters)


@ON_SQLITE
def test_a_message_delivered_thrice_is_one_scan(site: Installation, slow: SlowCluster) -> None:  # R07
    site.worker()
    site.worker()
    scan = site.ask("request", site.ask("register", slow.kubeconfig, "slow"))
    for _ in range(3):
        site.ask("enqueue_scan", scan)
    wait_until_pods_are_asked_for(slow)
    slow.go_on.set()
    site.wait_for_end()
    site.ask("enqueue_scan", scan)
    site.wait_for_messages()
    assert (site.scan(), published(site), slow.times_pods_were_listed) == (("done", 1, ""), [(True, True, 0)], 1)


@ON_SQLITE
def test_scans_come_back_when_the_broker_forgets_everything(site: Installation) -> None:  # R05
    clusters = site.ask("samples")
    for cluster in clusters:
        site.requested(cluster)
    with redis.Redis.from_url(site.env["KARPDASH_BROKER_URL"]) as connection:
        assert connection.llen("scan") == len(clusters)  # samples need no probe
        connection.flushall()
    site.worker()
    site.beat()
    site.wait_for_end()
    assert site.rows("SELECT DISTINCT state, attempts FROM migrations_app_scan") == [("done", 1)]
    assert site.count("snapshot") == len(clusters)


@ON_SQLITE
def test_a_full_broker_leaves_the_scan_queued(site: Installation) -> None:  # R05
    with redis.Redis.from_url(site.env["KARPDASH_BROKER_URL"]) as connection:
        before = connection.config_get("maxmemory")
        connection.config_set("maxmemory", "1")
        told = site.ask("enqueue_scan", site.ask("request", site.ask("samples")[0]))
        connection.config_set("maxmemory", str(before["maxmemory"]))
    assert (told["sent"], site.scan()) == (False, ("queued", 0, ""))
    site.worker()
    site.beat()
    site.wait_for_end()
    assert site.scan() == ("done", 1, "")


@ON_SQLITE
def test_scans_wait_for_a_broker_that_is_down(place: object, database_url: str) -> None:  # R05
    server = RedisServer()
    site = Installation(server.folder, broker_url=server.url, database_url=database_url)
    try:
        site.worker()
        site.beat()
        cluster = site.ask("samples")[0]
        site.requested(cluster)
        site.wait_for_end()
        server.child.stop()
        told = site.ask("enqueue_scan", site.ask("request", cluster))
        assert (told["sent"], told["seconds"] < AT_ONCE) == (False, True)
        assert site.scan() == ("queued", 0, "")
        time.sleep(3)
        server.child = Child([program("redis-server"), server.folder / "redis.conf"], log=server.folder / "redis.log")
        site.wait_for_end(seconds=120)
        assert (site.scan(), site.count("snapshot")) == (("done", 1, ""), 2)
    finally:
        site.stop()
        server.stop()
