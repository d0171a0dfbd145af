"""The simulator: one pass reads the cluster and does what is due."""

from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.clock import MachineClock, SimulatorClock
from migrations_app.simulator.cluster_view import ClusterView, read_cluster
from migrations_app.simulator.garbage import GarbageCollector
from migrations_app.simulator.karpenter import KarpenterController
from migrations_app.simulator.pods import PodController, counted

MOST_PASSES = 400


class KarpenterSimulator:
    """`lowest` is the smallest margin that each budget ever had: healthy pods above those it asks for."""

    def __init__(
        self, api: SimulatorApi, behaviour: Behaviour | None = None, *, clock: SimulatorClock | None = None
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.lowest: dict[str, int] = {}
        self._api = api
        self._controllers = (
            PodController(api, self.behaviour),
            GarbageCollector(api),
            KarpenterController(api, self.behaviour, clock or MachineClock()),
        )

    def work(self) -> int:
        """Does one pass; returns how many requests changed something."""
        before = self._api.writes
        view = read_cluster(self._api, self.behaviour.version)
        self._measure(view)
        for controller in self._controllers:
            controller.work(view)
        return self._api.writes - before

    def settle(self, *, passes: int = MOST_PASSES) -> int:
        """Works until nothing is left to do; returns how many passes that took. Raises RuntimeError without an end."""
        for number in range(passes):
            if not self.work():
                return number
        raise RuntimeError(f"the cluster is not at rest after {passes} passes")

    def _measure(self, view: ClusterView) -> None:
        for budget in view.budgets:
            name = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
            _, healthy, wanted = counted(view, budget)
            self.lowest[name] = min(self.lowest.get(name, healthy - wanted), healthy - wanted)
