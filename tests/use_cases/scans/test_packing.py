"""Contents of history are packed, a little at a time, and give what they gave; what is newest is left alone (R26)."""

import logging
from datetime import timedelta
from functools import cache

import pytest
from django.db import connection, models
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from msgspec.structs import replace

from karpdash.monitoring import schema
from migrations_app import tasks
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Content, ContentPart, FindingRow, Snapshot
from migrations_app.queries.clusters.detail import nodes_of
from migrations_app.queries.clusters.reports import sheet_of
from migrations_app.queries.fleet.failing_checks import failing_checks
from migrations_app.queries.scans.snapshot_findings import answer_ages
from migrations_app.use_cases.scans import packing, queue, registered_cluster, store
from migrations_app.use_cases.scans.packing import MARK, MIN_UNUSED_TIME, OURS, ROLLBACK_PERIOD, STEP, pack_history
from migrations_app.use_cases.scans.retention import sweep_old

pytestmark = pytest.mark.django_db
STORY, OTHER = "beta_037", "another"


class Killed(BaseException):
    """The process is gone."""


def step_is_as_old_as(age):
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app=OURS, name=STEP).update(applied=timezone.now() - age)


@pytest.fixture
def _ripe():
    """The schema step is long ago."""
    step_is_as_old_as(ROLLBACK_PERIOD)


@pytest.fixture
def cluster():
    return Cluster.objects.create(name="shop", source="sample", context=STORY)


def scanned(cluster, name=STORY):
    """The newest snapshot after a scan that finds this: contents of one name are the same."""
    held = queue.claim(queue.request_scan(cluster.pk).scan_id)
    return store.publish(held.scan_id, fence=held.fence, scanned=found(name))


@cache
def looked():
    row = Cluster.objects.create(name=STORY, source="sample", context=STORY)
    try:
        return registered_cluster.evaluate_registered(STORY)
    finally:
        row.delete()


def found(name):
    """A scan in which this is the name of the first node and of the cluster, and the first check has another answer."""
    plain, (first, *others) = looked(), looked().nodes
    checks = list(plain.report.checks)
    if name != STORY:
        checks[0] = replace(checks[0], status="unknown")
    facts = replace(plain.report.cluster, name=name)
    report = replace(plain.report, cluster=facts, checks=tuple(checks))
    return replace(plain, report=report, nodes=(replace(first, name=name), *others))


def packed_all(*, later=timedelta()):
    """Marks, waits, packs; how many."""
    now = timezone.now() + later
    return pack_history(within=60, now=now) + pack_history(within=60, now=now + MIN_UNUSED_TIME)


def said(snapshot):
    """All that a snapshot says, and its rows of findings if it has them."""
    row = Snapshot.objects.get(pk=snapshot.pk)
    return row.report(), nodes_of(row.pk), sheet_of(row.pk), answer_ages(row.pk), row.content_id


def findings_of(snapshot):
    return FindingRow.objects.filter(content=snapshot.content_id).count()


@pytest.mark.usefixtures("_ripe")
def test_a_content_of_history_says_what_it_said_in_less_room(cluster):
    old, new = scanned(cluster), scanned(cluster, OTHER)
    before, rows = said(old), findings_of(new)
    size = len(old.content.report)
    assert (before[2] is not None, findings_of(old) > 0, rows > 0) == (True, True, True)
    assert packed_all() == 1
    assert said(old) == before
    stored = Content.objects.get(pk=old.content_id)
    assert (findings_of(old), findings_of(new), bytes(stored.iam)) == (0, rows, b"")
    assert len(stored.report) < size / 2
    assert Content.objects.get(pk=new.content_id).texts is None
    assert packed_all() == 0


@pytest.mark.usefixtures("_ripe")
def test_the_fleet_is_asked_of_the_newest_as_before(cluster):
    scanned(cluster)
    scanned(cluster, OTHER)
    before = failing_checks([cluster.pk])
    packed_all()
    assert len(before) > 0
    assert failing_checks([cluster.pk]) == before


@pytest.mark.usefixtures("_ripe")
def test_a_content_that_a_scan_finds_again_is_whole_again(cluster):
    old = scanned(cluster)
    rows, before, plain = findings_of(old), said(old), bytes(old.content.report)
    other = scanned(cluster, OTHER)
    packed_all()
    again = scanned(cluster)
    assert (again.content_id, findings_of(again)) == (old.content_id, rows)
    row = Content.objects.get(pk=old.content_id)
    packed = (row.texts, row.statuses, row.sheet, row.history_since)
    assert (packed, bytes(row.report)) == ((None,) * 4, plain)
    # The age of an answer is another one after three scans; the rest is the same.
    assert said(old)[:3] == before[:3]
    assert packed_all() == 1
    assert Content.objects.get(pk=other.content_id).texts is not None


