"""Lengths of time in words."""

from datetime import timedelta

import pytest

from migrations_app.actions.durations import duration_text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (95, "1 min 35 s"),
        (7500, "2 h 5 min"),
        (86_399, "23 h 59 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
    ],
)
def test_the_two_largest_units(seconds, words):
    assert duration_text(timedelta(seconds=seconds)) == words
