"""All orders of what workers, people, the sweep, kills and API answers do to a rollout (A15): tests/interleavings."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence

from tests.house.measures import ROOT
from tests.interleavings.scenes import SCENES
from tests.trust.parts import Part

DEPTHS = (1, 2)
WALKS = tuple((scene, depth) for depth in DEPTHS for scene in SCENES)
"""Shallow ones first: a share of the programme takes these."""


def walks(count: int, _: random.Random) -> Sequence[str]:
    """The first so many walks; what each walked is told on stderr."""
    return [_broken(scene, depth) for scene, depth in WALKS[:count]]


def _broken(scene: str, depth: int) -> str:
    words = [sys.executable, "-m", "tests.interleavings", "--scene", scene, "--depth", str(depth)]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if not told.stdout:
        return f"{scene} at depth {depth} was not walked: {told.stderr[-200:]}"
    found = json.loads(told.stdout)
    counts = ", ".join(f"{found[name]:,} {name}" for name in ("states", "steps", "orders"))
    sys.stderr.write(f"orders of events: {scene} at depth {depth}: {counts}\n")
    return "; ".join(f"{words} after {' - '.join(trail)}" for words, trail in found["broken"][:1])


PARTS = (Part(name="orders of events", full=len(WALKS), rules="A08, A10, A14, A15, A25, A36", series=walks),)
