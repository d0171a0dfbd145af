"""The time of a scan: a clock of somebody else keeps no result fresh."""

import dataclasses
import json
from datetime import timedelta
from email.utils import format_datetime

import pytest
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.feeds.badges import facts_of_fleet
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page
from migrations_app.queries.fleet.stale_results import stale_ready
from migrations_app.samples import fleet
from migrations_app.use_cases.clusters.registration import Details, register_bundle, register_kubeconfig
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.builders.rows import a_cluster, a_snapshot
from tests.clients.one_cluster import OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer, Wire
from tests.use_cases.clusters.eks import KEYS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sealing(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)


def scanned(cluster_id):
    """The cluster after a scan."""
    scan_claimed(queue.claim(queue.request_scan(cluster_id).scan_id))
    row = Cluster.objects.get(pk=cluster_id)
    assert row.latest is not None, row.last_error_code
    return row


@pytest.mark.parametrize("days", [-400, -1, 1, 4000])
def test_a_server_with_another_clock_is_out_of_date_like_any_other(days):  # R18
    date = format_datetime(timezone.now() + timedelta(days=days), usegmt=True)

    class Elsewhen(Wire):
        def answer(self, body=b"{}", *, status="200 OK", **headers):
            super().answer(body, status=status, **headers, Date=date)

    there = OneCluster()
    with EvilServer(lambda request, wire: there(request, Elsewhen(wire.socket, wire.stop))) as server:
        row = scanned(register_kubeconfig(kubeconfig_for(server).encode(), Details(name="shop", by="ada")))
    assert abs(timezone.now() - row.latest.scanned_at) < timedelta(minutes=1)
    assert row.latest.report().scanned_at == row.latest.scanned_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    ages = [cluster_head(row.pk, now=timezone.now() + timedelta(days=later)).stale for later in (0, 2)]
    assert ages == [False, True]


def a_bundle_with_a_node(created: str) -> bytes:
    objects = json.loads(dict(fleet.files(fleet.find("beta_037")))["objects.json"])
    metadata = {"name": "a", "creationTimestamp": created}
    return json.dumps(
        {**objects, "items": [*objects["items"], {"apiVersion": "v1", "kind": "Node", "metadata": metadata}]}
    ).encode()


def test_a_bundle_is_as_old_as_what_it_holds():
    made = timezone.now() - timedelta(days=1)
    row = scanned(register_bundle(a_bundle_with_a_node(f"{made:%Y-%m-%dT%H:%M:%SZ}"), Details(name="shop", by="ada")))
    assert abs(made - row.latest.scanned_at) < timedelta(minutes=1)


@pytest.mark.parametrize("created", ["2999-01-01T00:00:00Z", "2999-01-01T00:00:00+02:00"])
def test_a_bundle_with_a_time_to_come_is_as_old_as_its_registration(created):
    """Every scan of it would be of today otherwise: it would never be out of date."""
    bundle = register_bundle(a_bundle_with_a_node(created), Details(name="shop", by="ada"))
    long_ago = timezone.now() - timedelta(days=30)
    Cluster.objects.filter(pk=bundle).update(created_at=long_ago)
    row = scanned(bundle)
    assert row.latest.scanned_at <= long_ago
    assert cluster_head(row.pk, now=timezone.now()).stale


@pytest.mark.parametrize(("minutes", "stale"), [(5, False), (30, True), (60 * 24 * 400, True)])
def test_a_result_of_a_time_to_come_is_out_of_date_everywhere(minutes, stale):  # R18
    now = timezone.now()
    row = a_cluster("shop")
    a_snapshot(row, at=now + timedelta(minutes=minutes), verdict="ready")
    (badge,) = facts_of_fleet(now)
    (line,) = fleet_page(FleetFilters(), now=now).rows
    told = (cluster_head(row.pk, now=now).stale, badge.stale, line.stale, stale_ready(FleetFilters(), now=now))
    assert told == (stale, stale, stale, int(stale))
