"""Measures a simulation: peaks of nodes, moved pods, refused evictions, and workloads without a Ready pod."""

from collections import Counter
from dataclasses import dataclass, field

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.budgets import BudgetController
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.placement.states import NodeState, PodState

NodeGroup = tuple[str, str, str]
"""Pool, size and zone."""


@dataclass(slots=True)
class HeldEvictions:
    """Evictions that a budget or annotation refused: the pods, and the time from the first refusal to the last
    eviction."""

    pods: set[str] = field(default_factory=set)
    first: float = 0.0
    last: float = 0.0


@dataclass(slots=True)
class Shortfall:
    """How long a value was below its limit, in seconds; `since` is set while it is."""

    lowest: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    since: float | None = None

    def note(self, now: float, *, below: bool) -> None:
        if below and self.since is None:
            self.since = now
        elif not below and self.since is not None:
            self.seconds += now - self.since
            self.longest = max(self.longest, now - self.since)
            self.since = None


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """Counts of the cluster at a time."""

    at: float
    nodes: int
    draining: int
    coming: int
    waiting: int


class Measurements:
    """All measurements. Times are seconds since the epoch."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self.pods_moved = 0
        self.nodes_drained: list[str] = []
        self.held_by: dict[str, HeldEvictions] = {}
        self.peak_nodes = 0
        self.highest: Counter[NodeGroup] = Counter()
        """The largest number of nodes at any time, by group."""
        self.margins: dict[str, Shortfall] = {}
        """The margin of healthy pods over required ones, by namespace and name of the budget."""
        self.without_ready: dict[str, Shortfall] = {}
        """The time without any Ready pod, by uid of the workload."""
        self.longest_wait = 0.0
        self.timeline: list[TimelinePoint] = []
        self._waiting_since: dict[str, float] = {}
        self._ever_ready: set[str] = set()
        self._held_now: dict[str, set[str]] = {}

    def note_eviction(self, pod: PodState) -> None:
        """Records an eviction."""
        self.pods_moved += 1
        for by in self._held_now.pop(pod.uid, ()):
            self.held_by[by].last = self._agenda.now

    def note_held_eviction(self, pod: PodState, by: str) -> None:
        """Records a refused eviction; `by`: namespace and name of the budget, or `annotation`."""
        if by in self._held_now.get(pod.uid, ()):
            return
        evictions = self.held_by.setdefault(by, HeldEvictions(first=self._agenda.now))
        evictions.pods.add(f"{pod.namespace}/{pod.name}")
        self._held_now.setdefault(pod.uid, set()).add(by)

    def note_drain(self, node: NodeState) -> None:
        """Records that the drain of a node began; keeps the order."""
        self.nodes_drained.append(node.name)

    def note_budget(self, name: str, margin: int) -> None:
        """Records the margin of a budget."""
        shortfall = self.margins.setdefault(name, Shortfall(lowest=margin))
        shortfall.lowest = min(shortfall.lowest, margin)
        shortfall.note(self._agenda.now, below=margin < 0)

    def sample(self, state: ClusterState, *, coming: int) -> None:
        """Records the counts of this moment."""
        now, nodes = self._agenda.now, len(state.nodes)
        self.peak_nodes = max(self.peak_nodes, nodes)
        for group, count in state.node_counts.items():
            if count > self.highest[group]:
                self.highest[group] = count
        self._workloads(state, now)
        self._waiting(state, now)
        point = TimelinePoint(now, nodes, len(state.nodes_ending), coming, len(state.waiting))
        if len(self.timeline) > 1 and self.timeline[-1].at == now:
            self.timeline[-1] = point
        elif not self.timeline or _differ(self.timeline[-1], point):
            self.timeline.append(point)

    def finish(self) -> None:
        """Ends measurements that are still open."""
        now = self._agenda.now
        for by in {by for holders in self._held_now.values() for by in holders}:
            self.held_by[by].last = now
        for shortfall in (*self.margins.values(), *self.without_ready.values()):
            if shortfall.since is not None:
                shortfall.note(now, below=False)
        for since in self._waiting_since.values():
            self.longest_wait = max(self.longest_wait, now - since)

    def _workloads(self, state: ClusterState, now: float) -> None:
        touched, state.touched_workloads = state.touched_workloads, set()
        for uid in touched:
            if not uid:
                continue
            ready = state.ready_of[uid]
            if ready:
                self._ever_ready.add(uid)
            shortfall = self.without_ready.get(uid)
            if shortfall is not None or (not ready and uid in self._ever_ready):
                shortfall = self.without_ready.setdefault(uid, Shortfall())
                shortfall.note(now, below=not ready)

    def _waiting(self, state: ClusterState, now: float) -> None:
        for uid in self._waiting_since.keys() - state.waiting.keys():
            self.longest_wait = max(self.longest_wait, now - self._waiting_since.pop(uid))
        for uid in state.waiting.keys() - self._waiting_since.keys():
            self._waiting_since[uid] = now


def _differ(before: TimelinePoint, after: TimelinePoint) -> bool:
    return _counts(before) != _counts(after)


def _counts(point: TimelinePoint) -> tuple[int, int, int, int]:
    return point.nodes, point.draining, point.coming, point.waiting


def measure_budgets(measurements: Measurements, state: ClusterState, *, budgets: BudgetController) -> None:
    """Records the margins of the budgets whose pods changed."""
    uids = {uid for shape in state.changed_shapes for uid in budgets.over(state, shape)} | state.changed_budgets
    for uid in uids & state.budgets.keys():
        metadata = state.budgets[uid]["metadata"]
        measurements.note_budget(f"{metadata['namespace']}/{metadata['name']}", budgets.count(state, uid).margin)
