"""Probes before scans, queues apart, due times spread, a breaker for what is down, and room on the disk (R10, R11, R20,
R25)."""

import base64
import dataclasses
import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import time_machine
import yaml
from django.db import InterfaceError, OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from karpdash.celery import app
from karpdash.processes import queues
from karpdash.processes.queues import QUEUES, WORKERS, worker_command
from migrations_app import tasks
from migrations_app.errors import Conflict
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.scan import Scan
from migrations_app.queries.fleet.scan_interval import interval_of, next_slot, share, with_intervals
from migrations_app.use_cases.clusters import registration
from migrations_app.use_cases.runtime import disk_space
from migrations_app.use_cases.scans import probe, store
from migrations_app.use_cases.scans import queue as schedule
from tests.fakes.evilk8s import AUTHORITY, EvilServer
from tests.servers.waiting import AT_ONCE

NOON = datetime(2026, 3, 21, 12, 0, tzinfo=UTC)
database = pytest.mark.django_db


@pytest.fixture(autouse=True)
def house(settings):
    settings.ENV = dataclasses.replace(
        settings.ENV, encryption_keys=(("k1", b"0" * 32),), allow_loopback=True, scan_interval=600
    )


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(tasks, "_send", lambda task, key: found.append((task.name, uuid.UUID(key))) or True)
    return found


def kubeconfig(url):
    ca = base64.b64encode(AUTHORITY.pem.encode()).decode()
    whole = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
    whole["clusters"] = [{"name": "c", "cluster": {"server": url, "certificate-authority-data": ca}}]
    whole["users"] = [{"name": "u", "user": {"token": "t"}}]
    whole["contexts"] = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    return yaml.safe_dump(whole).encode()


def registered(url, name="c"):
    return registration.register_kubeconfig(kubeconfig(url), registration.Details(name=name))


def answers(_request, wire):
    wire.answer(b'{"gitVersion": "v1.27.1"}')


# --- due times


@given(st.uuids(), st.integers(10, 604_800), st.integers(1_577_836_800_000, 4_102_444_800_000))
def test_a_slot_is_half_an_interval_away_at_least_and_always_at_the_same_second(key, interval, moment):
    now = datetime.fromtimestamp(moment / 1000, UTC)
    slot = next_slot(key, interval, now=now)
    assert timedelta(seconds=interval / 2 - 0.01) <= slot - now <= timedelta(seconds=interval * 1.5 + 0.01)
    again = next_slot(key, interval, now=slot)
    assert abs((again - slot).total_seconds() - interval) < 0.01


def test_a_fleet_is_spread_over_the_interval():
    keys = [uuid.UUID(int=number) for number in range(1000)]
    tenths = Counter(int(share(key) * 10) for key in keys)
    assert (sorted(tenths), min(tenths.values()) > 60, max(tenths.values()) < 140) == (list(range(10)), True, True)


@database
@pytest.mark.parametrize(
    ("own", "group", "default", "seconds"),
    [(60, 90, 600, 60), (None, 90, 600, 90), (None, None, 600, 600), (None, None, 0, 0)],
)
def test_whose_interval_counts(settings, django_assert_num_queries, own, group, default, seconds):
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=default)
    row = Cluster.objects.create(name="a", source="sample", interval_seconds=own)
    for number, seconds_of in enumerate((group, group and group + 60, None)):
        ClusterGroup.objects.create(name=f"g{number}", interval_seconds=seconds_of).clusters.add(row)
    annotated = with_intervals(Cluster.objects.all()).get()
    with django_assert_num_queries(0):
        assert interval_of(annotated) == seconds
    assert interval_of(row) == seconds


@database
def test_three_beats_and_a_hundred_ticks_make_one_scan_an_interval():  # R10
    for number in range(6):
        Cluster.objects.create(name=f"c{number}", source="sample")
    for tick in range(100):
        with time_machine.travel(NOON + timedelta(seconds=15 * tick), tick=False):
            asked = [scan for _beat in range(3) for scan in schedule.due_scans()]
            assert len(asked) == len(set(asked))
            Scan.objects.update(state="done")
    for cluster in Cluster.objects.all():
        due = list(cluster.scans.order_by("due_at").values_list("due_at", flat=True))
        apart = [round((after - before).total_seconds()) for before, after in pairwise(due)]
        # At once, then by the cluster's own clock: two or three times in 25 minutes.
        assert (300 <= apart[0] <= 900, set(apart[1:]) <= {600}, len(due) in (3, 4) or apart[0] > 880) == (True,) * 3


@database
def test_an_hour_without_a_beat_is_no_storm():  # R10
    for number in range(50):
        Cluster.objects.create(name=f"c{number}", source="sample", next_due_at=NOON)
    with time_machine.travel(NOON + timedelta(hours=1), tick=False):
        assert (len(schedule.due_scans()), schedule.due_scans()) == (50, ())
        due = list(Cluster.objects.values_list("next_due_at", flat=True))
    first = NOON + timedelta(hours=1)
    assert all(timedelta(seconds=299) < moment - first < timedelta(seconds=901) for moment in due)
    assert len(set(due)) == 50


