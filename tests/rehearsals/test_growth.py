"""The work of a rehearsal grows with the cluster and no faster: lines of Python that run are counted, not seconds."""

from collections.abc import Callable

import pytest

from migrations_app.actions.plan import RolloutLimits
from migrations_app.rehearsals.rehearse import RehearsalRequest, rehearse_cluster
from migrations_app.simulator.placement.room import RoomIndex
from tests.house.growth import assert_linear
from tests.rehearsals.scene import Scene
from tests.simulator.rooms import node, shape

LIMITS = RolloutLimits(batch=4, per_hour=10_000, pool_percent=50)


def rehearsal(action: str) -> Callable[[int], Callable[[], object]]:
    def of(size: int) -> Callable[[], object]:
        bundle = Scene(nodes=size, pods=6, apps=max(2, size // 8)).bundle()
        parameters = {"provisioners": ["web"]} if action == "forced_deletion" else {}
        return lambda: rehearse_cluster(bundle, RehearsalRequest(action, parameters, LIMITS), cluster="shop")

    return of


@pytest.mark.parametrize("action", ["roll_nodes", "forced_deletion"])
def test_a_rehearsal_of_twice_the_nodes_costs_twice_as_much(action):
    assert_linear(rehearsal(action), sizes=(16, 32, 64))


def test_a_pod_that_finds_no_room_costs_nothing_until_room_is_gained():
    def searches(size: int) -> Callable[[], object]:
        index, waiting = RoomIndex(), shape(cpu=500)
        for number in range(size):
            index.put(node(f"n{number}", cpu=400), gained=True)
        return lambda: [index.find(waiting) for _ in range(size)]

    assert_linear(searches, sizes=(200, 400, 800))
