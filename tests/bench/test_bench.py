"""The benchmark works: a hundredth of its size, and no word about how fast."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.bench.load import Size
from tests.bench.measure import ROOT, FailedError, Figures, fastest, measured, outside
from tests.bench.table import Results, table, verdicts
from tests.servers.apiserver import installed

FIGURES = Figures(seconds=2.0, cpu=1.0, peak=200 << 20, bytes_moved=3_000_000, objects=400)
LINES = ("plain paged GETs", "our whole scan: connect", "our whole scan with 133 pods", "official typed", "idle worker")
RESULTS = Results(
    size=Size.scaled(1),
    rounds=3,
    filled=80,
    idle=replace(FIGURES, peak=100 << 20),
    third=FIGURES,
    plain=FIGURES,
    scan=FIGURES,
    typed=replace(FIGURES, seconds=20.0),
    kubectl=None,
)


@pytest.mark.apiserver
def test_a_hundredth_of_it_runs_through() -> None:
    installed()
    env = {**os.environ, "KARPDASH_BENCH_SCALE": "0.01"}
    command = [sys.executable, "-m", "tests.bench"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in LINES if f"| {line}" not in done.stdout] == []
    assert ("MISSED" in done.stdout, "reached" in done.stdout) == (False, False)


def test_the_full_size_is_that_of_the_targets() -> None:
    assert Size.scaled(1) == Size(nodes=2000, pods=40_000)
    assert Size.scaled(0.01) == Size(nodes=20, pods=400)


def test_figures_within_the_targets_reach_them() -> None:
    assert [reached for reached, _ in verdicts(RESULTS)] == [True, True, True, True]


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({"plain": replace(FIGURES, seconds=1.3)}, [0]),
        ({"idle": replace(FIGURES, peak=49 << 20)}, [1]),
        ({"typed": replace(FIGURES, seconds=11.9)}, [2]),
        ({"third": replace(FIGURES, peak=150 << 20)}, [3]),
    ],
)
def test_figures_beyond_a_target_miss_it(changed: dict[str, Figures], missed: list[int]) -> None:
    found = replace(RESULTS, **changed)  # type: ignore[arg-type]  # each key is a field of Results
    assert [place for place, (reached, _) in enumerate(verdicts(found)) if not reached] == missed
    assert table(found).count("- MISSED: ") == len(missed)
    assert "MISSED" not in table(found, judged=False)


def test_the_fastest_round_is_shown_with_the_largest_peak() -> None:
    rounds = [replace(FIGURES, seconds=float(seconds), peak=10 - seconds) for seconds in (3, 1, 2)]
    assert fastest(rounds) == replace(FIGURES, seconds=1.0, peak=9)


def test_work_is_measured_in_this_process() -> None:
    taken = bytearray(64 << 20)
    found = measured(lambda: (len(taken), 7))
    assert (found.bytes_moved, found.objects, found.seconds >= 0, found.peak >= len(taken)) == (64 << 20, 7, True, True)


def test_a_program_that_fails_gives_no_figures() -> None:
    assert outside(["true"]).peak > 0
    with pytest.raises(FailedError, match="false ended with 1"):
        outside(["false"])
