"""Maintenance windows, in UTC."""

from datetime import UTC, datetime

import pytest

from migrations_app.actions.windows import any_open, is_open

MONDAY_NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
AT_NOON = {"days": [0], "from": "12:00", "to": "13:00"}
AT_NIGHT = {"days": [0], "from": "22:00", "to": "02:00"}


@pytest.mark.parametrize(
    ("window", "now", "opened"),
    [
        (AT_NOON, MONDAY_NOON, True),
        (AT_NOON, MONDAY_NOON.replace(hour=13), False),
        (AT_NOON, MONDAY_NOON.replace(day=24), False),
        (AT_NIGHT, MONDAY_NOON, False),
        (AT_NIGHT, MONDAY_NOON.replace(hour=22), True),
        (AT_NIGHT, MONDAY_NOON.replace(day=24, hour=1), True),
        (AT_NIGHT, MONDAY_NOON.replace(day=24, hour=2), False),
        (AT_NIGHT, MONDAY_NOON.replace(hour=1), False),
        ("odd", MONDAY_NOON, False),
    ],
)
def test_when_a_window_is_open(window, now, opened):
    assert is_open(window, now) is opened


@pytest.mark.parametrize(
    ("windows", "opened"),
    [([], True), ([AT_NIGHT], False), ([AT_NIGHT, AT_NOON], True), ([AT_NIGHT, "odd"], False)],
)
def test_without_a_window_it_is_always_open(windows, opened):
    assert any_open(iter(windows), MONDAY_NOON) is opened
