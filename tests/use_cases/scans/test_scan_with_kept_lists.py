"""A worker's scan takes the pods that it kept where a watch proves them, and is the same scan where none may."""

import dataclasses
import json

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.scans import queue, worker
from migrations_app.use_cases.scans.list_cache import memory_of
from tests.clients.one_cluster import OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters.eks import KEYS

pytestmark = pytest.mark.django_db
PODS = "/api/v1/pods"


class ListedAndWatched(OneCluster):
    """Holds three pods, and tells every change since the version 100 to a watch."""

    def __init__(self):
        super().__init__()
        self.may = {"list", "watch"}
        self.version, self.event = 100, "BOOKMARK"
        self.pods = [{"metadata": {"name": f"p-{number}", "namespace": "shop"}} for number in range(3)]

    def __call__(self, request, wire):
        verb = "watch" if "watch" in request.query else "list"
        if request.path != PODS or verb not in self.may:
            super().__call__(request, wire)
        elif verb == "watch":
            wire.begin()
            wire.chunk(self.told(type=self.event, object={"metadata": {"resourceVersion": str(self.version)}}) + b"\n")
            wire.end()
        else:
            short = request.query.get("limit") == "1"
            more = {"continue": "c", "remainingItemCount": len(self.pods) - 1} if short else {}
            metadata = {"resourceVersion": str(self.version), **more}
            wire.answer(self.told(kind="PodList", metadata=metadata, items=self.pods[:1] if short else self.pods))

    def told(self, **said):
        return json.dumps(said).encode()

    def written_elsewhere(self):
        self.version += 1

    def changed(self):
        self.version, self.event = self.version + 1, "MODIFIED"
        self.pods[0]["spec"] = "cannot be read"


@pytest.fixture
def there():
    return ListedAndWatched()


@pytest.fixture
def server(settings, there, monkeypatch):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    short = lambda *of, **more: dataclasses.replace(memory_of(*of, **more), least=1)  # noqa: E731 - one line says it
    monkeypatch.setattr(worker, "memory_of", short)
    with EvilServer(there) as found:
        yield found


@pytest.fixture
def shop(server):
    return Cluster.objects.get(pk=register_kubeconfig(kubeconfig_for(server).encode(), Details(name="shop", by="ada")))


def snapshot(cluster):
    asked = queue.request_scan(cluster.pk).scan_id
    worker.scan_claimed(queue.claim(asked))
    return Scan.objects.select_related("snapshot__content").get(pk=asked).snapshot


def line(found):
    return next(part for part in found.report().parts if part.name == "pods")


def asked(server, *, watch=False):
    """How often the pods were watched, or listed whole."""
    mine = [one.query for one in server.requests if one.path == PODS]
    return len([one for one in mine if ("watch" in one) == watch and (watch or one.get("limit") == "500")])


def test_the_second_scan_takes_what_the_first_one_kept(server, shop, there):
    first = snapshot(shop)
    assert (first.unchanged, asked(server)) == (None, 1)
    there.written_elsewhere()
    again = snapshot(shop)
    assert (list(again.unchanged), asked(server), asked(server, watch=True)) == (["pods"], 1, 1)
    assert (again.content_id, line(again).count) == (first.content_id, 3)


def test_no_watch_is_opened_where_nothing_at_all_was_written(server, shop):
    first, again = snapshot(shop), snapshot(shop)
    assert (list(again.unchanged), asked(server), asked(server, watch=True)) == (["pods"], 1, 0)
    assert (again.content_id, line(again).count) == (first.content_id, 3)


def test_a_change_is_read(server, shop, there):
    assert line(snapshot(shop)).quarantined == 0
    there.changed()
    again = snapshot(shop)
    assert (again.unchanged, asked(server), asked(server, watch=True)) == (None, 2, 1)
    assert line(again).quarantined == 1


def test_a_role_without_watch_gives_the_same_scan_and_is_hardly_asked_again(server, shop, there):
    there.may.remove("watch")
    found = []
    for _ in range(5):
        there.written_elsewhere()
        found.append(snapshot(shop))
    assert {(one.unchanged, one.content_id) for one in found} == {(None, found[0].content_id)}
    assert line(found[-1]).seen
    assert (asked(server), asked(server, watch=True)) == (5, 2)


def test_pods_that_may_no_longer_be_listed_are_not_seen(server, shop, there):
    snapshot(shop)
    there.may.remove("list")
    again = snapshot(shop)
    assert (line(again).seen, line(again).why, again.unchanged) == (False, "forbidden", None)
