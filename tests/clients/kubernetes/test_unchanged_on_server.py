"""A real kube-apiserver proves by its bookmarks that a list has not changed, and never that one has not that did."""

import random
from datetime import UTC, datetime

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.collect import list_cache
from migrations_app.collect.collect import collect
from migrations_app.collect.list_cache import PartMemory
from migrations_app.errors import Expired, Forbidden
from tests.servers.apiserver import ApiServer
from tests.servers.waiting import eventually

pytestmark = [pytest.mark.apiserver]
HERE = OutboundPolicy(allow_loopback=True)
NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
PODS = Resource("", "v1", "pods")
BOX = {"name": "main", "image": "registry.example/a:1"}


def opened(server, token=""):
    kubeconfig = server.kubeconfig(token or server.admin_token).encode()
    return open_live(read_kubeconfig(kubeconfig), reach=HERE)


def pod(name):
    metadata = {"name": name, "namespace": "default", "labels": {"app": "a"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [BOX]}}


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


@pytest.fixture(scope="module")
def telling():
    """Tells watches each second how far it is: a proof waits for that."""
    server = ApiServer(progress_seconds=1)
    yield server
    server.stop()


@pytest.fixture
def server(telling):
    telling.wipe(leave_crds=True)
    for number in range(7):
        telling.admin.create(pod(f"p-{number}"))
    telling.admin.create(node("n-1"))
    return telling


def change(admin, chance, number):
    """One random change on the server; its name."""
    path = "/api/v1/namespaces/default/pods"
    how = chance.choice(("none", "other", "add", "drop", "swap", "label"))
    name = chance.choice([one["metadata"]["name"] for one in admin.items(path)])
    if how == "other":
        admin.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m-{number}", "namespace": "default"}}
        )
    elif how == "add":
        admin.create(pod(f"q-{number}"))
    elif how in ("drop", "swap"):
        admin.delete(f"{path}/{name}", gracePeriodSeconds=0)
        if how == "swap":
            admin.create(pod(name))
    elif how == "label":
        admin.patch(f"{path}/{name}", {"metadata": {"annotations": {"karpenter.sh/do-not-evict": str(number)}}})
    return how


def proven(api, *, since):
    """A forgotten version is told by the status or by an event, as the server likes."""
    try:
        return api.is_unchanged(PODS, since=since, count=7, seconds=6)
    except Expired:
        return False


def version_of(server):
    return server.admin.get("/api/v1/pods")["metadata"]["resourceVersion"]


def test_random_changes_on_a_real_server_give_what_a_whole_scan_gives(server, monkeypatch):
    monkeypatch.setattr(list_cache, "WATCH_SECONDS", (5, 12))
    monkeypatch.setattr(list_cache, "MAX_PAUSES", 0)
    chance, api, kept, taken = random.Random(5), opened(server), {}, []

    def scan(how):
        memory = PartMemory(api, "here", NOW, kept, 1)
        found = collect(api, cluster="c", memory=memory).inventory
        whole = collect(api, cluster="c").inventory
        assert (found.pods, found.nodes) == (whole.pods, whole.nodes), how
        kept.update(memory.fresh)
        taken.extend([how] if "pods" in memory.proven else [])
        return bool(memory.proven)

    for number in range(6):
        scan(change(server.admin, chance, number))
    # When the bookmark comes is the server's affair; on a busy machine it may come too late for a scan or two.
    eventually(lambda: scan("none"), what="a scan that takes what it proved")
    assert set(taken) <= {"none", "other"}
    api.close()


def test_nothing_new_is_proven_and_each_change_is_seen(server):
    api, since = opened(server), version_of(server)
    eventually(lambda: api.is_unchanged(PODS, since=since, count=7, seconds=6), what="the proof")
    server.admin.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}})
    eventually(lambda: api.is_unchanged(PODS, since=since, count=7, seconds=6), what="the proof after other changes")
    assert not api.is_unchanged(PODS, since=since, count=8, seconds=6)
    server.admin.patch("/api/v1/namespaces/default/pods/p-3", {"metadata": {"labels": {"app": "b"}}})
    assert not api.is_unchanged(PODS, since=since, count=7, seconds=6)
    api.close()


def test_a_version_to_come_and_one_that_is_forgotten_prove_nothing(server):
    api, since = opened(server), version_of(server)
    assert not api.is_unchanged(PODS, since=str(int(since) + 10**6), count=7, seconds=6)
    server.compact()
    assert not proven(api, since="1")
    api.close()


def test_without_the_right_to_watch_nothing_is_proven(server):
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    lists = opened(server, server.make_user("lists", [rule]))
    watches = opened(server, server.make_user("watches", [{**rule, "verbs": ["list", "watch"]}]))
    since = version_of(server)
    server.admin.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"written": "since"}}})
    eventually(lambda: watches.is_unchanged(PODS, since=since, count=7, seconds=6), what="the proof")
    with pytest.raises(Forbidden, match="watch"):
        lists.is_unchanged(PODS, since=since, count=7, seconds=6)
    lists.close()
    watches.close()
