"""The state of a sample cluster: one for all who look, in order, and complete after every kill and restart."""

import functools
import os
import subprocess
import sys
import threading
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from migrations_app.errors import ServerFailed
from migrations_app.models.cluster import Cluster
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.twin.server import Twin
from migrations_app.use_cases.samples import clusters
from migrations_app.use_cases.twins import state
from migrations_app.use_cases.twins.ports import account_of
from migrations_app.use_cases.twins.state import RunningTwin, SampleRemoved, StoredTwin, TwinState, packed, unpacked

PODS, NODES = "/api/v1/namespaces/shop/pods", "/api/v1/nodes"
MAPS = "/api/v1/namespaces/shop/configmaps"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def alpha(db) -> Cluster:
    clusters.make_all()
    return Cluster.objects.get(name="live-alpha")


def named(twin: Twin, path: str) -> list[str]:
    return [one["metadata"]["name"] for one in twin.request("GET", path).document["items"]]


def noted(stored: StoredTwin, name: str) -> int:
    body = {"metadata": {"name": name}}
    return stored.change(lambda played: played.twin.request("POST", MAPS, body=body).status)


def revision(cluster: Cluster) -> int:
    return SampleTwin.objects.values_list("revision", flat=True).get(pk=cluster.pk)


def test_a_change_is_seen_by_every_other_reader(alpha):
    mine, other = StoredTwin(alpha.pk), StoredTwin(alpha.pk)
    assert named(other.current(), MAPS) == []
    assert noted(mine, "first") == 201
    assert (named(other.current(), MAPS), named(StoredTwin(alpha.pk).current(), MAPS)) == (["first"], ["first"])


def test_looking_at_a_cluster_at_rest_writes_nothing(alpha):
    before = revision(alpha)
    for _ in range(3):
        StoredTwin(alpha.pk).current()
    assert revision(alpha) == before


def test_its_account_measures_quotas_now(alpha):
    before = timezone.now()
    account = account_of(alpha.pk)
    assert account is not None
    moments = {quota.measured_at for quota in account.vcpu_quotas()}
    assert moments <= {f"{at:%Y-%m-%dT%H:%M:00Z}" for at in (before, timezone.now())}
    assert len(moments) == 1


def test_who_lost_the_race_does_the_work_again_on_what_the_winner_wrote(alpha):
    seen: list[list[str]] = []

    def work(played: RunningTwin) -> None:
        seen.append(named(played.twin, MAPS))
        if len(seen) == 1:
            noted(StoredTwin(alpha.pk), "winner")
        played.twin.request("POST", MAPS, body={"metadata": {"name": "loser"}})

    StoredTwin(alpha.pk).change(work)
    assert seen == [[], ["winner"]]
    assert named(StoredTwin(alpha.pk).current(), MAPS) == ["loser", "winner"]


def test_what_fails_in_between_leaves_nothing(alpha):
    def killed(played: RunningTwin) -> None:
        played.twin.request("POST", MAPS, body={"metadata": {"name": "half"}})
        raise KeyboardInterrupt

    stored, before = StoredTwin(alpha.pk), revision(alpha)
    with pytest.raises(KeyboardInterrupt):
        stored.change(killed)
    assert (revision(alpha), named(StoredTwin(alpha.pk).current(), MAPS)) == (before, [])
    assert named(stored.current(), MAPS) == []


def test_nobody_writes_for_ever(alpha, monkeypatch):
    monkeypatch.setattr(state, "MAX_WRITE_ATTEMPTS", 2)

    def disturbed(played: RunningTwin) -> None:
        SampleTwin.objects.filter(pk=alpha.pk).update(revision=revision(alpha) + 1)
        played.twin.request("POST", MAPS, body={"metadata": {"name": "never"}})

    with pytest.raises(ServerFailed, match="changed by too many other requests"):
        StoredTwin(alpha.pk).change(disturbed)
    assert named(StoredTwin(alpha.pk).current(), MAPS) == []


def test_a_cluster_that_was_removed_is_gone(alpha):
    stored = StoredTwin(alpha.pk)
    stored.current()
    alpha.delete()
    with pytest.raises(SampleRemoved):
        stored.current()


