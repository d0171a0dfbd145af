"""The programme itself: a small part of it is tried, what does not hold is counted and told, and can be tried again."""

import os
import random
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.house.measures import ROOT
from tests.servers import small_disk
from tests.trust import parts
from tests.trust.parts import Part, case, dice_of, tried
from tests.trust.shortage import place
from tests.trust.simulated import played
from tests.trust.starved import DISK, FILES
from tests.trust.table import page
from tests.trust.tampering import changed_tree

SMALL_DISK = pytest.mark.skipif(not small_disk.POSSIBLE, reason="a small disk of our own needs root")
AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KARPDASH_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, "-m", "tests.trust", *words],
        cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_small_part_of_the_programme_holds(tmp_path):  # T01, T05, T23, T26, K05
    names = ("kubeconfigs", "bundles", "conversions", "values", "policies", "outbound spellings", "audit log changed")
    words = [word for name in names for word in ("--part", name)]
    told = command("--scale", "0.0004", "--seed", "7", *words, "--write", str(tmp_path / "table.md"))
    assert (told.returncode, (tmp_path / "table.md").read_text()) == (0, told.stdout), told.stdout + told.stderr
    assert f"seed 7, scale 0.0004, Python {sys.version.split()[0]}" in told.stdout
    assert "7 of 7 parts held" in told.stdout
    asked = [line.split(" | ")[2:5] for line in told.stdout.splitlines() if line.startswith("| ")][2:]
    assert asked == [[one, one, "0"] for one in ("400", "40", "40", "40", "40", "2", "4")]


@pytest.mark.parametrize(
    ("name", "scale", "asked"),
    [
        ("lying servers", "0.001", 3),
        ("descriptors out", "0.01", 3),
        pytest.param("disk full", "0.01", 3, marks=SMALL_DISK),
        ("clocks that jump", "0.002", 2),
    ],
)
def test_one_part_holds(name: str, scale: str, asked: int) -> None:  # T06, R10, R18, R25, R36
    told = command("--scale", scale, "--seed", "7", "--part", name)
    assert (told.returncode, f"| {asked} | {asked} | 0 |" in told.stdout) == (0, True), told.stdout + told.stderr


def test_a_small_fleet_is_scanned_in_every_interval():  # R10, R20, R26
    assert list(played(3, random.Random(7), what="fleet", size=("30",))) == ["", "", ""]


@pytest.mark.parametrize("what", [FILES, pytest.param(DISK, marks=SMALL_DISK)])
def test_a_shortage_is_felt(what):
    """The positive control: with nothing left no scan sees the whole cluster."""
    with place(what) as (worker, cluster):
        told = worker.ask("scan", cluster, what, 0)
        assert told is None or told[0] != "done" or worker.ask("told")["whole"] != worker.truth


@pytest.mark.postgres
@pytest.mark.redis
def test_a_database_that_is_killed_under_scans_loses_none():  # R01
    told = command("--scale", "0.01", "--seed", "7", "--part", "kills of the database")
    assert (told.returncode, "| kills of the database | R01 | 1 | 1 | 0 |" in told.stdout) == (0, True), told.stdout


def test_a_part_that_is_none_is_refused():
    told = command("--part", "kubeconfig")
    assert (told.returncode, told.stdout) == (2, "")
    assert "no such part: kubeconfig; there are kubeconfigs, bundles," in told.stderr


def crashing(dice):
    raise RecursionError("too deep")


def opening(dice):
    (ROOT / "README.md").read_text()
    return ""


def lingering(dice):
    while True:
        dice.random()


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (crashing, "RecursionError: too deep"),
        (opening, "touched [('open', "),
        (lingering, "TimeoutError: more than"),
        (lambda dice: "did not hold", "did not hold"),
        (lambda dice: "" if dice.random() < 2 else "never", ""),
    ],
    ids=["crash", "file", "endless", "told", "held"],
)
def test_what_does_not_hold_is_told_with_its_case(trial, why, monkeypatch):  # the positive controls
    monkeypatch.setattr(parts, "MAX_SECONDS", 0.05)
    part = Part(name="tried", full=100, rules="T01", trial=trial)
    result = tried(part, seed=7, scale=0.03)
    assert (result.asked, result.done, [number for number, _ in result.failures]) == (3, 3, [0, 1, 2] if why else [])
    assert all(told.startswith(why) for _, told in result.failures)
    text = page([result], seed=7, scale=0.03, at=AT, machine="here")
    assert text.startswith(f"2026-01-02 03:04 UTC, seed 7, scale 0.03, here: {int(not why)} of 1 parts held.\n")
    assert ('`python -m tests.trust --part "tried" --seed 7 --case 0`' in text) is bool(why)
    assert case(part, seed=7, number=0).startswith(why)


def test_a_series_is_counted_by_its_answers():
    part = Part(name="kills", full=10, rules="R02", series=lambda count, dice: ["", "lost"] + [""] * (count - 3))
    result = tried(part, seed=7, scale=1)
    assert (result.asked, result.done, result.failures, result.held) == (10, 9, ((1, "lost"),), False)
    assert "- kills 1: lost\n" in page([result], seed=7, scale=1, at=AT, machine="here")


def test_a_case_is_the_same_for_the_same_seed_and_number():
    part = Part(name="tried", full=1, rules="")
    tree = {"a": [1, {"b": "c"}], "d": {"e": None}}

    def made(seed, number):
        return changed_tree(tree, dice_of(part, seed=seed, number=number))

    assert made(1, 2) == made(1, 2)
    assert len({repr(made(1, number)) for number in range(50)}) > 25
    assert tree == {"a": [1, {"b": "c"}], "d": {"e": None}}
