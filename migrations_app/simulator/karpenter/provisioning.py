"""Provisioning: which nodes Karpenter launches for pods that found no place."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import KarpenterObject
from migrations_app.simulator.instance_sizes import Offering, offerings
from migrations_app.simulator.karpenter.launch import NodeLauncher, pool_labels, pool_spec
from migrations_app.simulator.placement.places import PodState
from migrations_app.simulator.pod_shapes import Expression, PodShape, expressions, matches
from migrations_app.simulator.resources import UNLIMITED, ResourceAmounts, cpu, size_in_bytes
from migrations_app.simulator.workloads import replica


@dataclass(slots=True, eq=False)
class PlannedNode:
    """A node to be launched, or one that is on its way; `options` are the offerings that still fit, cheapest first."""

    pool: KarpenterObject
    options: Sequence[Offering]
    used: ResourceAmounts = field(default=ResourceAmounts())
    claim: str = ""

    def take(self, shape: PodShape, count: int) -> int:
        """How many of these pods it takes; it takes them, and only options on which they fit are left."""
        fitting = [one for one in self.options if shape.selects(one.labels)]
        room = max((one.size.allocatable.minus(self.used).count(shape.requests) for one in fitting), default=0)
        taken = min(count, room)
        if taken:
            self.used = self.used.plus(shape.requests, taken)
            self.options = [one for one in fitting if one.size.allocatable.holds(self.used)]
        return taken


class NodeProvisioner:
    """Packs pods that wait on as few nodes as will do, in the heaviest pool that takes them, and launches the cheapest.

    Source: kubernetes-sigs/karpenter:pkg/controllers/provisioning/scheduling/scheduler.go and nodeclaim.go: pods are
    tried on nodes that are on their way first, a new node keeps every instance type on which all of its pods fit, and
    the cheapest of them is launched. Limits of a pool: nodepool.go of the same package.
    """

    def __init__(self, behaviour: Behaviour, agenda: Agenda, *, launcher: NodeLauncher) -> None:
        self._behaviour, self._agenda, self._launcher = behaviour, agenda, launcher
        self._options: dict[tuple[object, ...], tuple[Offering, ...]] = {}
        self._reserved: dict[tuple[object, ...], ResourceAmounts] = {}
        self._seen: object = None
        self.no_place: dict[str, str] = {}
        """Why the pods of a shape that wait now got no node, by uid of one of them."""

    def work(self, state: ClusterState) -> None:
        """Launches for pods that wait, once enough time was left to collect them."""
        if not state.waiting:
            self.no_place.clear()
            return
        pools = tuple((uid, one.doc["metadata"].get("resourceVersion")) for uid, one in state.pools.items())
        seen = (state.waiting_changes, len(self._launcher.coming), pools, self._behaviour.full_zones)
        if not self._behaviour.launches or seen == self._seen:
            return
        if not self._agenda.due("batch", after=self._behaviour.delays.provision_batch):
            return
        planned = self.plan(state, state.waiting.values())
        for node in planned:
            if not node.claim:
                self._launcher.launch(state, node.pool, offering=self._chosen(state, node))
        again = self.no_place and any(not node.claim for node in planned)
        seen = (state.waiting_changes, len(self._launcher.coming), pools, self._behaviour.full_zones)
        self._seen = None if again else seen

    def launched_for(self, state: ClusterState, pods: Iterable[PodState]) -> list[str] | None:
        """The names of new nodes for these pods, which still run elsewhere; None if some would find no place."""
        if not self._behaviour.launches:
            return None
        planned = self.plan(state, pods, anew=True)
        if self.no_place:
            return None
        claims = [self._launcher.launch(state, node.pool, offering=self._chosen(state, node)) for node in planned]
        return [self._launcher.coming[claim.uid][1] for claim in claims if claim] if all(claims) else None

    def plan(self, state: ClusterState, pods: Iterable[PodState], *, anew: bool = False) -> list[PlannedNode]:
        """The nodes on their way and those to be launched; `anew`: without those that are on their way."""
        pods = list(pods)
        groups: Counter[PodShape] = Counter(pod.shape for pod in pods)
        sample, names = dict[PodShape, str](), dict[PodShape, tuple[str, str]]()
        for pod in pods:
            name = pod.namespace, pod.name
            if pod.shape not in names or name < names[pod.shape]:
                sample[pod.shape], names[pod.shape] = pod.uid, name
        planned = [] if anew else list(self._on_their_way(state))
        left = {pool.uid: limit for pool in state.pools.values() if (limit := self._left(state, pool)) is not None}
        self.no_place.clear()
        order = sorted(groups, key=lambda one: (-one.requests.cpu, -one.requests.memory, names[one]))
        for shape in order:
            count = groups[shape]
            for node in planned:
                if count and shape.tolerates(_taints(node.pool)):
                    count -= node.take(shape, count)
            while count:
                fresh = self._opened(state, shape, left=left)
                taken = fresh.take(shape, count) if fresh is not None else 0
                if fresh is None or not taken:
                    self.no_place[sample[shape]] = self._why_not(state, shape)
                    break
                planned.append(fresh)
                count -= taken
                self._spend(left, fresh)
        return planned

    def pool_for(self, state: ClusterState, shape: PodShape) -> KarpenterObject | None:
        """The first pool whose nodes could take such pods."""
        return next(self._pools(state, shape), None)

    def _pools(self, state: ClusterState, shape: PodShape) -> Iterator[KarpenterObject]:
        """The newer generation first, then the heavier."""
        order = sorted(state.pools.values(), key=lambda one: (one.of.pool, -one.doc["spec"].get("weight", 0), one.name))
        for pool in order:
            if not pool.going and shape.tolerates(_taints(pool)):
                yield pool

    def _opened(self, state: ClusterState, shape: PodShape, *, left: dict[str, ResourceAmounts]) -> PlannedNode | None:
        for pool in self._pools(state, shape):
            limit = left.get(pool.uid)
            kept = self._kept(state, pool)
            options = [
                one
                for one in self.options(pool)
                if shape.selects(one.labels)
                and one.size.allocatable.holds(shape.requests.plus(kept))
                and (limit is None or limit.holds(one.size.capacity._replace(pods=0)))
            ]
            if options:
                return PlannedNode(pool, options, kept)
        return None

    def _spend(self, left: dict[str, ResourceAmounts], node: PlannedNode) -> None:
        """Counts the largest size that the node may become against the limit; the next plan counts what it became."""
        limit = left.get(node.pool.uid)
        if limit is not None:
            capacities = [one.size.capacity for one in node.options]
            largest = ResourceAmounts(max(one.cpu for one in capacities), max(one.memory for one in capacities))
            left[node.pool.uid] = limit.minus(largest)

    def options(self, pool: KarpenterObject) -> tuple[Offering, ...]:
        """What the pool can launch now, with every label of the nodes."""
        full = frozenset(self._behaviour.full_zones)
        key = (pool.uid, pool.doc["metadata"].get("resourceVersion"), full, self._behaviour.slots)
        if key not in self._options:
            required, own = expressions(pool_spec(pool).get("requirements")), pool_labels(pool)
            every = offerings(self._behaviour.launchable(), zones=self._behaviour.zones)
            self._options[key] = tuple(
                Offering(one.size, one.zone, one.capacity_type, {**own, **one.labels})
                for one in every
                if one.zone not in full and _allowed(required, one.labels)
            )
        return self._options[key]

    def _on_their_way(self, state: ClusterState) -> Iterator[PlannedNode]:
        pools = {(pool.of.pool, pool.name): pool for pool in state.pools.values()}
        for uid, (offering, _) in self._launcher.coming.items():
            claim = state.claims.get(uid)
            pool = pools.get((claim.of.pool, claim.pool_name)) if claim is not None and not claim.going else None
            if pool is not None:
                labels = {**pool_labels(pool), **offering.labels}
                known = Offering(offering.size, offering.zone, offering.capacity_type, labels)
                yield PlannedNode(pool, [known], self._kept(state, pool), claim=uid)

    def _kept(self, state: ClusterState, pool: KarpenterObject) -> ResourceAmounts:
        """What pods of DaemonSets take of every node of the pool."""
        key = (pool.uid, pool.doc["metadata"].get("resourceVersion"), state.workload_changes)
        if key in self._reserved:
            return self._reserved[key]
        labels = next((one.labels for one in self.options(pool)), pool_labels(pool))
        found = ResourceAmounts()
        for shape in (state.shapes.of(replica(one, "any")) for one in state.daemon_sets.values()):
            if shape.tolerates(_taints(pool)) and shape.selects(labels):
                found = found.plus(shape.requests)
        self._reserved[key] = found
        return found

    def _chosen(self, state: ClusterState, node: PlannedNode) -> Offering:
        """The cheapest offering; of equal ones that in the zone where the pool has the fewest nodes."""
        cheapest = [one for one in node.options if one.price == node.options[0].price]
        if len(cheapest) == 1:
            return cheapest[0]
        mine, zones = f"{node.pool.of.pool}/{node.pool.name}", Counter[str]()
        for (pool, _, zone), count in state.node_counts.items():
            zones[zone] += count if pool == mine else 0
        zones.update(offering.zone for offering, _ in self._launcher.coming.values())
        return min(cheapest, key=lambda one: (zones[one.zone], one.zone))

    def _left(self, state: ClusterState, pool: KarpenterObject) -> ResourceAmounts | None:
        """What the pool's limits still allow; None if it has none."""
        limits = pool_limits(pool)
        if limits is None:
            return None
        there = state.capacities.get(f"{pool.of.pool}/{pool.name}", ResourceAmounts())
        limits = limits.minus(there._replace(pods=0))
        for uid, (offering, _) in self._launcher.coming.items():
            claim = state.claims.get(uid)
            if claim is not None and (claim.of.pool, claim.pool_name) == (pool.of.pool, pool.name):
                limits = limits.minus(offering.size.capacity._replace(pods=0))
        return limits

    def _why_not(self, state: ClusterState, shape: PodShape) -> str:
        """Why no node is launched for such pods, as a code."""
        pools = list(self._pools(state, shape))
        if not pools:
            return "no_pool"
        every = [one for pool in pools for one in self.options(pool)]
        fitting = [one for one in every if shape.selects(one.labels) and one.size.allocatable.holds(shape.requests)]
        if fitting:
            return "limit"
        return "no_capacity" if self._behaviour.full_zones and any(self._without_full(pools, shape)) else "no_size"

    def _without_full(self, pools: Sequence[KarpenterObject], shape: PodShape) -> Iterator[bool]:
        for pool in pools:
            required = expressions(pool_spec(pool).get("requirements"))
            own = pool_labels(pool)
            for one in offerings(self._behaviour.launchable(), zones=self._behaviour.zones):
                yield (
                    _allowed(required, one.labels)
                    and shape.selects({**own, **one.labels})
                    and one.size.allocatable.holds(shape.requests)
                )


def pool_limits(pool: KarpenterObject) -> ResourceAmounts | None:
    """The limits of CPU and memory; what is not limited is without end. None if nothing is limited."""
    given = pool.doc["spec"].get("limits") or {}
    found = given.get("resources") or {} if pool.of.pool == "Provisioner" else given
    if not {"cpu", "memory"} & found.keys():
        return None
    return ResourceAmounts(
        cpu(found["cpu"]) if "cpu" in found else UNLIMITED,
        size_in_bytes(found["memory"]) if "memory" in found else UNLIMITED * 1000,
    )


def _taints(pool: KarpenterObject) -> list[dict[str, str]]:
    return pool_spec(pool).get("taints") or []


def _allowed(required: Iterable[Expression], found: Mapping[str, str]) -> bool:
    """Whether an offering satisfies the requirements of a pool, of which only those on its labels are compared."""
    return all(matches(one, found) for one in required if one[0] in found)