@pytest.mark.django_db(transaction=True)
def test_two_writers_at_once_lose_nothing():
    if connection.vendor == "sqlite":
        pytest.skip("an SQLite in memory lets no writer wait; processes on a file do, below")
    with transaction.atomic():
        clusters.make_all()
    cluster, told = Cluster.objects.get(name="live-alpha"), []

    def write(mark: str) -> None:
        try:
            told.extend(noted(StoredTwin(cluster.pk), f"{mark}-{number}") for number in range(8))
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(mark,)) for mark in ("a", "b")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert told == [201] * 16
    wanted = sorted(f"{mark}-{number}" for mark in "ab" for number in range(8))
    assert named(StoredTwin(cluster.pk).current(), MAPS) == wanted


MAKE = """
import django
django.setup()
from migrations_app.use_cases.samples import clusters
clusters.make_all()
"""
WRITE = """
import django, sys
django.setup()
from migrations_app.models.cluster import Cluster
from tests.use_cases.twins.test_state import StoredTwin, noted
stored = StoredTwin(Cluster.objects.get(name="live-alpha").pk)
print([noted(stored, f"{sys.argv[1]}-{number}") for number in range(8)])
"""
READ = """
import django
django.setup()
from migrations_app.models.cluster import Cluster
from tests.use_cases.twins.test_state import MAPS, StoredTwin, named
print(*named(StoredTwin(Cluster.objects.get(name="live-alpha").pk).current(), MAPS))
"""


def test_two_processes_that_write_to_one_file_lose_nothing(tmp_path):
    settings = {"KARPDASH_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("KARPDASH_")} | settings
    python = functools.partial(subprocess.Popen, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    python([sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]).communicate()
    python([sys.executable, "-c", MAKE]).communicate()
    writers = [python([sys.executable, "-c", WRITE, mark]) for mark in ("a", "b")]
    assert [writer.communicate()[0].strip() for writer in writers] == [str([201] * 8)] * 2
    names, _ = python([sys.executable, "-c", READ]).communicate()
    assert names.split() == sorted(f"{mark}-{number}" for mark in "ab" for number in range(8))


def rolling() -> RunningTwin:
    """The alpha cluster while a new node is on its way: a pod asks for more than the others leave."""
    now = timezone.now().astimezone(UTC)
    played = RunningTwin(clusters.first_state(clusters.SAMPLES[0], now), seed="x")
    room = {"resources": {"requests": {"cpu": "12"}}}
    spec = {"containers": [{"name": "big", "image": "big"} | room]}
    played.twin.request("POST", PODS, body={"metadata": {"name": "big"}, "spec": spec})
    played.settle()
    played.advance(now + timedelta(seconds=1))
    return played


def restarted(played: RunningTwin) -> RunningTwin:
    return RunningTwin(unpacked(packed(played.state())), seed="y")


def test_a_node_on_its_way_comes_at_its_time_after_a_restart():
    played = rolling()
    assert [one.delay for one in played.state().memory.launches] == list(state.DELAYS.node_ready)
    before, again = len(named(played.twin, NODES)), restarted(played)
    moment = played.clock.now() + timedelta(seconds=state.DELAYS.node_ready[0])
    again.advance(played.clock.now() + timedelta(seconds=0.5))
    assert len(named(again.twin, NODES)) == before
    again = restarted(again)
    again.advance(moment)
    assert len(named(again.twin, NODES)) == before + 1
    again.advance(moment + timedelta(seconds=state.DELAYS.pod_start))
    pod = again.twin.request("GET", f"{PODS}/big").document
    assert (pod["status"]["phase"], bool(pod["spec"]["nodeName"])) == ("Running", True)


def test_a_restart_changes_nothing():
    def told(played: RunningTwin) -> TwinState:
        return played.state()

    played = rolling()
    assert told(restarted(played)) == told(played)


def test_the_way_there_does_not_depend_on_how_often_it_is_stopped():
    steady, stopped = rolling(), None
    stopped = restarted(steady)
    end = steady.clock.now() + timedelta(seconds=30)
    steady.advance(end)
    while stopped.clock.now() < end:
        stopped.advance(min(end, stopped.clock.now() + timedelta(seconds=0.7)))
        stopped = restarted(stopped)
    for path in (NODES, PODS, "/apis/karpenter.sh/v1alpha5/machines"):
        assert named(stopped.twin, path) == named(steady.twin, path)
