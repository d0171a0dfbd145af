"""The share that is done: unknown is no hundred, only work lets it rise, and the way ends with its last measure."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.progress.curve import COLUMNS, BurndownProjection, Day, Point, curve
from migrations_app.readiness.progress.curve import MEASURES as ALL
from migrations_app.readiness.progress.done_percent import (
    DonePercent,
    ProjectedEnd,
    percent_after_days,
    percent_of_conversions,
    percent_of_measures,
    projected_end,
)

TODAY = date(2026, 11, 21)


def point(left, total, *, certainty="exact"):
    done = None if total is None else total - (left or 0)
    return Point(day=TODAY, count=left, certainty=certainty, clusters=1, done=done, total=total)


def way(objects, nodes, stored, claims):
    points = zip(ALL, (objects, nodes, stored, claims), strict=True)
    return percent_of_conversions({measure.name: point(*counts) for measure, counts in points})


def test_a_half_is_the_mean_of_its_measures_and_the_way_of_its_halves():
    assert percent_of_measures([point(5, 10), point(1, 4)]) == DonePercent(percent=62, bound="exact")
    assert way((5, 10), (1, 4), (3, 3), (4, 4)) == DonePercent(percent=31, bound="exact")


def test_what_is_not_there_has_no_weight():
    assert percent_of_measures([point(5, 10), point(0, 0)]).percent == 50
    assert way((0, 0), (0, 0), (0, 0), (0, 0)) == DonePercent(percent=100, bound="exact")


def test_nothing_known_is_unknown():
    assert percent_of_measures([point(None, None, certainty="unknown")]) == DonePercent(percent=None, bound="unknown")
    assert percent_of_conversions({}) == DonePercent(percent=None, bound="unknown")


def test_what_was_not_read_makes_an_upper_bound_and_never_a_hundred():
    assert percent_of_measures([point(0, 4), point(None, None, certainty="unknown")]) == DonePercent(
        percent=99, bound="at_most"
    )
    assert percent_of_measures([point(0, 4, certainty="at_least")]) == DonePercent(percent=99, bound="at_most")


def test_one_of_a_thousand_is_not_done():
    assert percent_of_measures([point(1, 100_000)]).percent == 99


counts = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (min(pair), max(pair)))


@given(counts, counts, counts, counts, st.integers(0, 3))
def test_work_never_lets_it_fall(objects, nodes, stored, claims, which):
    before = [objects, nodes, stored, claims]
    after = list(before)
    left, total = after[which]
    after[which] = (max(0, left - 1), total)
    assert way(*after).percent >= way(*before).percent
    assert 0 <= way(*before).percent <= 100
    assert (way(*before).percent == 100) == (not any(left for left, _ in before))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9) | st.none(), st.integers(0, 20) | st.none()), max_size=12)
)
def test_the_share_counts_the_last_numbers_of_clusters_that_were_read(found):
    measure = ALL[1]
    days = [
        Day(cluster=f"c{number % 3}", day=date(2026, 11, 10 + day), counts={"nodes": left, "nodes_total": total})
        for number, (day, left, total) in enumerate(found)
    ]
    unique = list({(one.cluster, one.day): one for one in days}.values())
    points = curve(unique, measure=measure, registered=dict.fromkeys(("c0", "c1", "c2"), TODAY), today=TODAY)
    last = {}
    for one in sorted(unique, key=lambda one: one.day):
        last.setdefault(one.cluster, {}).update({name: n for name, n in one.counts.items() if n is not None})
    read = [one for one in last.values() if len(one) == 2]
    done = sum(max(0, one["nodes_total"] - one["nodes"]) for one in read)
    if points:
        wanted = (done, sum(one["nodes_total"] for one in read)) if read else (None, None)
        assert (points[-1].done, points[-1].total) == wanted


def projections(*outcomes):
    ends = {"falling": date(2027, 1, 1)}
    return [BurndownProjection(outcome=one, ends_on=ends.get(one)) for one in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [
        (("gone", "gone"), ProjectedEnd(outcome="gone")),
        (("gone", "falling"), ProjectedEnd(outcome="falling", on=date(2027, 1, 1))),
        (("not_falling", "falling"), ProjectedEnd(outcome="not_falling")),
        (("too_little", "falling"), ProjectedEnd(outcome="too_little")),
        (("unknown", "not_falling"), ProjectedEnd(outcome="unknown")),
        ((), ProjectedEnd(outcome="unknown")),
    ],
)
def test_the_way_ends_with_its_last_measure(outcomes, wanted):
    assert projected_end(projections(*outcomes)) == wanted


def test_the_later_end_counts_and_a_lower_bound_stays_one():
    early = BurndownProjection(outcome="falling", ends_on=date(2027, 1, 1))
    late = BurndownProjection(outcome="falling", ends_on=date(2027, 3, 1), certainty="at_least")
    assert projected_end([early, late]) == ProjectedEnd(outcome="falling", on=date(2027, 3, 1), certainty="at_least")


numbers = st.one_of(st.none(), st.integers(0, 9))
days_of_one = st.lists(
    st.tuples(st.integers(0, 80), st.fixed_dictionaries(dict.fromkeys(COLUMNS, numbers))),
    unique_by=lambda pair: pair[0],
)


@given(days_of_one)
def test_a_row_of_the_fleet_says_what_the_last_point_of_the_curve_does(found):
    days = [Day(cluster="shop", day=TODAY - timedelta(days=ago), counts=counts) for ago, counts in found]
    days.sort(key=lambda day: day.day)
    registered = {"shop": TODAY - timedelta(days=90)}
    points = {one.name: curve(days, measure=one, registered=registered, today=TODAY) for one in ALL}
    last = {name: line[-1] for name, line in points.items() if line}
    assert percent_after_days(days) == percent_of_conversions(last)
