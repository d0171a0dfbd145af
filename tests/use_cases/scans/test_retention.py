"""What is kept, what goes, and that growth ends: small batches, nothing named is touched (R26)."""

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.models.account import ApiIdempotency
from migrations_app.models.monitoring import ProcessHeartbeat, Tally
from migrations_app.models.notification import Channel, Delivery, PublishedEventMark
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import Content, FindingRow, FleetScan, FleetScanPart, Scan, Snapshot
from migrations_app.use_cases.scans import queue, retention
from migrations_app.use_cases.scans.retention import snapshots_to_delete, sweep_old
from tests.builders.rows import a_cluster, a_report, a_snapshot

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
database = pytest.mark.django_db


def days(number):
    return timedelta(days=number)


# --- which moments are kept


def kept(ages):
    """The ages, in hours, of those of one cluster's snapshots that stay."""
    moments = {uuid.UUID(int=place + 1): NOW - timedelta(hours=age) for place, age in enumerate(sorted(set(ages)))}
    gone = set(snapshots_to_delete(moments.items(), now=NOW))
    return [round((NOW - at).total_seconds() / 3600) for key, at in moments.items() if key not in gone]


def test_all_of_a_week_stay():
    assert kept(range(169)) == list(range(169))


def test_after_a_week_the_last_one_of_each_day_stays():
    assert kept(range(200, 300, 5)) == [200, 205, 230, 255, 280]


