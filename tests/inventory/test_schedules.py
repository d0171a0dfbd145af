"""Schedules of budgets are read as Karpenter reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.schedules import always_active, duration_minutes, is_readable

DAY = 24 * 60


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("24h", DAY), ("90m", 90), ("1h30m", 90), ("10h0s", 600), ("1h5m0s", 65), ("0h", 0),
        ("", None), ("0s", None), ("10s", None), ("1d", None), ("h", None), ("-1h", None), (None, None), (24, None),
    ],
)  # fmt: skip
def test_durations(text, minutes):
    assert duration_minutes(text) == minutes


@pytest.mark.parametrize(
    ("schedule", "gap"),
    [
        ("@hourly", 60),
        ("@daily", DAY),
        ("@midnight", DAY),
        ("@weekly", 7 * DAY),
        ("@monthly", 31 * DAY),
        ("@yearly", 366 * DAY),
        ("* * * * *", 1),
        ("*/15 * * * *", 15),
        ("5/15 * * * *", 15),
        ("0 9-17 * * *", 16 * 60),
        ("0 9,21 * * *", 12 * 60),
        ("0 0 * * mon-fri", 3 * DAY),
        ("0 0 * * 1-5", 3 * DAY),
        ("0 0 1 JAN *", 366 * DAY),
        ("0 0 31 * *", 61 * DAY),
        ("0 0 1-31/2 * *", 2 * DAY),
        ("0 0 ? * ?", DAY),
    ],
)
def test_a_schedule_is_always_active_from_its_longest_gap_on(schedule, gap):
    assert always_active([(schedule, gap)])
    assert not always_active([(schedule, gap - 1)])


def test_a_day_fits_by_month_or_by_week_where_neither_is_a_star():
    assert not always_active([("0 0 1 * mon", 6 * DAY)])
    assert always_active([("0 0 1 * mon", 7 * DAY)])
    assert always_active([("0 0 */2 * *", 2 * DAY)])
    assert always_active([("0 0 */2 * mon", 2 * DAY)])  # with a step, the star is one no more
    assert not always_active([("0 0 * * mon", 2 * DAY)])


def test_schedules_together():
    assert always_active([("0 8 * * *", 12 * 60), ("0 20 * * *", 12 * 60)])
    assert not always_active([("0 8 * * *", 12 * 60), ("0 20 * * *", 12 * 60 - 1)])
    assert not always_active([])


def test_many_times_of_a_day_count_as_one_time_does():
    """Seventy-two times of a day for ten minutes; the other schedule fills what is between them."""
    often, between = ("0,20,40 * * * *", 10), ("10,30,50 * * * *", 10)
    assert always_active([often, between])
    assert not always_active([often, ("10,30,50 * * * *", 9)])
    assert not always_active([often, ("10,30,50 1-23 * * *", 10)])
    assert always_active([often, ("10,30,50 1-23 * * *", 10), ("0 0 * * *", 60)])
    assert always_active([("*/2 * * * *", 1), ("1/2 * * * *", 1)])


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 59), min_size=1, max_size=20), st.integers(1, 40)), min_size=1, max_size=3
    )
)
def test_schedules_of_every_hour_as_a_clock_shows_them(windows):
    """Each minute of an hour, asked one by one: is there a hit within the duration before it?"""
    written = [(f"{','.join(map(str, sorted(hits)))} * * * *", minutes) for hits, minutes in windows]
    active = all(any((now - hit) % 60 < minutes for hits, minutes in windows for hit in hits) for now in range(60))
    assert always_active(written) == active


@pytest.mark.parametrize(
    "schedule",
    ["", "@reboot", "0 0 * *", "0 0 * * * *", "60 0 * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7",
     "a b c d e", "0 0 * * mon-", "5-1 * * * *", "*/0 * * * *", "0 0 * * " + "1," * 60 + "1", None, 5],
)  # fmt: skip
def test_what_is_no_schedule(schedule):
    assert not is_readable(schedule)


@given(st.text(alphabet="0123456789*/-,@ monjan?", max_size=30), st.integers(0, 10**6))
def test_no_text_crashes_it(schedule, minutes):
    readable, always = is_readable(schedule), always_active([(schedule, minutes)])
    assert readable or not always
