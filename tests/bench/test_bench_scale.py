"""The benchmark of 10,000 nodes works: copies are objects of their own, and figures are judged."""

from dataclasses import replace

import pytest

from tests.bench import bench_scale, clones
from tests.bench.bench_scale import FULL, ScaleFigures, verdicts
from tests.bench.load import WORKLOADS, Size
from tests.bench.measure import Figures

REACHED = Figures(seconds=100.0, cpu=8.0, peak=250 << 20)
FOUND = ScaleFigures(
    size=FULL,
    plain=replace(REACHED, seconds=96.0),
    scan=REACHED,
    again=replace(REACHED, seconds=30.0),
    alone=replace(REACHED, seconds=10.0),
    busy=2.0,
)


@pytest.mark.apiserver
def test_copies_are_objects_of_their_own(clean_apiserver):
    clones.fill(clean_apiserver, Size(nodes=3, pods=WORKLOADS + 40))
    pods = [one for one in clean_apiserver.admin.items("/api/v1/pods") if one["metadata"]["namespace"] != "karpenter"]
    assert (len(pods), len({one["metadata"]["uid"] for one in pods})) == (WORKLOADS + 40, WORKLOADS + 40)
    nodes = {one["metadata"]["name"]: one for one in clean_apiserver.admin.items("/api/v1/nodes")}
    assert sorted(nodes) == [clones.NODE.format(number) for number in range(3)]
    assert {one["spec"]["nodeName"] for one in pods} == set(nodes)
    machines = clean_apiserver.admin.items("/apis/karpenter.sh/v1alpha5/machines")
    assert {one["status"]["nodeName"]: one["status"]["providerID"] for one in machines} == {
        name: one["spec"]["providerID"] for name, one in nodes.items()
    }
    assert len({one["metadata"]["uid"] for one in (*machines, *nodes.values())}) == 6


def test_a_copy_of_another_length_is_refused():
    original = clones.Original("/registry/pods/a/p-0", b"p-0 u", "u" * 36)
    assert original.copy({"p-0": "p-7"})[0] == "/registry/pods/a/p-7"
    with pytest.raises(ValueError, match="not of one length"):
        original.copy({"p-0": "p-10"})


def test_the_full_size_is_that_of_the_targets():
    assert (Size(nodes=10_000, pods=150_000), 120.0, 300) == (FULL, bench_scale.MAX_SECONDS, bench_scale.MAX_MIB)


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"scan": replace(REACHED, seconds=121.0)}, [0, 2]),
        ({"scan": replace(REACHED, peak=301 << 20)}, [1]),
        ({"plain": replace(REACHED, seconds=95.0)}, [2]),
        ({"again": replace(REACHED, seconds=34.0)}, [3]),
        ({"alone": replace(REACHED, seconds=21.0)}, [4]),
    ],
)
def test_figures_reach_their_targets_or_miss_them(changed, missed):
    judged = [reached for reached, _ in verdicts(replace(FOUND, **changed))]
    assert [place for place, reached in enumerate(judged) if not reached] == missed
