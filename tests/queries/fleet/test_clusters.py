"""The fleet is grouped, counted, sorted and paged in the database, in the same number of queries at any size."""

import dataclasses
from datetime import timedelta

import pytest

from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.fleet.clusters import BUCKETS, SORTS, FleetFilters, fleet_page, stale_after
from tests.builders.rows import NOW, a_cluster, a_failure, a_report, a_scan, a_snapshot

pytestmark = pytest.mark.django_db


def names(ask=None, **limits):
    return [row.name for row in fleet_page(ask or FleetFilters(), now=NOW, **limits).rows]


def scanned(name, *, environment="", **columns):
    cluster = a_cluster(name, environment=environment)
    a_snapshot(cluster, a_report(name), **columns)
    return cluster


def one_of_each():
    for verdict in ("needs_facts", "blocked", "ready_with_warnings", "ready", "in_progress", "done"):
        scanned(f"c-{verdict}", verdict=verdict)
    scanned("c-none", stage="no_karpenter", verdict="")
    a_cluster("c-new")
    a_failure(scanned("c-gone", verdict="ready"))


def test_every_cluster_waits_for_exactly_one_thing():
    one_of_each()
    page = fleet_page(FleetFilters(), now=NOW)
    assert [(row.name, row.bucket) for row in page.rows] == [
        ("c-new", "never_scanned"),
        ("c-gone", "unreachable"),
        ("c-needs_facts", "needs_facts"),
        ("c-blocked", "blocked"),
        ("c-ready_with_warnings", "ready_with_warnings"),
        ("c-ready", "ready"),
        ("c-in_progress", "in_progress"),
        ("c-done", "done"),
        ("c-none", "no_karpenter"),
    ]
    assert page.totals.buckets == dict.fromkeys(BUCKETS, 1)


def test_no_verdict_needs_facts_and_never_looks_ready():
    scanned("odd", stage="unknown", verdict="")
    assert fleet_page(FleetFilters(), now=NOW).rows[0].bucket == "needs_facts"


@pytest.mark.parametrize(("times", "bucket"), [(1, "ready"), (2, "ready"), (3, "unreachable"), (9, "unreachable")])
def test_three_failures_make_unreachable(times, bucket):
    a_failure(scanned("c", verdict="ready"), times=times)
    row = fleet_page(FleetFilters(), now=NOW).rows[0]
    assert (row.bucket, row.failures, row.last_error_code) == (bucket, times, "unreachable")


def test_one_failure_without_any_result_is_unreachable():
    a_failure(a_cluster("c"), times=1)
    assert fleet_page(FleetFilters(), now=NOW).rows[0].bucket == "unreachable"


def test_a_row_tells_what_the_snapshot_says():
    cluster = scanned("shop", environment="prod", at=NOW - timedelta(minutes=5))
    a_scan(cluster)
    row = fleet_page(FleetFilters(), now=NOW).rows[0]
    told = (row.id, row.environment, row.stage, row.karpenter_version, row.next_hop, row.verdict, row.active)
    assert told == (cluster.pk, "prod", "alpha", "0.30.0", "0.32", "blocked", "running")
    assert (row.blockers, row.warnings, row.unknowns, row.legacy_left) == (1, 1, 2, 27)
    assert (row.scanned_at, row.stale, row.complete) == (NOW - timedelta(minutes=5), False, True)


def test_totals_by_stage_and_legacy():
    scanned("a", stage="alpha", legacy_left=7)
    scanned("b", stage="beta", legacy_left=0)
    totals = fleet_page(FleetFilters(), now=NOW).totals
    assert (totals.clusters, totals.legacy, totals.legacy_exact) == (2, 7, True)
    assert {stage: n for stage, n in totals.stages.items() if n} == {"alpha": 1, "beta": 1}


def test_legacy_of_the_unseen_makes_a_lower_bound():
    scanned("a", legacy_left=7)
    scanned("b", legacy_left=None)
    totals = fleet_page(FleetFilters(), now=NOW).totals
    assert (totals.legacy, totals.legacy_exact) == (7, False)