@database
def test_the_oldest_success_is_due_first():  # R20
    for number, hours in enumerate((2, 9, 4)):
        Cluster.objects.create(
            name=f"c{number}", source="sample", last_success_at=timezone.now() - timedelta(hours=hours)
        )
    Cluster.objects.create(name="new", source="sample")
    names = [Scan.objects.get(pk=scan).cluster.name for scan in schedule.due_scans()]
    assert names == ["new", "c1", "c2", "c0"]


@database
def test_a_cluster_of_its_own_interval_is_scanned_where_others_wait_to_be_asked(settings):
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=0)
    Cluster.objects.create(name="asked", source="sample")
    Cluster.objects.create(name="own", source="sample", interval_seconds=120)
    assert [Scan.objects.get(pk=scan).cluster.name for scan in schedule.due_scans()] == ["own"]


@database
def test_a_scan_knows_when_it_was_due():
    cluster = Cluster.objects.create(name="c", source="sample", next_due_at=NOON)
    schedule.due_scans()
    by_hand = Cluster.objects.create(name="d", source="sample")
    schedule.request_scan(by_hand.pk)
    assert (cluster.scans.get().due_at, by_hand.scans.get().due_at) == (NOON, None)


# --- probes and queues


@database
@pytest.mark.parametrize(
    ("source", "task"),
    [("sample", "scan_cluster"), ("bundle", "scan_cluster"), ("kubeconfig", "probe_cluster"), ("eks", "probe_cluster")],
)
def test_only_what_is_reached_over_a_network_is_probed(sent, source, task):
    cluster = Cluster.objects.create(name="c", source=source)
    scan = schedule.request_scan(cluster.pk).scan_id
    tasks.enqueue_scan(scan)
    assert sent == [(task, scan)]


@database
def test_a_cluster_that_answers_goes_on_to_its_scan(sent):
    with EvilServer(answers) as server:
        scan = schedule.request_scan(registered(server.url)).scan_id
        tasks.probe_cluster(str(scan))
        tasks.probe_cluster(str(scan))
    row = Scan.objects.get(pk=scan)
    assert (row.state, row.attempts, row.probed_at is None, row.started_at) == ("queued", 0, False, None)
    assert (sent, len(server.requests)) == ([("scan_cluster", scan)], 1)
    tasks.enqueue_scan(scan)
    assert sent[1] == ("scan_cluster", scan)


@database
def test_a_cluster_that_hangs_costs_five_seconds_and_no_scan(sent, settings):  # R11, R20
    assert (settings.ENV.probe_seconds, probe.probe_limits().scan_seconds) == (5, 5.0)
    settings.ENV = dataclasses.replace(settings.ENV, probe_seconds=0.5)
    with EvilServer(lambda _request, wire: wire.hang()) as server:
        scan = schedule.request_scan(registered(server.url)).scan_id
        began = time.monotonic()
        tasks.probe_cluster(str(scan))
        took = time.monotonic() - began
    row = Scan.objects.select_related("cluster").get(pk=scan)
    assert (row.state, row.error_code, row.cluster.failures, sent, took < AT_ONCE) == ("failed", "timeout", 1, [], True)


@database
def test_a_probe_whose_worker_died_is_probed_again():
    cluster = Cluster.objects.create(name="c", source="kubeconfig")
    scan = schedule.request_scan(cluster.pk).scan_id
    lost = schedule.claim_probe(scan)
    assert schedule.claim_probe(scan) is None
    Scan.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    held = schedule.claim_probe(scan)
    assert (held.fence, schedule.pass_to_scan_queue(lost), schedule.pass_to_scan_queue(held)) == (2, False, True)
    assert (schedule.claim_probe(scan), schedule.claim(scan).fence) == (None, 3)


@database
def test_a_crash_in_a_probe_ends_the_scan_with_a_code(sent, monkeypatch):
    monkeypatch.setattr(tasks, "probe_claimed", lambda _claim: 1 / 0)
    cluster = Cluster.objects.create(name="c", source="kubeconfig")
    scan = schedule.request_scan(cluster.pk).scan_id
    tasks.probe_cluster(str(scan))
    assert (Scan.objects.get().error_code, sent) == ("scan_crashed", [])


@database
@pytest.mark.parametrize("lost", [OperationalError, InterfaceError])
def test_a_database_that_went_away_costs_an_attempt_and_not_the_scan(monkeypatch, lost):
    cluster = Cluster.objects.create(name="c", source="sample")
    scan = schedule.request_scan(cluster.pk).scan_id

    def gone(_claim):
        raise lost("terminating connection")

    monkeypatch.setattr(tasks, "scan_claimed", gone)
    for attempt in range(1, schedule.MAX_ATTEMPTS + 1):
        tasks.scan_cluster(str(scan))
        row = Scan.objects.get()
        assert (row.state, row.attempts, row.error_code) == ("running", attempt, "")
        Scan.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    schedule.scans_to_enqueue()
    assert (Scan.objects.get().state, Scan.objects.get().error_code) == ("failed", "worker_lost")


