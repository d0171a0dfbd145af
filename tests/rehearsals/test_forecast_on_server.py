"""What a rehearsal foretells comes true on the real API server, with the simulator running there too.

The plan is carried out by the executor's code through the client for live clusters. Time is simulated on both sides.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec
import pytest

from migrations_app.actions.plan import Plan, RolloutLimits
from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.clients.kubernetes.writer import open_writer
from migrations_app.collect.collect import collect
from migrations_app.rehearsals.assumptions import assumptions_of
from migrations_app.rehearsals.planning import UNNAMED, plan_on
from migrations_app.rehearsals.play import Failure, PlayOutcome, SimulatedCluster, play, play_with, set_up
from migrations_app.rehearsals.reading import read_objects
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.simulator import KarpenterSimulator
from tests.actions.on_server import installed
from tests.servers.apiserver import ApiServer
from tests.simulator.fleet import Size, alpha_fleet
from tests.simulator.http_api import HttpSimulatorApi

REACH = OutboundPolicy(allow_loopback=True)
FLEET = Size(nodes=4, slots=3, apps=2, unavailable=1, cpu="500m")
LIMITS = RolloutLimits(batch=2, per_hour=100, pool_percent=50)


@dataclass(frozen=True)
class Forecast:
    """What is foretold and what happens, in the same words."""

    finished: bool
    peak: int
    order: tuple[str, ...]
    refused: dict[str, set[str]]
    moved: int


def told(played: PlayOutcome, simulator: KarpenterSimulator) -> Forecast:
    measured = simulator.measurements
    refused = {by: found.pods for by, found in measured.held_by.items()}
    peak, order = measured.peak_nodes, tuple(measured.nodes_drained)
    return Forecast(played.stopped is None, peak, order, refused, measured.pods_moved)


@pytest.fixture
def server(clean_apiserver: ApiServer) -> ApiServer:
    """An alpha cluster whose Provisioner may drift, with a NodePool that takes over."""
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10", FEATURE_GATES="Drift=true")
    alpha_fleet(clean_apiserver, FLEET)
    inner = {"nodeClassRef": {"name": "default"}, "requirements": [ON_DEMAND]}
    pool = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "default"}}
    clean_apiserver.admin.create(pool | {"spec": {"template": {"spec": inner}}})
    return clean_apiserver


ON_DEMAND = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}


def foretold(server: ApiServer, action: str, **parameters: object) -> tuple[Plan, Behaviour, str, Forecast]:
    """The plan, how the cluster behaves, when it was read, and the forecast. The cluster is only read."""
    connection = read_kubeconfig(server.kubeconfig(server.admin_token).encode())
    with closing(open_live(connection, reach=REACH, limits=ClientLimits())) as api:
        inventory = collect(api, cluster="shop").inventory
        reading = read_objects(api, inventory)
    assumptions = assumptions_of(reading, inventory)
    stage = set_up(reading, assumptions.behaviour, identity=UNNAMED, failure=Failure())
    plan = plan_on(stage, inventory, action=action, parameters=parameters, limits=LIMITS)
    return plan, assumptions.behaviour, reading.taken_at, told(play(plan, stage), stage.simulator)


@contextmanager
def beside(server: ApiServer, behaviour: Behaviour, *, at: str) -> Iterator[SimulatedCluster]:
    """The simulator on the server, whose time begins when the cluster was read."""
    clock = SimulatedClock(datetime.fromisoformat(at))
    with closing(HttpSimulatorApi.of(server)) as api:
        simulator = KarpenterSimulator(api, behaviour, clock=clock)
        simulator.settle()
        yield SimulatedCluster(clock, simulator)


@pytest.mark.apiserver
@pytest.mark.parametrize(
    ("action", "parameters"),
    [("roll_nodes", {}), ("taint_and_drift", {}), ("forced_deletion", {"provisioners": ["default"]})],
)
def test_peak_refused_evictions_and_order_of_nodes_are_foretold_exactly(server, action, parameters):
    plan, behaviour, at, forecast = foretold(server, action, **parameters)
    connection = read_kubeconfig(server.kubeconfig(server.admin_token).encode())
    with (
        beside(server, behaviour, at=at) as stage,
        closing(open_writer(connection, reach=REACH, limits=ClientLimits())) as writer,
    ):
        mine = msgspec.structs.replace(plan, identity=writer.identity())
        happened = told(play_with(writer, mine, stage=stage), stage.simulator)
    assert happened == forecast
    assert (forecast.finished, forecast.moved >= 12, forecast.peak > 4) == (True, True, True)
    assert len([name for name in forecast.order if name.startswith("ip-10-20-")]) == 4, "the old nodes"
    assert set(forecast.refused) <= {"shop/app-0", "shop/app-1"}
    assert forecast.refused, "budgets of one pod hold evictions of two nodes"
