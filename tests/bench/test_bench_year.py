"""The benchmark of a year of history works, at a small size: no word about how fast."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.bench import bench_year
from tests.bench.bench_year import PAGES, YEAR, Year, kept

FOUND = Year(
    database="postgresql",
    clusters=100,
    hours=24,
    size=400_000_000,
    largest={},
    first_day=dict.fromkeys(PAGES, 40.0),
    year=dict.fromkeys(PAGES, 49.0),
    cold={},
    rows={},
    swept=0,
    filled=1.0,
)
SLOW = dict.fromkeys(PAGES, 49.0) | {"fleet": 51.0}
OF_A_CLUSTER = 294
"""Snapshots that retention leaves of a year: 169 of a week, 83 days, the rest by the week."""


def test_the_full_size_is_that_of_the_targets():
    assert (bench_year.CLUSTERS, bench_year.MAX_BYTES, YEAR) == (1000, 5_000_000_000, 8760)


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"size": 500_000_001}, [0]),
        ({"clusters": 80}, []),
        ({"clusters": 79}, [0]),
        ({"swept": 1}, [1]),
        ({"year": SLOW}, [2]),
    ],
)
def test_figures_reach_their_targets_or_miss_them(changed, missed):
    judged = [reached for reached, _ in bench_year.verdicts(replace(FOUND, **changed))]
    assert [place for place, reached in enumerate(judged) if not reached] == missed


def test_retention_decides_what_is_left_of_a_year():
    found = kept(datetime(2026, 11, 23, 12, 0, tzinfo=UTC), YEAR)
    assert len(found) == OF_A_CLUSTER
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_year_is_filled_and_measured(request, kind):
    if kind == "postgres":
        request.getfixturevalue("postgres_url")
    found = bench_year.measured(2, hours=24 * 30, kind=kind, rounds=1)
    assert set(found.year) == set(found.first_day) == set(PAGES)
    assert (found.swept, found.rows["LegacyDay"]) == (0, 2 * 365)
    assert found.rows["Snapshot"] >= 2 * 280
    # Each change is a content of its own; all but the newest are packed, and have no findings as rows.
    assert 2 * 12 <= found.rows["Content"] <= 2 * 14
    assert found.rows["packed"] == found.rows["Content"] - 2
    assert 0 < found.rows["FindingRow"] <= 2 * 400
    assert found.size > 1_000_000
