"""The simulator: each pass reads what changed in the cluster and lets every controller work."""

from datetime import UTC, datetime

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.budgets import BudgetController
from migrations_app.simulator.changes import ClusterChanges, ListedChanges
from migrations_app.simulator.clock import MachineClock, SimulatedClock, SimulatorClock
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.instance_sizes import uniform_size
from migrations_app.simulator.karpenter.disruption import DisruptionController
from migrations_app.simulator.karpenter.launch import NodeLauncher
from migrations_app.simulator.karpenter.provisioning import NodeProvisioner
from migrations_app.simulator.karpenter.termination import TerminationController
from migrations_app.simulator.measurements import Measurements, measure_budgets
from migrations_app.simulator.memory import SimulatorMemory, WaitUnderWay
from migrations_app.simulator.owner_gc import OrphanCollector
from migrations_app.simulator.pods import PodController
from migrations_app.simulator.workloads import WorkloadController

MAX_PASSES = 400


class ClusterNotSettled(RuntimeError):
    """Controllers undo each other's changes, or repeat a refused request without end."""


class KarpenterSimulator:
    """`changes` reports what changed in the cluster; without it every pass lists all objects."""

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
        """The smallest margin of healthy pods over required ones, by budget."""
        return {name: shortfall.lowest for name, shortfall in self.measurements.margins.items()}

    @property
    def no_place(self) -> dict[str, str]:
        """The codes of why waiting pods got no node, by namespace and name of one pod of each shape."""
        pods = self.state.pods
        reasons = self._provisioner.no_place
        return {f"{pods[uid].namespace}/{pods[uid].name}": reason for uid, reason in reasons.items() if uid in pods}

    def _begin(self) -> None:
        """Starts with an empty state. Another release computes other hashes, so an upgrade alone causes no drift."""
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
        """Returns what is in progress and is in no object of the cluster."""
        count, launches = self._launcher.under_way()
        waits = [
            WaitUnderWay(key=[key] if isinstance(key, str) else [*map(str, key)], single=isinstance(key, str), at=at)
            for key, at in self._agenda.moments().items()
            if isinstance(key, str | tuple)
        ]
        return SimulatorMemory(made=count, launches=launches, waits=waits, awaited=self._disruption.awaited())

    def recall(self, memory: SimulatorMemory) -> None:
        """Continues the work of another simulator of this cluster; call it before the first pass."""
        self._agenda.recall({wait.key[0] if wait.single else tuple(wait.key): wait.at for wait in memory.waits})
        self._launcher.recall(memory.made, memory.launches)
        self._disruption.recall(memory.awaited)

    def work(self) -> int:
        """Makes one pass and returns how many requests changed something."""
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

    def settle(self, *, passes: int = MAX_PASSES) -> int:
        """Makes passes until nothing is left to do now, and returns their number.

        Raises ClusterNotSettled if that does not end.
        """
        for number in range(passes):
            if not self.work():
                return number
        raise ClusterNotSettled(f"the cluster is not at rest after {passes} passes")

    def advance(self, clock: SimulatedClock, to: datetime) -> None:
        """Works until this time, jumping from one moment at which something is due to the next."""
        while True:
            self.settle()
            moment = self._agenda.next()
            if moment is None or moment > to.timestamp():
                clock.advance(max(to, clock.now()))
                self.settle()
                return
            clock.advance(max(datetime.fromtimestamp(moment, UTC), clock.now()))

    def next_moment(self) -> datetime | None:
        """Returns when something is due next; None if nothing is in progress."""
        moment = self._agenda.next()
        return None if moment is None else datetime.fromtimestamp(moment, UTC)

    def _read(self) -> ClusterState:
        if self._version != self.behaviour.version:
            self._begin()
        for change in self._changes.read(self.state.paths):
            self.state.apply(change)
        return self.state