def test_after_ninety_days_the_last_one_of_each_week_stays():
    # NOW is a Friday: the last day of a week that is old enough is a Sunday.
    assert [hours // 24 for hours in kept(range(24 * 91, 24 * 130, 24))] == [91, 96, 103, 110, 117, 124]


def test_after_a_year_nothing_stays():
    assert kept([24 * 366, 24 * 400]) == []


ages = st.lists(st.integers(0, 24 * 400), max_size=200, unique=True)


@given(ages)
def test_what_stays_is_enough(hours):
    left = [NOW - timedelta(hours=age) for age in kept(hours)]
    every = [NOW - timedelta(hours=age) for age in hours]
    assert {at for at in every if NOW - at <= days(7)} <= set(left)
    assert {at.date() for at in every if NOW - at <= days(90)} <= {at.date() for at in left}
    assert {week(at) for at in every if NOW - at <= days(365)} <= {week(at) for at in left}


@given(ages)
def test_what_stays_is_no_more_than_that(hours):
    left = [NOW - timedelta(hours=age) for age in kept(hours)]
    daily = [at.date() for at in left if days(7) < NOW - at <= days(90)]
    weekly = [week(at) for at in left if NOW - at > days(90)]
    assert (len(daily), len(weekly)) == (len(set(daily)), len(set(weekly)))
    assert all(NOW - at <= days(365) for at in left)


def week(at):
    return date.isocalendar(at)[:2]


# --- rows


def old_snapshot(cluster, age, *, latest=False):
    return a_snapshot(cluster, a_report(f"{cluster.name}{age}"), at=NOW - timedelta(hours=age), latest=latest)


@pytest.fixture
def settled():
    """Contents are older than what may still be published."""

    def settle():
        Content.objects.update(created_at=NOW - days(2))

    return settle


def sweep(now=NOW):
    return sweep_old(within=60, now=now)


@database
def test_snapshots_go_with_their_contents_and_findings(settled):
    cluster = a_cluster()
    latest, other = old_snapshot(cluster, 1, latest=True), old_snapshot(cluster, 24 * 400)
    settled()
    assert sweep() > 0
    assert list(Snapshot.objects.values_list("pk", flat=True)) == [latest.pk]
    assert list(Content.objects.values_list("pk", flat=True)) == [latest.content_id]
    assert FindingRow.objects.filter(content_id=other.content_id).count() == 0
    assert (FindingRow.objects.count() > 0, sweep()) == (True, 0)


@database
def test_what_a_rollout_names_stays_and_so_does_the_latest(settled):
    cluster = a_cluster()
    named, latest = old_snapshot(cluster, 24 * 500), old_snapshot(cluster, 24 * 400, latest=True)
    rollout = Rollout.objects.create(
        cluster=cluster, cluster_name="c", action="x", title="x", author_name="ada", made_at=NOW, expires_at=NOW,
        snapshot=named,
    )  # fmt: skip
    settled()
    assert (sweep(), set(Snapshot.objects.all())) == (0, {named, latest})
    rollout.refresh_from_db()
    assert rollout.snapshot == named


@database
def test_a_content_that_another_snapshot_shares_stays(settled):
    cluster = a_cluster()
    report = a_report("same")
    a_snapshot(cluster, report, at=NOW - days(400), latest=False)
    a_snapshot(cluster, report, at=NOW)
    settled()
    sweep()
    assert (Snapshot.objects.count(), Content.objects.count()) == (1, 1)


@database
def test_a_content_that_may_be_about_to_be_published_stays():
    Content.objects.create(digest="a" * 64, report=b"", nodes=b"")
    Content.objects.update(created_at=NOW - timedelta(minutes=30))
    assert (sweep(), Content.objects.get().retired_at) == (0, None)


@database
def test_a_content_that_is_needed_again_is_whole_again(settled, monkeypatch):
    """Somebody publishes the same content while its findings are being taken away."""
    monkeypatch.setattr(retention, "BATCH", 3)
    cluster = a_cluster(source="sample", context="beta_037")
    first = scanned(cluster)
    Snapshot.objects.all().delete()
    whole = FindingRow.objects.count()
    settled()
    list(retention._retired(NOW))
    assert retention._delete_some(first.content_id) == 3
    assert FindingRow.objects.count() == whole - 3
    again = scanned(cluster)
    assert (again.content_id, FindingRow.objects.count(), Content.objects.get().retired_at) == (
        first.content_id,
        whole,
        None,
    )
    assert retention._delete_some(first.content_id) is None


def scanned(cluster):
    from migrations_app.use_cases.scans.worker import scan_claimed

    scan_claimed(queue.claim(queue.request_scan(cluster.pk).scan_id))
    cluster.refresh_from_db()
    return cluster.latest


@database
def test_a_retired_content_that_has_a_snapshot_after_all_stays(settled):
    snapshot = old_snapshot(a_cluster(), 1, latest=True)
    findings = FindingRow.objects.count()
    Content.objects.update(retired_at=NOW)
    assert sweep() == 0
    assert (snapshot.content.findings.count(), Content.objects.get().retired_at) == (findings, None)


@database
def test_no_transaction_takes_more_than_a_batch_away(settled, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 5)
    taken = []
    delete = models.QuerySet.delete

    def counted(rows):
        done = delete(rows)
        taken.append(done[0])
        return done

    monkeypatch.setattr(models.QuerySet, "delete", counted)
    cluster = a_cluster()
    for age in range(12):
        old_snapshot(cluster, 24 * 400 + age)
    Outbox.objects.bulk_create([Outbox(topic="t", done_at=NOW - days(8)) for _ in range(12)])
    settled()
    sweep()
    assert (max(taken), Snapshot.objects.count(), Outbox.objects.count(), FindingRow.objects.count()) == (5, 0, 0, 0)


@database
def test_a_sweep_ends_in_time_and_the_next_goes_on(settled, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 1)
    cluster = a_cluster()
    for age in range(5):
        old_snapshot(cluster, 24 * 400 + age)
    assert sweep_old(within=-1, now=NOW) == 1
    assert Snapshot.objects.count() == 4


@database
def test_rows_that_are_kept_for_a_while():
    cluster, ada = a_cluster(), User.objects.create_user("ada")
    for state, age in (("done", 6), ("done", 8), ("failed", 29), ("failed", 31)):
        Scan.objects.create(cluster=cluster, state=state, finished_at=NOW - days(age))
    active = Scan.objects.create(cluster=cluster, state="queued")
    Outbox.objects.bulk_create([Outbox(topic=f"{age}", done_at=age and NOW - days(age)) for age in (None, 6, 8)])
    for hours in (23, 25):
        ApiIdempotency.objects.create(owner=ada, key=f"{hours}", digest="d", created_at=NOW - timedelta(hours=hours))
    for age in (-1, 1):
        Session.objects.create(session_key=f"s{age}", session_data="", expire_date=NOW - timedelta(hours=age))
    ProcessHeartbeat.objects.bulk_create(
        [ProcessHeartbeat(name=f"{hours}", seen_at=NOW - timedelta(hours=hours)) for hours in (1, 25)]
    )
    channel = Channel.objects.create(name="ops", kind="slack", place="x", made_by_name="ada", made_at=NOW)
    for state, age in (("sent", 29), ("sent", 31), ("failed", 31), ("waiting", 31)):
        told = {"event_id": f"{state} {age}", "topic": "t", "body": {}, "made_at": NOW - days(age), "next_at": NOW}
        Delivery.objects.create(channel=channel, state=state, **told)
    for age in (399, 401):
        PublishedEventMark.objects.create(mark=f"{age}", at=NOW - days(age))
    sweep()
    assert sorted(Delivery.objects.values_list("event_id", flat=True)) == ["sent 29", "waiting 31"]
    assert list(PublishedEventMark.objects.values_list("mark", flat=True)) == ["399"]
    left = sorted((NOW - one.finished_at).days for one in Scan.objects.exclude(pk=active.pk))
    assert (left, Scan.objects.filter(pk=active.pk).exists()) == ([6, 29], True)
    assert sorted(Outbox.objects.values_list("topic", flat=True)) == ["6", "None"]
    assert list(ApiIdempotency.objects.values_list("key", flat=True)) == ["23"]
    assert list(Session.objects.values_list("session_key", flat=True)) == ["s-1"]
    assert list(ProcessHeartbeat.objects.values_list("name", flat=True)) == ["1"]


@database
def test_scans_of_the_fleet_go_with_their_parts_and_one_under_way_stays():
    cluster = a_cluster()
    scan = Scan.objects.create(cluster=cluster)
    for number, is_open in ((1, False), (2, True)):
        row = FleetScan.objects.create(requested_by=f"{number}", open=is_open)
        FleetScanPart.objects.create(fleet_scan=row, cluster=cluster, scan=scan)
    FleetScan.objects.update(created_at=NOW - days(31))
    sweep()
    assert (list(FleetScan.objects.values_list("requested_by", flat=True)), FleetScanPart.objects.count()) == (["2"], 1)


@database
def test_counts_of_clusters_that_are_gone():
    cluster = a_cluster()
    rows = [(str(cluster.pk), "error"), (str(uuid.uuid4()), "error"), ("", "duration")]
    Tally.objects.bulk_create([Tally(subject=subject, what=what, count=1) for subject, what in rows])
    sweep()
    assert set(Tally.objects.values_list("subject", "what")) == {rows[0], rows[2]}


@database
def test_a_simulated_month_and_more_ends_in_a_plateau():
    """Scans every six hours for half a year: what is kept stops growing after ninety days but for one a week."""
    clusters = [a_cluster(f"c{number}") for number in range(3)]
    contents = [Content.objects.create(digest=f"{number}" * 64, report=b"r", nodes=b"n") for number in range(3)]
    sizes = {}
    for day in range(1, 181):
        now = NOW + days(day)
        columns = {"complete": True, "stage": "beta", "parts": b""}
        Snapshot.objects.bulk_create(
            Snapshot(cluster=cluster, content=content, scanned_at=now - timedelta(hours=hours), **columns)
            for cluster, content in zip(clusters, contents, strict=True)
            for hours in (1, 7, 13, 19)
        )
        Scan.objects.bulk_create(
            Scan(cluster=cluster, state="done", finished_at=now - timedelta(hours=hours))
            for cluster in clusters
            for hours in (1, 7, 13, 19)
        )
        if day % 4:
            continue
        sweep(now)
        sizes[day] = (Snapshot.objects.count() / 3, Scan.objects.count() / 3)
    most = 7 * 4 + 84
    assert [sizes[day][0] <= most + (day - 90) / 7 + 3 for day in (100, 140, 180)] == [True] * 3
    assert sizes[180][0] - sizes[140][0] <= 40 / 7 + 1
    assert {sizes[day][1] for day in (20, 60, 180)} == {7 * 4}


@database
def test_the_database_is_small_again_for_those_who_write():
    """Deleted rows leave room that new ones take: SQLite's file does not grow while as much goes as comes."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's own upkeep does this")

    def pages():
        with connection.cursor() as cursor:
            return cursor.execute("PRAGMA page_count").fetchone()[0]

    for _ in range(2):
        Outbox.objects.bulk_create(
            [Outbox(topic="t", body={"x": "y" * 500}, done_at=NOW - days(8)) for _ in range(2000)]
        )
        sweep()
    first = pages()
    for _ in range(5):
        Outbox.objects.bulk_create(
            [Outbox(topic="t", body={"x": "y" * 500}, done_at=NOW - days(8)) for _ in range(2000)]
        )
        sweep()
    assert pages() <= first + 10


# --- what a clock that was ahead left behind


@database
@pytest.mark.parametrize(("minutes", "left"), [(14, 1), (16, 0)])
def test_sessions_of_a_clock_that_was_ahead_go(settings, minutes, left):  # R18
    ends = timezone.now() + timedelta(minutes=minutes, seconds=settings.SESSION_COOKIE_AGE)
    Session.objects.create(session_key="a" * 40, session_data="", expire_date=ends)
    sweep_old(within=60.0, now=timezone.now() - timedelta(days=3))  # a worker's clock alone decides nothing
    sweep_old(within=60.0)
    assert Session.objects.count() == left
