"""What is kept of a long list from scan to scan: sealed, bound to its cluster, told by the snapshot that used it."""

import dataclasses
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

import migrations_app
from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.connection import Connection, Server
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.collect.list_cache import CachedPart
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, KeptList, Snapshot
from migrations_app.readiness.report import PartLine
from migrations_app.use_cases.clusters.identity import _begin_anew
from migrations_app.use_cases.scans.identity import AnsweringCluster
from migrations_app.use_cases.scans.list_cache import memory_of, sealed_lists, store_lists
from tests.builders.rows import a_report, a_snapshot
from tests.fakes.evilk8s import AUTHORITY

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 23, 8, tzinfo=UTC)
SINCE = "2026-11-23T07:00:00Z"
PART = CachedPart(key="k", read_at=SINCE, version="7", count=3000, seconds=9.5, body=b'{"items":["canary"]}')
BEHIND = AnsweringCluster("uid-1", "ca-1")


@pytest.fixture(autouse=True)
def use(settings):
    def keys(*pairs):
        settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=pairs)

    keys(("k1", os.urandom(32)))
    return keys


@pytest.fixture
def cluster():
    return Cluster.objects.create(name="c1", source="kubeconfig", server="https://c1.example", sealed=b"sealed-1")


@pytest.fixture
def api():
    connection = Connection(server=Server("127.0.0.1", 1), ca_pem=AUTHORITY.pem)
    made = open_live(connection, reach=OutboundPolicy(allow_loopback=True))
    yield made
    made.close()


def kept(cluster, parts):
    store_lists(cluster.pk, sealed_lists(cluster.pk, parts), now=NOW)


def bound(cluster, api, answering_cluster=BEHIND):
    return memory_of(cluster, api, answering_cluster=answering_cluster, now=NOW).bound


def test_what_was_kept_comes_out_again_and_lies_there_sealed(cluster, api):
    kept(cluster, {"pods": PART})
    assert memory_of(cluster, api, answering_cluster=BEHIND, now=NOW).cached == {"pods": PART}
    assert b"canary" not in bytes(KeptList.objects.get().sealed)
    kept(cluster, {"pods": CachedPart(misses=1)})
    assert memory_of(cluster, api, answering_cluster=BEHIND, now=NOW).cached == {"pods": CachedPart(misses=1)}


def test_another_key_or_the_row_of_another_cluster_does_not_open(cluster, api, use):
    kept(cluster, {"pods": PART})
    other = Cluster.objects.create(name="c2", source="kubeconfig")
    KeptList.objects.create(cluster=other, part="pods", sealed=KeptList.objects.get().sealed, changed_at=NOW)
    assert memory_of(other, api, answering_cluster=BEHIND, now=NOW).cached == {}
    use(("k2", os.urandom(32)))
    assert memory_of(cluster, api, answering_cluster=BEHIND, now=NOW).cached == {}


def test_it_holds_for_one_cluster_one_way_and_one_credential(cluster, api):
    first = bound(cluster, api)
    ways = {
        bound(cluster, api, AnsweringCluster("uid-2", "ca-1")),
        bound(cluster, api, AnsweringCluster("uid-1", "ca-2")),
    }
    for name, value in (("sealed", b"sealed-2"), ("server", "https://c9.example"), ("context", "x"), ("role_arn", "r")):
        changed = Cluster.objects.get(pk=cluster.pk)
        setattr(changed, name, value)
        ways.add(bound(changed, api))
    assert (first == bound(cluster, api), first in ways, len(ways)) == (True, False, 6)


def test_nothing_is_kept_without_a_key_through_an_agent_or_of_a_cluster_that_is_not_known(cluster, api, use):
    assert memory_of(cluster, api, answering_cluster=None, now=NOW) is None
    assert memory_of(cluster, api, answering_cluster=AnsweringCluster("", "ca-1", "forbidden"), now=NOW) is None
    agents = Cluster.objects.create(name="c3", source="agent")
    assert memory_of(agents, api, answering_cluster=BEHIND, now=NOW) is None
    assert memory_of(cluster, object(), answering_cluster=BEHIND, now=NOW) is None
    use()
    assert memory_of(cluster, api, answering_cluster=BEHIND, now=NOW) is None


def test_a_part_that_is_too_long_is_not_kept(cluster, api, monkeypatch):
    monkeypatch.setattr("migrations_app.use_cases.scans.list_cache.MAX_PART_BYTES", 50)
    kept(cluster, {"pods": PART})
    assert memory_of(cluster, api, answering_cluster=BEHIND, now=NOW).cached == {"pods": CachedPart()}


def test_a_cluster_that_was_replaced_begins_without_it(cluster):
    kept(cluster, {"pods": PART})
    _begin_anew(cluster.pk)
    assert not KeptList.objects.exists()


def test_the_snapshot_tells_it_and_the_content_does_not_change_by_it(cluster):
    line = PartLine(name="pods", seen=True, count=3000)
    first = a_snapshot(cluster, a_report(parts=(line,)), at=timezone.now())
    again = a_snapshot(cluster, a_report(parts=(line,)), at=timezone.now(), unchanged={"pods": SINCE})
    assert Content.objects.count() == 1
    told = [[one.unchanged_since for one in Snapshot.objects.get(pk=row.pk).report().parts] for row in (first, again)]
    assert told == [[""], [SINCE]]


def test_the_page_says_since_when(client, django_user_model, cluster):
    client.force_login(django_user_model.objects.create_superuser("ada", password="x" * 20))
    line = PartLine(name="pods", seen=True, count=3000)
    a_snapshot(cluster, a_report(parts=(line,)), at=timezone.now(), unchanged={"pods": SINCE})
    page = client.get(reverse("cluster-parts", args=[cluster.pk])).content.decode()
    assert ("a watch from then on proved" in page, 'datetime="2026-11-23T07:00:00' in page) == (True, True)
    a_snapshot(cluster, a_report(parts=(line,)), at=timezone.now())
    assert "a watch from then on proved" not in client.get(reverse("cluster-parts", args=[cluster.pk])).content.decode()


def test_only_the_scan_of_a_worker_takes_what_was_kept():
    """Whatever plans or changes something reads the cluster as it is."""
    root = Path(migrations_app.__file__).parent
    users = {path for path in root.rglob("*.py") if {"memory_of", "PartMemory"} & set(names_in(path))}
    told = {path.relative_to(root).as_posix() for path in users}
    workers = {"use_cases/scans/list_cache.py", "use_cases/scans/worker.py"}
    assert told == {"collect/collect.py", "collect/list_cache.py"} | workers


def names_in(path):
    return re.findall(r"\w+", path.read_text())
