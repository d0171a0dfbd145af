"""What the gates of a rollout read of the cluster, added up read by read, to compare the run with its rehearsal.

Things may happen unseen between two reads: counts are lower bounds.
"""

from migrations_app.actions.changes import ActionValue
from migrations_app.actions.gate import ClusterCounters

MAX_NODES = 2000
MAX_PODS = 2000


class RunObservation(ActionValue, frozen=True):
    """All reads of one run. `nodes_peak` is None if the nodes were never counted. `cut`: more was seen than is kept."""

    looks: int = 0
    nodes_peak: int | None = None
    drained: tuple[tuple[str, ...], ...] = ()
    """Nodes of Karpenter, grouped by the read that first showed them draining or gone. A group has no order in time."""
    held: dict[str, tuple[str, ...]] = {}
    """Pods that could not be evicted, by namespace and name of the budget, or `annotation`."""
    leaving: dict[str, int] = {}
    """For each drained node the most pods, of all reads, that had to go elsewhere."""
    known: tuple[str, ...] = ()
    """Nodes of Karpenter at the last read."""
    cut: bool = False

    @property
    def pods_moved(self) -> int:
        """The number of pods that were seen on the drained nodes."""
        return sum(self.leaving.get(node, 0) for node in self.nodes_drained)

    @property
    def nodes_drained(self) -> tuple[str, ...]:
        """The drained nodes in the order of the reads."""
        return tuple(name for group in self.drained for name in group)


def observed(before: RunObservation, now: ClusterCounters) -> RunObservation:
    """The observation with one more read."""
    peaks = [count for count in (before.nodes_peak, now.all_nodes) if count is not None]
    seen = set(before.nodes_drained)
    fresh = tuple(name for name in dict.fromkeys(_drained(before, now)) if name not in seen)
    kept_nodes = fresh[: max(0, MAX_NODES - len(seen))]
    held_pods = _held_pods(before, now)
    leaving = dict(before.leaving)
    for leaving_pods in now.leaving:
        leaving[leaving_pods.node] = max(leaving.get(leaving_pods.node, 0), leaving_pods.pods)
    leaving_nodes = dict(list(leaving.items())[:MAX_NODES])
    return RunObservation(
        looks=before.looks + 1,
        nodes_peak=max(peaks, default=None),
        drained=(*before.drained, kept_nodes) if kept_nodes else before.drained,
        held=held_pods,
        leaving=leaving_nodes,
        known=tuple(mark.name for mark in now.nodes),
        cut=before.cut
        or len(kept_nodes) < len(fresh)
        or len(leaving) > MAX_NODES
        or sum(map(len, held_pods.values())) >= MAX_PODS,
    )


def _drained(before: RunObservation, now: ClusterCounters) -> list[str]:
    """The nodes that went between two reads, if the read names all nodes; then the nodes that drain now."""
    present = {mark.name for mark in now.nodes}
    gone_nodes = (
        [] if now.nodes_rest or now.all_nodes is None else [name for name in before.known if name not in present]
    )
    return [*gone_nodes, *(mark.name for mark in now.nodes if mark.draining)]


def _held_pods(before: RunObservation, now: ClusterCounters) -> dict[str, tuple[str, ...]]:
    pods_by_budget = {by: dict.fromkeys(pods) for by, pods in before.held.items()}
    room = MAX_PODS - sum(map(len, pods_by_budget.values()))
    for eviction in now.blocked:
        pods = pods_by_budget.setdefault(eviction.budget or "annotation", {})
        name = f"{eviction.namespace}/{eviction.pod}"
        if name not in pods and room > 0:
            pods[name] = None
            room -= 1
    return {by: tuple(pods) for by, pods in pods_by_budget.items() if pods}
