"""The benchmark of the checks works, at a small size: no word about how fast, but evidence stays small at any."""

from dataclasses import replace

import pytest

from tests.bench import bench_checks
from tests.bench.bench_checks import SCENES, WANTED_BYTES, Scene, measured, said


def test_the_full_size_is_that_of_the_targets() -> None:
    assert [(scene.nodes, scene.pods) for scene in SCENES] == [(10_000, 150_000)] * 2
    assert SCENES[0].scaled(0.001) == Scene(version="0.32.10", nodes=10, pods=200, workloads=200)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.version)
def test_a_small_scene_is_judged_at_every_hop(scene: Scene) -> None:
    found = measured(scene.scaled(0.04))
    assert [finding.summary for finding in found.findings if finding.summary.startswith("check failed")] == []
    assert found.hops == len({finding.hop for finding in found.findings}) >= 2
    assert 10_000 < found.evidence < WANTED_BYTES
    assert said(found).startswith(f"checks on {scene.version}: 400 nodes and 6,000 pods decoded in ")


def test_what_is_slow_or_large_misses_the_target() -> None:
    good = bench_checks.Figures(
        scene=SCENES[0], decode=3.0, judge=1.0, hops=4, evidence=999_999, slowest=(), findings=()
    )
    assert good.reached
    assert not replace(good, judge=1.01).reached
    assert not replace(good, evidence=WANTED_BYTES).reached