@pytest.mark.usefixtures("_ripe")
def test_nothing_is_packed_while_a_page_may_read_it_as_the_newest(cluster):
    old = scanned(cluster)
    scanned(cluster, OTHER)
    now = timezone.now()
    assert pack_history(within=60, now=now) == 0
    assert pack_history(within=60, now=now + MIN_UNUSED_TIME - timedelta(seconds=1)) == 0
    assert findings_of(old) > 0
    assert pack_history(within=60, now=now + MIN_UNUSED_TIME) == 1


def test_for_a_week_after_the_schema_step_the_release_before_finds_all(cluster):  # R27
    old = scanned(cluster)
    scanned(cluster, OTHER)
    step_is_as_old_as(ROLLBACK_PERIOD - timedelta(hours=3))
    assert (packed_all(), findings_of(old) > 0) == (0, True)
    assert set(Content.objects.values_list("history_since", "texts")) == {(None, None)}
    assert MARK not in names_of_steps()
    assert (packed_all(later=timedelta(hours=3)), MARK in names_of_steps()) == (1, True)


def names_of_steps():
    return {name for app, name in MigrationRecorder(connection).applied_migrations() if app == OURS}


@pytest.mark.usefixtures("_ripe")
def test_from_then_on_a_release_that_cannot_read_it_is_not_ready(cluster, monkeypatch):  # R27
    scanned(cluster)
    scanned(cluster, OTHER)
    known = schema._known()
    older = frozenset(step for step in known if step[0] != OURS or step[1] < STEP)
    assert len(known - older) == len([one for one in known if one[0] == OURS and one[1] >= STEP]) > 0
    monkeypatch.setattr(schema, "_known", lambda: older)
    assert schema.schema_fit() == ""
    packed_all()
    assert schema.schema_fit() == "ahead"
    monkeypatch.setattr(schema, "_known", lambda: known)
    assert schema.schema_fit() == ""


def test_the_step_that_is_asked_for_is_known_and_recorded_in_a_new_database():
    assert (OURS, STEP) in schema._known()
    assert STEP in names_of_steps()
    assert schema.required_step(MARK) == {STEP[:4]}


