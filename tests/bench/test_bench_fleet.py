"""The benchmarks of the fleet and of its pages work, at a small size: no word about how fast."""

from dataclasses import replace

import pytest

from tests.bench import bench_fleet, bench_pages
from tests.bench.bench_fleet import FULL
from tests.bench.bench_pages import CROWD, EMPTY, JUDGED
from tests.bench.fleet_scene import SLOTS, Size

FLEET = bench_fleet.Figures(FULL, first=300.0, scanned=(900, 900), lags=tuple(float(n) for n in range(60)))
PAGES = bench_pages.Figures(
    database="sqlite",
    snapshots=251_000,
    milliseconds=dict.fromkeys((*JUDGED, EMPTY), 20.0),
    queries={"fleet page": 7, "API list": 6, JUDGED[1]: 7},
    queries_of_few={"fleet page": 7, "API list": 6, JUDGED[1]: 7},
    crowd={"200": CROWD},
)


def reached(verdicts):
    return [one for one, _ in verdicts]


def test_the_full_size_is_that_of_the_targets():
    assert (FULL.clusters, FULL.hanging, sum(SLOTS.values()), bench_pages.CLUSTERS) == (1000, 100, 16, 1000)


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, [True, True, True]),
        ({"scanned": (900, 899)}, [True, False, True]),
        ({"lags": (61.0,) * 9}, [True, True, False]),
        ({"lags": ()}, [True, True, False]),
    ],
)
def test_the_fleet_reaches_its_targets_or_misses_them(changed, wanted):
    assert reached(bench_fleet.verdicts(replace(FLEET, **changed))) == wanted


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"milliseconds": dict.fromkeys((*JUDGED, EMPTY), 101.0)}, [0, 1, 2]),
        ({"milliseconds": {**dict.fromkeys(JUDGED, 60.0), EMPTY: 9.0}}, [0, 1, 2]),
        ({"crowd": {"200": CROWD - 1, "503": 1}}, [3]),
        ({"crowd": {"200": CROWD - 1}}, [3]),
        ({"queries": {"fleet page": 8, "API list": 6, JUDGED[1]: 7}}, [4]),
    ],
)
def test_pages_reach_their_targets_or_miss_them(changed, missed):
    found = reached(bench_pages.verdicts(replace(PAGES, **changed)))
    assert [place for place, one in enumerate(found) if not one] == missed


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_pages_are_measured(request, kind, monkeypatch):
    if kind == "postgres":
        request.getfixturevalue("postgres_url")
    monkeypatch.setattr(bench_pages, "CROWD", 10)
    found = bench_pages.measured(kind, 50, rounds=2)
    assert (found.snapshots, found.crowd) == (50 * 251, {"200": 10})
    assert found.queries == found.queries_of_few
    assert set(found.milliseconds) == {EMPTY, *bench_pages.PAGES}


def test_workers_share_the_slots_of_the_scans():
    assert Size(clusters=1, hanging=0, interval=1, workers=4).slots == SLOTS | {"scan": 2}


@pytest.mark.parametrize(("scanned", "wanted"), [((800,), [True, True]), ((799,), [False, True])])
def test_of_a_window_those_that_are_due_count(scanned, wanted):
    found = replace(FLEET, scanned=scanned, due=800, window=600)
    assert reached(bench_fleet.verdicts(found)) == wanted


@pytest.mark.postgres
@pytest.mark.redis
def test_a_window_of_an_interval_is_measured(monkeypatch):
    monkeypatch.setattr(bench_fleet, "WARM", 20.0)
    monkeypatch.setattr(bench_fleet, "WANTED_LAG", 30.0)
    found = bench_fleet.watched(Size(clusters=6, hanging=0, interval=30, workers=2), window=30)
    assert (found.due, found.scanned, len(found.lags)) == (6, (6,), 6)


def test_an_interval_of_nothing_is_measured_without_a_fleet(monkeypatch):
    class Still:
        size = Size(clusters=2, hanging=1, interval=1)

        def one(self, _question):
            return 1

        def rows(self, _question):
            return [(0.5,), (1.5,)]

    made = Still()
    assert (bench_fleet._scanned(made, 0.0), bench_fleet._lags(made, 0.0)) == ((1, 1), (0.5, 1.5))
