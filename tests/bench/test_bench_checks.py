"""The benchmark of the checks works, at a small size: no word about how fast, but evidence stays small at any."""

from dataclasses import replace

import pytest

from tests.bench import bench_checks
from tests.bench.bench_checks import (
    SCENES,
    WALKED,
    WANTED_BYTES,
    Scene,
    measured,
    said,
    walk_measured,
    walk_page,
    walk_said,
)


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


@pytest.mark.parametrize("scene", WALKED, ids=lambda scene: scene.version)
def test_a_small_scene_is_walked_over_every_hop(scene: Scene) -> None:
    assert (scene.nodes, scene.pods) == (2_000, 40_000)
    found = walk_measured(scene.scaled(0.01))
    assert found.hops >= 2
    assert walk_said(found).startswith(f"walk from {scene.version}: 20 nodes and 400 pods, {found.hops} hops ")
    row = f"| {scene.version} | 20 | 400 | {found.hops} | 1.00 | 1.20 | 1.20 |\n"
    assert walk_page([replace(found, judge=1.0, walk=1.2)]).endswith(row)
    assert replace(found, judge=1.0, walk=1.5).reached
    assert not replace(found, judge=1.0, walk=1.51).reached
