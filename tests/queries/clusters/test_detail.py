"""One cluster: head, scan under way, snapshots and their pages."""

import uuid
from datetime import timedelta

import pytest

from migrations_app.errors import NotFound
from migrations_app.queries.clusters.detail import (
    active_scan,
    cluster_head,
    legacy_trend,
    nodes_of,
    report_of,
    snapshots_of,
)
from tests.builders.rows import NOW, a_cluster, a_failure, a_report, a_scan, a_snapshot, some_nodes

pytestmark = pytest.mark.django_db
ABSENT = uuid.UUID(int=7)


def test_head_of_a_cluster_never_scanned():
    cluster = a_cluster("new", environment="dev", server="https://k", target="1.0")
    head = cluster_head(cluster.pk, now=NOW)
    assert (head.name, head.environment, head.server, head.target) == ("new", "dev", "https://k", "1.0")
    assert (head.snapshot, head.is_latest, head.active, head.stale, head.unreachable) == (
        None,
        True,
        None,
        False,
        False,
    )


def test_head_shows_the_latest_snapshot():
    cluster = a_cluster()
    a_snapshot(cluster, at=NOW - timedelta(hours=1))
    newest = a_snapshot(cluster, at=NOW)
    head = cluster_head(cluster.pk, now=NOW)
    assert (head.snapshot.id, head.is_latest, head.snapshots) == (newest.pk, True, 2)
    assert (head.snapshot.verdict, head.snapshot.next_hop, head.snapshot.blockers) == ("blocked", "0.32", 1)


def test_head_at_an_older_snapshot():
    cluster = a_cluster()
    old = a_snapshot(cluster, at=NOW - timedelta(hours=1))
    a_snapshot(cluster, at=NOW)
    head = cluster_head(cluster.pk, now=NOW, at=old.pk)
    assert (head.snapshot.id, head.is_latest) == (old.pk, False)


def test_absent_and_foreign_ids_are_the_same_error():
    cluster, other = a_cluster("a"), a_cluster("b")
    foreign = a_snapshot(other)
    for at in (ABSENT, foreign.pk):
        with pytest.raises(NotFound):
            cluster_head(cluster.pk, now=NOW, at=at)
    for ask in (report_of, nodes_of):
        with pytest.raises(NotFound):
            ask(ABSENT)
    with pytest.raises(NotFound):
        cluster_head(ABSENT, now=NOW)


@pytest.mark.parametrize(
    ("times", "has_snapshot", "unreachable"), [(1, True, False), (3, True, True), (1, False, True)]
)
def test_unreachable(times, has_snapshot, unreachable):
    cluster = a_cluster()
    if has_snapshot:
        a_snapshot(cluster)
    a_failure(cluster, times=times)
    assert cluster_head(cluster.pk, now=NOW).unreachable is unreachable


def test_stale_by_its_own_interval():
    cluster = a_cluster(interval_seconds=60)
    a_snapshot(cluster, at=NOW - timedelta(minutes=4))
    assert cluster_head(cluster.pk, now=NOW).stale
    assert not cluster_head(cluster.pk, now=NOW - timedelta(minutes=2)).stale


def test_scan_under_way():
    cluster = a_cluster()
    a_scan(cluster, state="done")
    assert active_scan(cluster.pk) is None
    row = a_scan(cluster, requested_by="ada")
    found = active_scan(cluster.pk)
    assert (found.id, found.state, found.requested_by) == (row.pk, "running", "ada")
    assert (found.parts_done, found.parts_total, found.now) == (7, 27, "machines")


@pytest.mark.parametrize("progress", [{}, [], {"parts_done": None}, "x"])
def test_progress_of_another_shape_counts_nothing(progress):
    cluster = a_cluster()
    a_scan(cluster, progress=progress)
    found = active_scan(cluster.pk)
    assert (found.parts_done, found.parts_total, found.now) == (0, 0, "")


def test_report_and_nodes_come_back_whole():
    cluster, nodes = a_cluster(), some_nodes(3)
    report = a_report(nodes=nodes)
    snapshot = a_snapshot(cluster, report, nodes=nodes)
    read = report_of(snapshot.pk)
    assert (read.checks, read.hops, read.parts, read.legacy) == (
        report.checks,
        report.hops,
        report.parts,
        report.legacy,
    )
    assert nodes_of(snapshot.pk) == nodes


def test_snapshots_newest_first_in_pages():
    cluster = a_cluster()
    ids = [a_snapshot(cluster, at=NOW - timedelta(hours=hours // 2)).pk for hours in range(7)]
    seen, cursor = [], ""
    for _ in range(5):
        page = snapshots_of(cluster.pk, after=cursor, limit=3)
        seen += [row.id for row in page.rows]
        cursor = page.next_cursor
        if not cursor:
            break
    assert sorted(seen) == sorted(ids)
    assert [row.id for row in snapshots_of(cluster.pk).rows] == seen
    assert [row.id for row in snapshots_of(cluster.pk, after="garbage").rows] == seen


def test_a_cursor_without_a_time_starts_at_the_newest():
    cluster = a_cluster()
    snapshot = a_snapshot(cluster)
    assert [row.id for row in snapshots_of(cluster.pk, after="WyJhIiwiYiJd").rows] == [snapshot.pk]


def test_trend_runs_forward_and_keeps_gaps():
    cluster = a_cluster()
    for hours, left in ((2, 9), (1, None), (0, 4)):
        a_snapshot(cluster, at=NOW - timedelta(hours=hours), legacy_left=left)
    assert [left for _, left in legacy_trend(cluster.pk)] == [9, None, 4]
    assert [left for _, left in legacy_trend(cluster.pk, limit=2)] == [None, 4]


def test_queries_do_not_grow_with_history(django_assert_num_queries):
    cluster = a_cluster()
    for hours in range(12):
        a_snapshot(cluster, at=NOW - timedelta(hours=hours))
    with django_assert_num_queries(2):
        cluster_head(cluster.pk, now=NOW)
