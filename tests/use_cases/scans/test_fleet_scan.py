"""A scan of the whole fleet: one wish, one scan a cluster, an end when the last one ended."""

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from migrations_app import tasks
from migrations_app.errors import Conflict, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import FleetScan, FleetScanPart, Scan
from migrations_app.queries.scans.fleet_scans import fleet_scan, open_fleet_scan
from migrations_app.use_cases.scans import fleet_scan as scan_fleet
from migrations_app.use_cases.scans import queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet():
    later = timezone.now() + timedelta(days=1)
    return [Cluster.objects.create(name=f"c{number}", source="sample", next_due_at=later) for number in range(5)]


def asked():
    found = scan_fleet.request_fleet_scan(by="ada")
    return found.id, list(scan_fleet.begin(found.id))


def end(scans, state="done", **columns):
    Scan.objects.filter(pk__in=scans).update(state=state, **columns)


def test_each_cluster_is_scanned_once(fleet):
    key, scans = asked()
    assert sorted(Scan.objects.values_list("cluster__name", "state", "requested_by")) == [
        (f"c{number}", "queued", "ada") for number in range(5)
    ]
    assert (len(scans), list(scan_fleet.begin(key)), Scan.objects.count()) == (5, [], 5)


def test_the_log_hears_of_it_once(fleet):
    asked()
    assert list(AuditEvent.objects.values_list("verb", "actor")) == [("scan.fleet_requested", "karpdash")]


def test_a_second_wish_gets_the_one_under_way(fleet):
    key, scans = asked()
    again = scan_fleet.request_fleet_scan(by="ben")
    assert (again.id, again.created, open_fleet_scan()) == (key, False, key)
    end(scans)
    assert scan_fleet.request_fleet_scan(by="ben").created


def test_a_scan_under_way_counts_and_is_not_doubled(fleet):
    mine = queue.request_scan(fleet[2].pk).scan_id
    _, scans = asked()
    assert (len(scans), mine in scans, Scan.objects.count(), FleetScanPart.objects.count()) == (4, False, 5, 5)


def test_a_wish_whose_worker_died_goes_on_where_it_was(fleet, monkeypatch):
    monkeypatch.setattr(scan_fleet, "SCANS_PER_BATCH", 2)
    key = scan_fleet.request_fleet_scan(by="ada").id
    first = next(scan_fleet.begin(key))
    assert scan_fleet.fleet_scans_to_enqueue() == (key,)
    rest = list(scan_fleet.begin(key))
    assert (len(rest), first in rest, scan_fleet.fleet_scans_to_enqueue()) == (4, False, ())


def test_it_ends_with_its_last_scan_and_not_before(fleet):
    key, scans = asked()
    end(scans[1:])
    assert (scan_fleet.close_ended(), FleetScan.objects.get().open) == (0, True)
    end(scans[:1], "failed")
    assert (scan_fleet.close_ended(), FleetScan.objects.get().open) == (1, False)
    assert fleet_scan(key, now=timezone.now()).ended_at is not None


def test_a_fleet_of_none_is_over_at_once(db):
    key, scans = asked()
    assert (scans, scan_fleet.close_ended(), fleet_scan(key, now=timezone.now()).total) == ([], 1, 0)


def test_clusters_that_come_later_are_not_part_of_it(fleet):
    key = scan_fleet.request_fleet_scan(by="ada").id
    Cluster.objects.create(name="late", source="sample")
    assert len(list(scan_fleet.begin(key))) == 5


def test_a_cluster_that_is_removed_counts_as_ended(fleet):
    key, _ = asked()
    fleet[0].delete()
    found = fleet_scan(key, now=timezone.now())
    assert (found.total, found.waiting, found.removed, found.ended) == (5, 4, 1, 1)


def test_the_oldest_success_comes_first(fleet):
    now = timezone.now()
    for cluster, days in zip(fleet, (3, 5, 1, 4, 2), strict=True):
        Cluster.objects.filter(pk=cluster.pk).update(last_success_at=now - timedelta(days=days))
    Cluster.objects.filter(name="c4").update(last_success_at=None)
    _, scans = asked()
    names = dict(Scan.objects.values_list("pk", "cluster__name"))
    assert [names[scan] for scan in scans] == ["c4", "c1", "c3", "c0", "c2"]


def test_how_far_it_is(fleet, django_assert_num_queries):
    now = timezone.now()
    key, scans = asked()
    end(scans[:1])
    end(scans[1:2], "failed", error_code="timeout", error_detail="no answer")
    end(scans[2:3], "running", started_at=now - timedelta(minutes=2), progress={"parts_done": 3, "parts_total": 27})
    end(scans[3:4], "running", started_at=now)
    with django_assert_num_queries(4):
        found = fleet_scan(key, now=now)
    assert (found.total, found.done, found.failed, found.running, found.waiting, found.ended) == (5, 1, 1, 2, 1, 2)
    assert [(one.name, one.parts_done, one.parts_total) for one in found.slow] == [(found.slow[0].name, 3, 27)]
    assert (found.codes, found.failures[0].detail) == ((("timeout", 1),), "no answer")


def test_before_it_began_everything_waits(fleet):
    key = scan_fleet.request_fleet_scan(by="ada").id
    found = fleet_scan(key, now=timezone.now())
    assert (found.total, found.waiting, found.ended, found.open) == (5, 5, 0, True)


def test_a_scan_that_is_not_there(fleet):
    with pytest.raises(NotFound):
        fleet_scan(fleet[0].pk, now=timezone.now())
    assert list(scan_fleet.begin(fleet[0].pk)) == []


def test_no_wish_while_the_disk_is_full(fleet, settings):  # R25
    settings.ENV = dataclasses.replace(settings.ENV, free_percent=100, data_dir=Path(__file__).parent)
    with pytest.raises(Conflict) as refused:
        scan_fleet.request_fleet_scan(by="ada")
    assert (refused.value.code, FleetScan.objects.count()) == ("disk_full", 0)


def test_the_sweep_carries_it_on_and_ends_it(fleet, monkeypatch):
    woken = []
    monkeypatch.setattr(tasks, "_send", lambda task, key: woken.append((task.name, key)) or True)
    key = scan_fleet.request_fleet_scan(by="ada").id
    tasks.sweep()
    assert woken == [("begin_fleet_scan", str(key))]
    tasks.begin_fleet_scan(str(key))
    assert [name for name, _ in woken[1:]] == ["scan_cluster"] * 5
    end([scan for _, scan in woken[1:]])
    tasks.sweep()
    assert FleetScan.objects.get().open is False
