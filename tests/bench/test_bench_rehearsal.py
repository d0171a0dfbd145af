"""The benchmark of rehearsals plays what it says, at a small size."""

from tests.bench.bench_rehearsal import TARGETS, Figures, Target, reached, rehearsed, said


def test_a_small_cluster_is_rehearsed_whole():
    assert rehearsed(4, batch=2) == (0, 4)


def test_targets_are_judged_by_time_and_memory():
    target = Target(nodes=10, batch=1, seconds=2.0, peak=100)
    quick, slow = Figures(seconds=1.0, cpu=1.0, peak=50), Figures(seconds=3.0, cpu=1.0, peak=50)
    large = Figures(seconds=1.0, cpu=1.0, peak=200)
    assert [reached(target, one) for one in (quick, slow, large)] == [True, False, False]
    assert said(target, quick).startswith("rehearsal of 10 nodes and 200 pods: 1.0 s (wanted 2)")
    assert [one.scaled(0.1).nodes for one in TARGETS] == [5, 200]
