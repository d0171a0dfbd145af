"""Snapshots over time and what changed between two."""

from datetime import timedelta

import pytest

from migrations_app.web.clusters.history import spark
from tests.builders.rows import NOW, a_cluster, a_finding, a_report, a_snapshot, some_nodes
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop")


def hour(back):
    return NOW - timedelta(hours=back)


def test_newest_first_with_a_way_to_each(ada, shop):
    old = a_snapshot(shop, a_report(checks=[a_finding(status="pass")]), at=hour(2))
    new = a_snapshot(shop, at=hour(1))
    page = ada.get(f"/clusters/{shop.pk}/history")
    assert [("Blocked" in row, "Ready" in row) for row in rows(page)] == [(True, False), (False, True)]
    assert f"/clusters/{shop.pk}/changes?before={old.pk}&after={new.pk}" in links(page)
    assert f"/clusters/{shop.pk}/?at={old.pk}" in links(page)


def test_an_unchanged_scan_says_so(ada, shop):
    a_snapshot(shop, at=hour(2))
    a_snapshot(shop, at=hour(1))
    page = ada.get(f"/clusters/{shop.pk}/history")
    assert "unchanged" in rows(page)[0]
    assert "What changed" not in "".join(rows(page))


def test_one_snapshot_is_not_comparable(ada, shop):
    a_snapshot(shop)
    assert "Compare selected" not in text(ada.get(f"/clusters/{shop.pk}/history"))


def test_what_changed(ada, shop):
    nodes = some_nodes(3)
    before = a_snapshot(shop, a_report(nodes=nodes, legacy={"Machine": 9}), at=hour(2))
    after = a_snapshot(shop, a_report(checks=[a_finding(status="pass")], legacy={"Machine": 4}), at=hour(1))
    page = ada.get(f"/clusters/{shop.pk}/changes", {"before": before.pk, "after": after.pk})
    words = text(page)
    assert "Legacy provisioners gone upgrade 0.32 · better Fails 2 became Passed" in words
    assert "Machine 9 4 \u22125" in words
    assert "Karpenter, alpha 3 0 \u22123" in words


def test_the_older_one_is_always_before(ada, shop):
    older = a_snapshot(shop, a_report(legacy={"Machine": 9}), at=hour(2))
    newer = a_snapshot(shop, a_report(legacy={"Machine": 4}), at=hour(1))
    page = ada.get(f"/clusters/{shop.pk}/changes", {"before": newer.pk, "after": older.pk})
    assert "Machine 9 4 \u22125" in text(page)


def test_nothing_changed(ada, shop):
    one, two = a_snapshot(shop, at=hour(2)), a_snapshot(shop, at=hour(1))
    page = ada.get(f"/clusters/{shop.pk}/changes", {"before": one.pk, "after": two.pk})
    assert "Nothing changed" in text(page)


def test_snapshots_of_another_cluster_are_not_here(ada, shop):
    mine, foreign = a_snapshot(shop), a_snapshot(a_cluster("other"))
    assert ada.get(f"/clusters/{shop.pk}/changes", {"before": mine.pk, "after": foreign.pk}).status_code == 404
    assert ada.get(f"/clusters/{shop.pk}/?at={foreign.pk}").status_code == 404


@pytest.mark.parametrize("query", [{}, {"before": "x", "after": "y"}])
def test_two_must_be_chosen(ada, shop, query):
    assert ada.get(f"/clusters/{shop.pk}/changes", query).url == f"/clusters/{shop.pk}/history"


def test_pages(ada, shop):
    for back in range(53):
        a_snapshot(shop, at=hour(back))
    first = ada.get(f"/clusters/{shop.pk}/history")
    following = next(link for link in links(first) if "cursor=" in link)
    assert (len(rows(first)), len(rows(ada.get(f"/clusters/{shop.pk}/history{following}")))) == (50, 3)


def test_no_blocker_is_not_all_that_is_said_of_what_could_not_be_read(ada, shop):
    a_snapshot(shop, verdict="needs_facts", blockers=0, unknowns=40, legacy_left=None)
    row = rows(ada.get(f"/clusters/{shop.pk}/history"))[0]
    assert ("0 40 unknown or to verify" in row, "not read" in row) == (True, True)


def test_the_curve():
    drawn = spark([(hour(2), 10), (hour(1), None), (hour(0), 5)])
    assert (drawn.first, drawn.last, drawn.highest, drawn.points) == (10, 5, 10, 2)
    assert drawn.line == "M0.0 4.0 L600.0 31.0"
    assert drawn.area == "M0.0 4.0 L600.0 31.0 L600.0 60 L0 60 Z"


@pytest.mark.parametrize("trend", [[], [(NOW, 3)], [(NOW, None), (NOW, None)], [(hour(1), 0), (NOW, 0)]])
def test_no_curve_of_nothing(trend):
    assert spark(trend) is None


def test_two_scans_in_one_moment_draw():
    assert spark([(NOW, 3), (NOW, 3)]).line == "M0.0 4.0 L0.0 4.0"