def test_search_takes_every_word_anywhere():
    scanned("payments-eu", environment="prod")
    scanned("payments-us", environment="dev")
    a_cluster("edge", server="https://payments.example")
    assert names(FleetFilters(q="payments prod")) == ["payments-eu"]
    assert names(FleetFilters(q="PAY us")) == ["payments-us"]
    assert names(FleetFilters(q="0.30")) == ["payments-eu", "payments-us"]
    assert names(FleetFilters(q="v0.30")) == ["payments-eu", "payments-us"]
    assert names(FleetFilters(q="payments.example")) == ["edge"]
    assert names(FleetFilters(q="%")) == []


def test_filters_leave_the_counts_beside_them():
    one_of_each()
    page = fleet_page(FleetFilters(bucket="blocked"), now=NOW)
    assert ([row.name for row in page.rows], page.matching, page.totals.clusters) == (["c-blocked"], 1, 9)
    assert names(FleetFilters(stage="no_karpenter")) == ["c-none"]
    assert sorted(names(FleetFilters(stage="unknown"))) == ["c-new"]


def test_environment_filter_and_choices():
    scanned("a", environment="prod")
    scanned("b", environment="dev")
    scanned("c")
    page = fleet_page(FleetFilters(environment="dev"), now=NOW)
    assert ([row.name for row in page.rows], page.environments) == (["b"], ("dev", "prod"))


def test_sorting_inside_groups_and_across_them():
    for name, blockers, verdict in (("a", 1, "blocked"), ("b", 5, "blocked"), ("c", 9, "ready")):
        scanned(name, blockers=blockers, verdict=verdict)
    assert names(FleetFilters(sort="blockers", descending=True)) == ["b", "a", "c"]
    assert names(FleetFilters(sort="blockers", descending=True, flat=True)) == ["c", "b", "a"]
    assert names(FleetFilters(sort="name", descending=True, flat=True)) == ["c", "b", "a"]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_pages_hold_every_row_once_in_order(sort, descending, flat):
    one_of_each()
    for index in range(8):
        verdict, legacy = ("ready", "blocked")[index % 2], (None, 3, 3, 8)[index % 4]
        scanned(
            f"n{index}", at=NOW - timedelta(hours=index % 3), blockers=index % 3, verdict=verdict, legacy_left=legacy
        )
    whole = names(FleetFilters(sort=sort, descending=descending, flat=flat))
    paged, cursor = [], ""
    for _ in range(20):
        page = fleet_page(FleetFilters(sort=sort, descending=descending, flat=flat, cursor=cursor), now=NOW, limit=3)
        paged += [row.name for row in page.rows]
        cursor = page.next_cursor
        if not cursor:
            break
    assert (paged, len(paged), len(set(paged))) == (whole, 17, 17)


def test_a_cursor_of_nobody_starts_at_the_beginning():
    scanned("a")
    assert names(FleetFilters(cursor="nonsense")) == ["a"]
    assert names(FleetFilters(cursor="WzAsIm5vIHRpbWUiLCJhIl0", sort="scanned")) == ["a"]


def test_stale_after_three_intervals(settings):
    assert stale_after(600) == timedelta(minutes=30)
    cluster = a_cluster("slow", interval_seconds=600)
    a_snapshot(cluster, at=NOW - timedelta(minutes=31))
    assert fleet_page(FleetFilters(), now=NOW).rows[0].stale


def test_scanned_on_demand_a_result_is_stale_after_a_day(settings):
    settings.ENV = dataclasses.replace(settings.ENV, scan_interval=0)
    a_snapshot(a_cluster("today"), at=NOW - timedelta(hours=23))
    old = a_cluster("month")
    a_snapshot(old, at=NOW - timedelta(days=30))
    assert [(row.name, row.stale) for row in fleet_page(FleetFilters(), now=NOW).rows] == [
        ("month", True),
        ("today", False),
    ]
    assert cluster_head(old.pk, now=NOW).stale


@pytest.mark.parametrize("size", [1, 40])
def test_query_count_does_not_grow(size, django_assert_num_queries):
    for index in range(size):
        a_scan(scanned(f"c{index:02}"))
    with django_assert_num_queries(5):
        assert len(fleet_page(FleetFilters(), now=NOW).rows) == size
