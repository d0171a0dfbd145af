"""The walk itself: in no order with one interruption an invariant breaks, and each invariant can break."""

import json
import os
import subprocess
import sys

import pytest

from tests.house.measures import ROOT
from tests.interleavings.invariants import AT_REST, INVARIANTS

pytestmark = pytest.mark.timeout(1200)


def walk(*words: str) -> tuple[int, list[dict]]:
    """Exit code, and what each line says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KARPDASH_", "DJANGO_"))}
    told = subprocess.run(
        [sys.executable, "-m", "tests.interleavings", *words],
        cwd=ROOT, env=env | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.stdout, told.stderr
    return told.returncode, [json.loads(line) for line in told.stdout.splitlines()]


def test_in_no_order_with_one_interruption_an_invariant_breaks():  # A08, A10, A14, A15, A18, A19, A22, A25, A36
    code, (found,) = walk("--scene", "patch", "--depth", "1")
    assert (code, found["broken"]) == (0, [])
    assert (found["states"] > 600, found["steps"] > 900, found["orders"] > 30) == (True, True, True)


def test_each_invariant_is_broken_by_a_planted_fault():  # A15
    code, found = walk("--planted")
    assert [(one["fault"], one["found"]) for one in found] == [(one["fault"], [one["breaks"]]) for one in found]
    assert (code, {one["breaks"] for one in found}) == (0, {*INVARIANTS, *AT_REST})
