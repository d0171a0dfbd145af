"""Scans as rows: one at a time, claimed by compare-and-set, ended after three lost workers (R01, R07, R10, R36)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.scans import queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return Cluster.objects.create(name="c1", source="sample")


def expire(scan_id):
    Scan.objects.filter(pk=scan_id).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_second_request_gets_the_scan_under_way(cluster):
    first = queue.request_scan(cluster.pk, by="ada")
    second = queue.request_scan(cluster.pk, by="ben")
    assert (first.created, second.created, second.scan_id) == (True, False, first.scan_id)


def test_a_cluster_that_is_not_there_is_not_scanned(cluster):
    gone = cluster.pk
    cluster.delete()
    with pytest.raises(NotFound):
        queue.request_scan(gone)


def test_one_of_two_claims_wins(cluster):  # R07
    scan = queue.request_scan(cluster.pk).scan_id
    assert queue.claim(scan).fence == 1
    assert queue.claim(scan) is None


def test_a_lost_lease_is_taken_over_and_the_old_holder_is_fenced(cluster):  # R03
    scan = queue.request_scan(cluster.pk).scan_id
    old = queue.claim(scan)
    expire(scan)
    new = queue.claim(scan)
    assert new.fence == 2
    assert queue.renew(old) is False
    assert queue.renew(new, progress={"parts_done": 3}) is True
    assert Scan.objects.get().progress == {"parts_done": 3}


def test_three_lost_workers_end_the_scan(cluster):  # R36
    scan = queue.request_scan(cluster.pk).scan_id
    for _ in range(queue.MAX_ATTEMPTS):
        assert queue.claim(scan)
        expire(scan)
    assert queue.claim(scan) is None
    assert queue.scans_to_enqueue() == ()
    row = Scan.objects.get()
    assert (row.state, row.error_code) == ("failed", "worker_lost")
    cluster.refresh_from_db()
    assert (cluster.failures, cluster.last_error_code) == (1, "worker_lost")


def test_a_scan_that_lost_its_message_is_woken(cluster):  # R05
    scan = queue.request_scan(cluster.pk).scan_id
    assert queue.scans_to_enqueue() == ()
    Scan.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    assert queue.scans_to_enqueue() == (scan,)


def test_a_due_time_is_claimed_once_however_many_beats_tick(cluster):  # R10
    Cluster.objects.create(name="later", source="sample", next_due_at=timezone.now() + timedelta(hours=1))
    assert len(queue.due_scans()) == 1
    assert queue.due_scans() == ()
    assert Scan.objects.count() == 1


def test_a_first_scan_by_hand_is_not_followed_by_another(cluster):  # R10
    held = queue.claim(queue.request_scan(cluster.pk, by="ada").scan_id)
    queue.crashed(held, "ZeroDivisionError")
    assert (queue.due_scans(), Scan.objects.count()) == ((), 1)


def test_an_hour_of_downtime_makes_one_scan(cluster):  # R10
    Cluster.objects.update(next_due_at=timezone.now() - timedelta(days=1))
    assert len(queue.due_scans()) == 1
    cluster.refresh_from_db()
    assert cluster.next_due_at > timezone.now()


def test_a_crash_ends_the_scan_with_a_code(cluster):
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    queue.crashed(held, "ZeroDivisionError")
    row = Scan.objects.get()
    assert (row.state, row.error_code) == ("failed", "scan_crashed")
    assert queue.request_scan(cluster.pk).created


def test_a_scan_that_is_given_back_counts_no_attempt(cluster):  # R28
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    assert queue.requeue(held) is True
    row = Scan.objects.get()
    assert (row.state, row.attempts, row.lease_until, row.started_at) == ("queued", 0, None, None)
    assert queue.claim(row.pk).fence == 2
    assert queue.requeue(held) is False


def test_a_sweep_wakes_the_oldest_first_and_not_too_many(monkeypatch):
    monkeypatch.setattr(queue, "MAX_ENQUEUED", 2)
    now = timezone.now()
    for age in (3, 5, 4):
        row = Cluster.objects.create(name=f"c{age}", source="sample")
        scan = queue.request_scan(row.pk).scan_id
        Scan.objects.filter(pk=scan).update(created_at=now - timedelta(hours=age))
    woken = [Scan.objects.get(pk=scan).cluster.name for scan in queue.scans_to_enqueue()]
    assert woken == ["c5", "c4"]


AHEAD = timedelta(days=3)


def test_a_clock_that_went_back_keeps_no_cluster_waiting(cluster, settings):  # R10
    settings.ENV = replace(settings.ENV, scan_interval=3600)
    now = timezone.now()
    Cluster.objects.filter(pk=cluster.pk).update(next_due_at=now + timedelta(minutes=80))
    assert queue.due_scans() == ()
    Cluster.objects.filter(pk=cluster.pk).update(next_due_at=now + AHEAD)
    (scan,) = queue.due_scans()
    cluster.refresh_from_db()
    assert cluster.next_due_at < now + timedelta(hours=2)
    assert Scan.objects.get(pk=scan).due_at < now + timedelta(minutes=1)


def test_a_cluster_with_a_longer_interval_of_its_own_waits_for_it(cluster, settings):  # R10
    settings.ENV = replace(settings.ENV, scan_interval=3600)
    Cluster.objects.create(
        name="weekly", source="sample", interval_seconds=7 * 86_400, next_due_at=timezone.now() + AHEAD
    )
    Cluster.objects.filter(pk=cluster.pk).update(next_due_at=timezone.now() + timedelta(minutes=10))
    assert queue.due_scans() == ()


def test_a_scan_from_a_clock_that_was_ahead_is_woken(cluster):  # R05
    scan = queue.request_scan(cluster.pk).scan_id
    assert queue.scans_to_enqueue() == ()
    Scan.objects.filter(pk=scan).update(created_at=timezone.now() + AHEAD)
    assert queue.scans_to_enqueue() == (scan,)
