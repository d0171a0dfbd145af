"""Why progress fell: each fall has a cause, and a day that did not fall has none."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.progress.curve import MEASURES, Lacking, Point, missing_for_projection
from migrations_app.readiness.progress.done_percent import CONVERSIONS, percent_of_conversions, percent_of_measures
from migrations_app.readiness.progress.falls import Fall, falls_between

TODAY = date(2026, 11, 21)


def point(left, total, *, unseen=0):
    certainty = "at_least" if unseen else "exact"
    return Point(day=TODAY, count=left, certainty=certainty, clusters=3, unseen=unseen, done=total - left, total=total)


def a_day(**more):
    """Half of everything is done, but for the measures that are named."""
    return {measure.name: point(5, 10) for measure in MEASURES} | more


@pytest.mark.parametrize(
    ("after", "causes"),
    [
        ({"nodes": point(7, 12)}, (Fall(measure="nodes", cause="more_left", number=2),)),
        ({"nodes": point(5, 8)}, (Fall(measure="nodes", cause="done_gone", number=2),)),
        ({"nodes": point(6, 10), "claims": point(1, 10)}, (Fall(measure="nodes", cause="more_left", number=1),)),
        ({"nodes": point(8, 16, unseen=1), "objects": point(5, 10, unseen=1)}, ()),
        (
            {"objects": point(9, 10, unseen=2)},
            (
                Fall(measure="objects", cause="more_left", number=4),
                Fall(measure="objects", cause="not_read", number=2),
            ),
        ),
        ({"nodes": point(1, 10)}, ()),
        ({}, ()),
    ],
)
def test_the_cause_of_a_fall(after, causes):
    assert falls_between(a_day(), a_day(**after)) == causes


def test_all_done_and_one_cluster_in_the_dark_is_a_partial_scan():
    before = {measure.name: point(0, 10) for measure in MEASURES}
    after = before | {"claims": point(0, 10, unseen=1)}
    assert falls_between(before, after) == (Fall(measure="claims", cause="not_read", number=1),)


def test_a_measure_that_weighs_for_the_first_time_or_no_more():
    nothing = point(0, 0)
    some = falls_between(a_day(claims=nothing), a_day(claims=point(9, 10)))
    assert some == (Fall(measure="claims", cause="first_counted", number=9),)
    none = falls_between(a_day(nodes=point(0, 10)), a_day(nodes=nothing))
    assert none == (Fall(measure="nodes", cause="none_counted", number=0),)


sizes = st.integers(min_value=0, max_value=40)
points = st.builds(lambda left, done, unseen: point(left, left + done, unseen=unseen), sizes, sizes, st.integers(0, 2))
whole_days = st.fixed_dictionaries({measure.name: points for measure in MEASURES})


@given(before=whole_days, after=whole_days)
def test_whatever_falls_has_a_cause_and_what_does_not_has_none(before, after):
    def shares(day):
        return [
            percent_of_conversions(day),
            *(percent_of_measures([day[name] for name in names]) for names in CONVERSIONS.values()),
        ]

    fell = any(new.percent < old.percent for old, new in zip(shares(before), shares(after), strict=True))
    assert bool(falls_between(before, after)) == fell


def test_without_a_day_to_go_by_everything_is_lacking():
    assert missing_for_projection([]) == Lacking(scans=4, days=7)
