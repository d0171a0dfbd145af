"""Curves and projections: unknown is never zero, and no date is told that the numbers do not carry."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.progress.curve import (
    DAYS,
    LONGEST_PROJECTION_DAYS,
    NODES,
    OBJECTS,
    BurndownProjection,
    Day,
    Point,
    curve,
    projection,
)

TODAY = date(2026, 11, 21)


def back(days):
    return TODAY - timedelta(days=days)


def a_day(days, *, cluster="a", provisioners=0, templates=0, machines=0, nodes=0):
    counts = {"provisioners": provisioners, "templates": templates, "machines": machines, "nodes": nodes}
    return Day(cluster=cluster, day=back(days), counts=counts)


def objects(*days, registered=None):
    since = registered or {one.cluster: back(200) for one in days}
    return curve(days, measure=OBJECTS, registered=since, today=TODAY)


def points(*counts, clusters=1, **more):
    """A point a day, the last one today."""
    first = len(counts) - 1
    return tuple(
        Point(day=back(first - index), count=count, certainty="exact", clusters=clusters, **more)
        for index, count in enumerate(counts)
    )


def test_objects_and_nodes_are_counted_apart():
    day = a_day(0, provisioners=2, templates=1, machines=5, nodes=7)
    assert objects(day) == (Point(day=TODAY, count=8, certainty="exact", clusters=1),)
    nodes = curve([day], measure=NODES, registered={"a": TODAY}, today=TODAY)
    assert nodes == (Point(day=TODAY, count=7, certainty="exact", clusters=1),)


def test_a_day_without_a_scan_keeps_the_number_and_says_so():
    told = objects(a_day(2, machines=5), a_day(0, machines=3))
    assert [(one.count, one.carried) for one in told] == [(5, 0), (5, 1), (3, 0)]


def test_a_kind_that_could_not_be_read_keeps_its_number():
    told = objects(a_day(1, machines=5, provisioners=1), a_day(0, machines=None, provisioners=0))
    assert [(one.count, one.certainty, one.carried) for one in told] == [(6, "exact", 0), (5, "exact", 1)]


def test_a_kind_that_was_never_read_makes_a_lower_bound():
    told = objects(a_day(0, machines=None, provisioners=2))
    assert told == (Point(day=TODAY, count=2, certainty="at_least", clusters=1, unseen=1),)


def test_nothing_read_is_unknown_and_not_zero():
    told = objects(a_day(0, machines=None, provisioners=None, templates=None))
    assert told == (Point(day=TODAY, count=None, certainty="unknown", clusters=1, unseen=1),)


def test_a_registered_cluster_that_was_never_scanned_makes_a_lower_bound():
    told = objects(a_day(1, machines=4), a_day(0, machines=4), registered={"a": back(9), "b": TODAY})
    assert [(one.count, one.certainty, one.unseen) for one in told] == [(4, "exact", 0), (4, "at_least", 1)]


def test_no_point_before_the_first_scan_and_none_without_any():
    assert [one.day for one in objects(a_day(1))] == [back(1), TODAY]
    assert objects(registered={"a": back(5)}) == ()


def test_what_is_older_than_the_window_is_carried_into_it():
    told = objects(a_day(DAYS + 20, machines=9))
    assert (len(told), {one.count for one in told}, {one.carried for one in told}) == (DAYS, {9}, {1})


def test_days_of_clusters_that_do_not_count_are_left_out():
    told = objects(a_day(0, machines=4), a_day(0, cluster="b", machines=90), registered={"a": back(5)})
    assert [one.count for one in told] == [4]


def test_a_steady_fall_ends_on_its_day():
    found = projection(points(*range(30, 9, -1)))
    assert found == BurndownProjection(outcome="falling", ends_on=TODAY + timedelta(days=10), per_week=-7.0)


def test_an_older_number_makes_the_date_a_lower_bound():
    told = (*points(*range(30, 9, -1))[:-1], Point(day=TODAY, count=10, certainty="exact", clusters=1, carried=1))
    assert (projection(told).outcome, projection(told).certainty) == ("falling", "at_least")


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ((), "unknown"),
        ((5, None), "unknown"),
        ((5, 0), "gone"),
        ((9, 8, 7), "too_little"),
        ((9, 8, 7, 6, 5), "too_little"),
        ((5,) * 12, "not_falling"),
        (tuple(range(12)), "not_falling"),
        ((LONGEST_PROJECTION_DAYS * 4, *(LONGEST_PROJECTION_DAYS * 4 - 1,) * 11), "not_falling"),
    ],
)
def test_what_carries_no_date(counts, outcome):
    found = projection(points(*counts))
    assert (found.outcome, found.ends_on) == (outcome, None)


def test_zero_of_what_could_be_read_is_not_gone():
    told = points(*range(20, -1, -1), unseen=1)
    told = tuple(Point(day=one.day, count=one.count, certainty="at_least", clusters=1, unseen=1) for one in told)
    assert projection(told).outcome == "not_falling"


def test_a_new_cluster_is_no_step_back():
    alone = points(*range(40, 20, -1))
    both = tuple(Point(day=TODAY, count=500, certainty="exact", clusters=2) for _ in range(1))
    assert projection((*alone[:-1], *both)).outcome == "too_little"


def test_days_that_only_repeat_are_not_looked_at():
    fresh = points(20, 18, 16, 14)
    told = tuple(
        Point(day=back(index), count=14, certainty="exact", clusters=1, carried=1) for index in range(20, 0, -1)
    )
    assert projection((*told, fresh[-1])).outcome == "too_little"


counts_seen = st.integers(min_value=0, max_value=50) | st.none()
rows = st.lists(
    st.builds(
        a_day,
        st.integers(min_value=0, max_value=DAYS + 10),
        cluster=st.sampled_from("abc"),
        provisioners=counts_seen,
        templates=counts_seen,
        machines=counts_seen,
        nodes=counts_seen,
    ),
    max_size=20,
    unique_by=lambda one: (one.cluster, one.day),
)


@given(rows)
def test_every_point_is_the_sum_of_the_last_numbers_read(found):
    since = {name: back(200) for name in "abc"}
    for point in curve(found, measure=OBJECTS, registered=since, today=TODAY):
        last = {}
        for row in sorted(found, key=lambda one: one.day):
            if row.day <= point.day:
                last |= {
                    (row.cluster, kind): row.counts[kind] for kind in OBJECTS.kinds if row.counts[kind] is not None
                }
        whole = sum(all((name, kind) in last for kind in OBJECTS.kinds) for name in "abc")
        assert point.count == (sum(last.values()) if last else None)
        assert (point.clusters, point.unseen) == (3, 3 - whole)
        assert (point.certainty == "exact") == (whole == 3)


@given(st.lists(st.integers(min_value=0, max_value=1000), min_size=1, max_size=DAYS))
def test_a_date_lies_ahead_and_only_where_it_falls(counts):
    found = projection(points(*counts))
    assert (found.ends_on is not None) == (found.outcome == "falling")
    if found.ends_on:
        assert (found.ends_on > TODAY, found.per_week <= 0, counts[-1] > 0) == (True, True, True)
