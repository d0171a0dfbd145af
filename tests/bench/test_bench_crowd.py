"""The benchmark of readers beside rollouts works, at a small size: no word about how fast."""

from dataclasses import replace

import pytest

from tests.bench import bench_crowd
from tests.bench.bench_crowd import Crowd

FOUND = Crowd(
    readers=500,
    rollouts=20,
    answers={"200": 900, "304": 80},
    answered=500,
    seconds=(0.1, 0.2),
    running=20,
    moved=20,
    lines=400,
)


def test_the_full_size_is_that_of_the_targets():
    assert (bench_crowd.READERS, bench_crowd.ROLLOUTS) == (500, 20)


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"answers": {"200": 980, "502": 1}}, [0]),
        ({"answers": {"200": 980, "301": 1}}, [0]),
        ({"answers": {"200": 980, bench_crowd.NO_ANSWER: 1}}, [0]),
        ({"answers": {}, "answered": 0}, [0, 1]),
        ({"answered": 499}, [1]),
        ({"running": 19}, [2]),
        ({"moved": 19}, [2]),
    ],
)
def test_figures_reach_their_targets_or_miss_them(changed, missed):
    judged = [reached for reached, _ in bench_crowd.verdicts(replace(FOUND, **changed))]
    assert [place for place, reached in enumerate(judged) if not reached] == missed


@pytest.mark.apiserver
@pytest.mark.postgres
@pytest.mark.redis
def test_readers_beside_rollouts_are_counted():
    found = bench_crowd.measured(6, 2, 20.0)
    assert set(found.answers) <= bench_crowd.GOOD
    assert (found.answered, found.running, found.moved) == (6, 2, 2)
    assert sum(found.answers.values()) == len(found.seconds) >= 6
