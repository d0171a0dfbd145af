"""The simulator: one pass takes in what changed in the cluster and does what is due."""

from datetime import UTC, datetime

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.budgets import BudgetController
from migrations_app.simulator.changes import ClusterChanges, ListedChanges
from migrations_app.simulator.clock import MachineClock, SimulatedClock, SimulatorClock
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.garbage import OrphanCollector
from migrations_app.simulator.instance_sizes import uniform_size
from migrations_app.simulator.karpenter.disruption import DisruptionController
from migrations_app.simulator.karpenter.launch import NodeLauncher
from migrations_app.simulator.karpenter.provisioning import NodeProvisioner
from migrations_app.simulator.karpenter.termination import TerminationController
from migrations_app.simulator.measurements import Measurements, measure_budgets
from migrations_app.simulator.memory import SimulatorMemory, WaitUnderWay
from migrations_app.simulator.pods import PodController
from migrations_app.simulator.workloads import WorkloadController

MOST_PASSES = 400


class RestlessCluster(RuntimeError):
    """Controllers undo each other's work, or ask again and again for what is refused."""


class KarpenterSimulator:
    """`changes` tells what changed in the cluster; without it everything is listed in each pass."""

    def __init__(
        self,
        api: SimulatorApi,
        behaviour: Behaviour | None = None,
        *,
        clock: SimulatorClock | None = None,
        changes: ClusterChanges | None = None,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self._api: SimulatorApi = api
        self._changes: ClusterChanges = changes or ListedChanges(api)
        self._agenda = Agenda(clock or MachineClock())
        self.measurements = Measurements(self._agenda)
        self._workloads = WorkloadController(api, self.behaviour)
        self._pods = PodController(api, self.behaviour, agenda=self._agenda)
        self._launcher = NodeLauncher(api, self.behaviour, agenda=self._agenda)
        self._garbage = OrphanCollector(api)
        self._begin()

    @property
    def lowest(self) -> dict[str, int]:
        """The smallest margin that each budget ever had: healthy pods above those it asks for."""
        return {name: shortfall.lowest for name, shortfall in self.measurements.margins.items()}

    @property
    def no_place(self) -> dict[str, str]:
        """Why pods that wait got no node: namespace and name of one of each kind, with a code."""
        pods = self.state.pods
        reasons = self._provisioner.no_place
        return {f"{pods[uid].namespace}/{pods[uid].name}": reason for uid, reason in reasons.items() if uid in pods}

    def _begin(self) -> None:
        """Knows nothing yet. Another release counts with hashes of its own: nothing drifts by the upgrade alone."""
        self._version = self.behaviour.version
        self._changes.restart()
        size = uniform_size(self.behaviour.slots).allocatable
        self.state = ClusterState(self._version, unknown_size=size)
        self._budgets = BudgetController(self._api)
        self._provisioner = NodeProvisioner(self.behaviour, self._agenda, launcher=self._launcher)
        self._disruption = DisruptionController(
            self._api, self.behaviour, agenda=self._agenda, budgets=self._budgets, provisioner=self._provisioner
        )
        self._termination = TerminationController(
            self._api,
            self.behaviour,
            agenda=self._agenda,
            budgets=self._budgets,
            launcher=self._launcher,
            measurements=self.measurements,
        )

    def memory(self) -> SimulatorMemory:
        """What is under way and stands in no object of the cluster."""
        count, launches = self._launcher.under_way()
        waits = [
            WaitUnderWay(key=[key] if isinstance(key, str) else [*map(str, key)], single=isinstance(key, str), at=at)
            for key, at in self._agenda.moments().items()
            if isinstance(key, str | tuple)
        ]
        return SimulatorMemory(made=count, launches=launches, waits=waits, awaited=self._disruption.awaited())

    def recall(self, memory: SimulatorMemory) -> None:
        """Goes on where another simulator of the same cluster stopped; before the first pass."""
        self._agenda.recall({wait.key[0] if wait.single else tuple(wait.key): wait.at for wait in memory.waits})
        self._launcher.recall(memory.made, memory.launches)
        self._disruption.recall(memory.awaited)

    def work(self) -> int:
        """Does one pass; returns how many requests changed something."""
        before, state = self._api.writes, self._read()
        self._budgets.learn(state)
        measure_budgets(self.measurements, state, budgets=self._budgets)
        self._pods.end(state)
        self._workloads.work(state)
        self._pods.place(state)
        self._pods.run(state)
        self._budgets.learn(state)
        self._budgets.work(state)
        self._garbage.work(state, unserved=self._changes.unserved)
        self._disruption.note_hashes(state)
        self._provisioner.work(state)
        self._launcher.work(state)
        self._disruption.work(state)
        self._termination.work(state)
        self.measurements.sample(state, coming=len(self._launcher.coming))
        return self._api.writes - before

    def settle(self, *, passes: int = MOST_PASSES) -> int:
        """Works until nothing is left to do now; returns how many passes that took.

        Raises RestlessCluster without an end.
        """
        for number in range(passes):
            if not self.work():
                return number
        raise RestlessCluster(f"the cluster is not at rest after {passes} passes")

    def advance(self, clock: SimulatedClock, to: datetime) -> None:
        """Works until this time, and jumps from one moment at which something happens to the next."""
        while True:
            self.settle()
            moment = self._agenda.next()
            if moment is None or moment > to.timestamp():
                clock.advance(max(to, clock.now()))
                self.settle()
                return
            clock.advance(max(datetime.fromtimestamp(moment, UTC), clock.now()))

    def next_moment(self) -> datetime | None:
        """When something happens next; None if nothing is under way."""
        moment = self._agenda.next()
        return None if moment is None else datetime.fromtimestamp(moment, UTC)

    def _read(self) -> ClusterState:
        if self._version != self.behaviour.version:
            self._begin()
        for change in self._changes.read(self.state.paths):
            self.state.apply(change)
        return self.state