@pytest.mark.usefixtures("_ripe")
def test_a_kill_anywhere_loses_nothing_and_the_next_sweep_ends_it(cluster, monkeypatch):
    """After each statement that writes, in turn: what is read then is what it was."""
    old = scanned(cluster)
    scanned(cluster, OTHER)
    before = said(old)
    monkeypatch.setattr(packing, "BATCH", findings_of(old) // 2)
    pack_history(within=60, now=timezone.now())
    later, kills, packed = timezone.now() + MIN_UNUSED_TIME, 0, 0
    while not packed:
        try:
            with connection.execute_wrapper(killer(after=kills + 1)):
                packed = pack_history(within=60, now=later)
        except Killed:
            kills += 1
        assert said(old) == before
        row = Content.objects.get(pk=old.content_id)
        forms = {(row.texts is None, bytes(row.iam) == b"", ContentPart.objects.count())}
        assert forms == ({(False, True, 3)} if packed else {(True, False, 0)})
    assert kills >= 4  # a part, the mark, findings, what is packed
    assert (packed, findings_of(old)) == (1, 0)


def killer(*, after):
    """The process is gone after so many statements that write; what was not committed is rolled back."""
    left = iter(range(1, 1000))

    def run(execute, sql, params, many, context):
        done = execute(sql, params, many, context)
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and next(left) == after:
            raise Killed
        return done

    return run


@pytest.mark.usefixtures("_ripe")
def test_no_transaction_takes_more_than_a_batch_of_findings_away(cluster, monkeypatch):
    monkeypatch.setattr(packing, "BATCH", 40)
    taken, delete = [], models.QuerySet.delete

    def counted(rows):
        done = delete(rows)
        taken.append(done[0])
        return done

    monkeypatch.setattr(models.QuerySet, "delete", counted)
    rows = findings_of(scanned(cluster))
    scanned(cluster, OTHER)
    taken.clear()
    assert packed_all() == 1
    assert (sum(taken), max(taken)) == (rows, 40)


@pytest.mark.usefixtures("_ripe")
def test_the_sweep_of_every_ten_minutes_packs(cluster):
    old = scanned(cluster)
    scanned(cluster, OTHER)
    tasks.retain()
    marked = Content.objects.filter(pk=old.content_id, texts=None).exclude(history_since=None)
    assert marked.update(history_since=timezone.now() - MIN_UNUSED_TIME) == 1
    tasks.retain()
    assert Content.objects.get(pk=old.content_id).texts is not None


@pytest.mark.usefixtures("_ripe")
def test_it_ends_in_time_and_the_next_goes_on(cluster):
    for story in (STORY, OTHER, "third"):
        scanned(cluster, story)
    now = timezone.now()
    pack_history(within=60, now=now)
    counts = [pack_history(within=-1, now=now + MIN_UNUSED_TIME) for _ in range(3)]
    assert (counts, Content.objects.filter(texts=None).count()) == ([1, 1, 0], 1)


@pytest.mark.usefixtures("_ripe")
def test_what_was_marked_while_it_became_the_newest_stays(cluster):
    newest = scanned(cluster)
    Content.objects.update(history_since=timezone.now() - 2 * MIN_UNUSED_TIME)
    rows = findings_of(newest)
    assert (packed_all(), rows > 0, findings_of(newest)) == (0, True, rows)
    assert Content.objects.get().history_since is None


@pytest.mark.usefixtures("_ripe")
def test_a_content_in_the_newest_snapshot_of_another_cluster_stays(cluster):
    first = scanned(cluster)
    other = Cluster.objects.create(name="twin", source="sample", context=STORY)
    columns = {"scanned_at": timezone.now(), "complete": True, "stage": "beta"}
    twin = Snapshot.objects.create(cluster=other, content=first.content, **columns)
    Cluster.objects.filter(pk=other.pk).update(latest=twin)
    rows = findings_of(first)
    scanned(cluster, OTHER)
    assert (packed_all(), findings_of(first)) == (0, rows)


@pytest.mark.usefixtures("_ripe")
def test_what_contents_share_is_stored_once_and_goes_with_the_last(cluster):
    for number in range(3):
        scanned(cluster, f"node-{number}")
    scanned(cluster, OTHER)
    assert (packed_all(), Content.objects.exclude(texts=None).count()) == (3, 3)
    shared = set(Content.objects.exclude(texts=None).values_list("texts", "statuses", "sheet"))
    assert (len(shared), ContentPart.objects.count()) == (1, 3)
    assert packed_all(later=timedelta(days=1)) == 0
    assert ContentPart.objects.filter(unused_since=None).count() == 3
    Cluster.objects.all().delete()
    Content.objects.update(created_at=timezone.now() - timedelta(days=2))
    sweep_old(within=60)
    assert (Content.objects.count(), FindingRow.objects.count(), ContentPart.objects.count()) == (0, 0, 3)
    packed_all(later=timedelta(days=2))
    pack_history(within=60, now=timezone.now() + timedelta(days=3))
    assert ContentPart.objects.count() == 0


@pytest.mark.usefixtures("_ripe")
def test_a_part_that_is_used_again_stays(cluster):
    scanned(cluster, "first")
    second = scanned(cluster, "second")
    packed_all()
    parts = set(ContentPart.objects.values_list("pk", "unused_since"))
    scanned(cluster, "first")
    now = timezone.now()
    list(packing._sweep_parts(now))
    assert set(ContentPart.objects.values_list("unused_since", flat=True)) == {now}
    Content.objects.filter(pk=second.content_id).update(history_since=now - MIN_UNUSED_TIME)
    assert pack_history(within=60, now=now) == 1
    assert set(ContentPart.objects.values_list("pk", "unused_since")) == parts
    # One that was marked while it was being used.
    ContentPart.objects.update(unused_since=now - MIN_UNUSED_TIME)
    list(packing._sweep_parts(now))
    assert set(ContentPart.objects.values_list("pk", "unused_since")) == parts


@pytest.mark.usefixtures("_ripe")
def test_a_content_that_cannot_be_read_holds_nothing_up(cluster, caplog):
    broken = scanned(cluster)
    good = scanned(cluster, "good")
    scanned(cluster, OTHER)
    Content.objects.filter(pk=broken.content_id).update(report=b"not compressed")
    with caplog.at_level(logging.WARNING, logger=packing.__name__):
        assert packed_all() == 1
    assert Content.objects.get(pk=good.content_id).texts is not None
    assert [line.content for line in caplog.records] == [broken.content_id]
    assert bytes(Content.objects.get(pk=broken.content_id).report) == b"not compressed"