def test_a_message_goes_to_one_lane():
    ways = [(queue.name, queue.exchange.name, queue.routing_key) for queue in app.conf.task_queues]
    assert ways == [(name, name, name) for name in QUEUES]


def lane_of(task):
    return app.amqp.router.route({}, task)["queue"].name


def test_every_task_has_a_lane_that_somebody_serves(settings):
    words = [worker_command(queue, settings.ENV) for queue in WORKERS]
    assert {queue for one in words for queue in one[one.index("-Q") + 1].split(",")} == set(QUEUES)
    assert {lane_of(name) for name in app.tasks if not name.startswith("celery.")} <= set(QUEUES)
    assert [lane_of(name) for name in ("probe_cluster", "scan_cluster", "advance_rollout", "sweep")] == list(QUEUES)
    # A receiver that hangs holds no rollout up.
    assert [lane_of(name) for name in ("deliver", "notify")] == ["probe", "upkeep"]


# --- the breaker


@database
@pytest.mark.parametrize("interval", [60, 3600])
def test_pauses_grow_from_the_third_failure_on_whatever_the_interval(settings, interval):  # R11, R20
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=interval)
    cluster = Cluster.objects.create(name="c", source="sample")
    pauses = []
    with time_machine.travel(NOON, tick=False):
        for _ in range(9):
            Cluster.objects.update(next_due_at=NOON + timedelta(seconds=interval))
            held = schedule.claim(schedule.request_scan(cluster.pk).scan_id)
            store.fail(held.scan_id, fence=held.fence, code="timeout", detail="")
            cluster.refresh_from_db()
            pauses.append((cluster.next_due_at - NOON).total_seconds() / 60 / (1 + share(cluster.pk) / 10))
    soon = [min(one, interval / 60) for one in (1, 2)]
    assert pauses[2:] == pytest.approx([4, 8, 16, 32, 60, 60, 60])
    assert [pause <= most * 1.01 for pause, most in zip(pauses, soon, strict=False)] == [True, True]


@database
def test_a_success_closes_the_breaker():
    Cluster.objects.create(name="c", source="sample", context="beta_037", failures=7, failing_since=NOON)
    cluster = Cluster.objects.get()
    tasks.scan_cluster(str(schedule.request_scan(cluster.pk).scan_id))
    cluster.refresh_from_db()
    assert (cluster.failures, cluster.failing_since, cluster.latest is None) == (0, None, False)


# --- room on the disk


@pytest.fixture
def full(settings, tmp_path):
    settings.ENV = dataclasses.replace(settings.ENV, data_dir=tmp_path, free_mib=10**9)


@database
def test_nothing_is_scanned_while_the_disk_is_full_and_everything_after_that(full, settings, sent):  # R25
    cluster = Cluster.objects.create(name="c", source="sample")
    with pytest.raises(Conflict) as refused:
        schedule.request_scan(cluster.pk, by="ada")
    assert (refused.value.code, schedule.due_scans()) == ("disk_full", ())
    queued = schedule.enqueue(cluster, by="").scan_id
    Scan.objects.update(created_at=NOON)
    tasks.scan_cluster(str(queued))
    tasks.sweep()
    assert (Scan.objects.get().state, Scan.objects.get().attempts, sent) == ("queued", 0, [])
    settings.ENV = dataclasses.replace(settings.ENV, free_mib=0, free_percent=0)
    tasks.sweep()
    assert sent == [("scan_cluster", queued)]


@pytest.mark.parametrize(
    ("free", "total", "full"), [(2048, 10_000, False), (900, 1000, True), (1100, 20_000, True), (2000, 20_000, False)]
)
def test_a_tenth_or_a_gibibyte_is_too_little(settings, tmp_path, monkeypatch, free, total, full):
    settings.ENV = dataclasses.replace(settings.ENV, data_dir=tmp_path, free_percent=10, free_mib=1024)
    disk = type("Disk", (), {"free": free * disk_space.MIB, "total": total * disk_space.MIB})()
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda _place: disk)
    said = disk_space.why_full()
    assert (bool(said), str(tmp_path) in said) == (full, False)


LOADED = """
import sys
from karpdash.celery import app
from karpdash.processes import queues
app.loader.import_default_modules()
print("migrations_app.tasks" in sys.modules)
print([name for name in sys.modules if name.startswith(("migrations_app.web.", "migrations_app.api."))])
"""


def test_a_worker_loads_no_page(monkeypatch):
    """Django's own checks of addresses load every view and serializer; the web process runs them."""
    given = {}
    monkeypatch.setenv("CELERY_SKIP_CHECKS", "")
    monkeypatch.setattr(queues, "_refuse_unsafe", lambda: None)
    monkeypatch.setattr(queues.os, "execv", lambda *_words: given.update(os.environ))
    queues.run(["scan"])
    done = subprocess.run([sys.executable, "-c", LOADED], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["True", "[]"]
    done = subprocess.run([sys.executable, "-c", LOADED], env=given | {"CELERY_SKIP_CHECKS": ""}, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert "migrations_app.web.urls" in done.stdout.splitlines()[-1]
