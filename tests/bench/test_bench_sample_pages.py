"""The benchmark of the sample pages works: what it measures on SQLite, and when a target is missed."""

from dataclasses import replace

from tests.bench.bench_sample_pages import CLUSTER_PAGES, FLEET_PAGES, SCHEMA, PageCost, measured, table, verdicts

FIRST = PageCost("readiness of a", milliseconds=90.0, size=200_000, compressed=30_000, queries=11)
OTHER = PageCost("/", milliseconds=40.0, size=50_000, compressed=7_000, queries=9)


def reached(*costs: PageCost) -> list[bool]:
    return [one for one, _ in verdicts("sqlite", list(costs))]


def test_the_slowest_page_and_the_size_of_readiness_are_judged() -> None:
    assert reached(FIRST, OTHER) == [True, True]
    assert reached(FIRST, replace(OTHER, milliseconds=101.0)) == [False, True]
    assert reached(replace(FIRST, compressed=40_001), OTHER) == [True, False]


def test_the_schema_is_judged_by_a_limit_of_its_own() -> None:
    schema = PageCost(SCHEMA, milliseconds=50.0, size=1_000_000, compressed=90_000, queries=3)
    assert reached(FIRST, schema) == [True, True, True]
    assert reached(FIRST, replace(schema, milliseconds=51.0)) == [True, True, False]


def test_the_dearest_page_stands_first_in_the_table() -> None:
    lines = table("sqlite", [OTHER, FIRST]).strip().splitlines()
    assert lines[2] == "| `readiness of a` | 90 | 200 | 30 | 11 |"


def test_every_page_of_the_sample_fleet_is_measured() -> None:
    found = measured("sqlite", rounds=1)
    assert len(found) == len(FLEET_PAGES) + len(CLUSTER_PAGES)
    assert all(cost.milliseconds > 0 and cost.compressed < cost.size and cost.queries > 0 for cost in found)
