"""Simulates provisioning: decides which nodes Karpenter launches for pods that fit on no node."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from migrations_app.simulator.agenda import Agenda
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import KarpenterObject
from migrations_app.simulator.instance_sizes import ZONE, Offering, offerings
from migrations_app.simulator.karpenter.launch import NodeLauncher, pool_labels, pool_spec
from migrations_app.simulator.karpenter.packing import PlannedNode, RuledPacking
from migrations_app.simulator.placement.states import PodState
from migrations_app.simulator.pod_shapes import Expression, PodShape, expressions, matches
from migrations_app.simulator.resources import UNLIMITED, ResourceAmounts, cpu, size_in_bytes
from migrations_app.simulator.workloads import replica


class NodeProvisioner:
    """Packs waiting pods on as few nodes as possible, in the pool with the highest weight, and launches the cheapest
    nodes.

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
        """Why waiting pods of a shape got no node, by the uid of one of them."""

    def work(self, state: ClusterState) -> None:
        """Launches nodes for waiting pods, after the time for collecting them."""
        if not state.waiting:
            self.no_place.clear()
            return
        versions = ((uid, karpenter.doc["metadata"].get("resourceVersion")) for uid, karpenter in state.pools.items())
        pools = (*versions, self._behaviour.full_zones)
        seen = (state.waiting_changes, len(self._launcher.coming), pools, state.rule_changes)
        if not self._behaviour.launches or seen == self._seen:
            return
        if not self._agenda.due("batch", after=self._behaviour.delays.provision_batch):
            return
        planned = self.plan(state, state.waiting.values())
        for node in planned:
            if not node.claim:
                self._launcher.launch(state, node.pool, offering=self._chosen(state, node))
        again = self.no_place and any(not node.claim for node in planned)
        seen = (state.waiting_changes, len(self._launcher.coming), pools, state.rule_changes)
        self._seen = None if again else seen

    def launched_for(self, state: ClusterState, pods: Iterable[PodState]) -> list[str] | None:
        """Launches nodes for pods that still run elsewhere and returns their names; None if a pod fits nowhere."""
        if not self._behaviour.launches:
            return None
        planned = self.plan(state, pods, anew=True)
        if self.no_place:
            return None
        claims = [self._launcher.launch(state, node.pool, offering=self._chosen(state, node)) for node in planned]
        return [self._launcher.coming[claim.uid][1] for claim in claims if claim] if all(claims) else None

    def coming_hold(self, state: ClusterState, pods: Iterable[PodState]) -> bool:
        """Returns whether these pods fit on the nodes that are launching."""
        before = dict(self.no_place)
        planned = self.plan(state, pods)
        all_fit = not self.no_place and all(node.claim for node in planned)
        self.no_place.clear()
        self.no_place.update(before)
        return all_fit

    def plan(self, state: ClusterState, pods: Iterable[PodState], *, anew: bool = False) -> list[PlannedNode]:
        """Returns the launching nodes and those to launch; `anew`: only those to launch."""
        pods = list(pods)
        groups: Counter[PodShape] = Counter(pod.shape for pod in pods)
        sample, names = dict[PodShape, str](), dict[PodShape, tuple[str, str]]()
        for pod in pods:
            name = pod.namespace, pod.name
            if pod.shape not in names or name < names[pod.shape]:
                sample[pod.shape], names[pod.shape] = pod.uid, name
        order = sorted(
            groups, key=lambda pod_shape: (-pod_shape.requests.cpu, -pod_shape.requests.memory, names[pod_shape])
        )
        for pod in pods if anew else ():
            state.domains.removed(pod.uid)
        packing = RuledPacking(state.domains)
        try:
            return self._planned(state, groups, order=order, sample=sample, packing=packing, anew=anew)
        finally:
            packing.undo()
            for pod in pods if anew else ():
                state.count_domains(pod)

    def _planned(
        self,
        state: ClusterState,
        groups: Mapping[PodShape, int],
        *,
        order: Sequence[PodShape],
        sample: Mapping[PodShape, str],
        packing: RuledPacking,
        anew: bool,
    ) -> list[PlannedNode]:
        planned = [] if anew else list(self._on_their_way(state))
        limits = {pool.uid: limit for pool in state.pools.values() if (limit := self._left(state, pool)) is not None}
        self.no_place.clear()
        for shape in order:
            count = groups[shape]
            if state.domains.bound(shape):
                if not self._packed(state, shape, planned=planned, count=count, left=limits, packing=packing):
                    self.no_place[sample[shape]] = self._no_place_reason(state, shape)
                continue
            for node in planned:
                if count and shape.tolerates(_taints(node.pool)):
                    count -= node.take(shape, count)
            while count:
                new_node = self._opened(state, shape, left=limits)
                pod_count = new_node.take(shape, count) if new_node is not None else 0
                if new_node is None or not pod_count:
                    self.no_place[sample[shape]] = self._no_place_reason(state, shape)
                    break
                planned.append(new_node)
                count -= pod_count
                self._spend(limits, new_node)
        return planned

    def _packed(
        self,
        state: ClusterState,
        shape: PodShape,
        *,
        planned: list[PlannedNode],
        count: int,
        left: dict[str, ResourceAmounts],
        packing: RuledPacking,
    ) -> bool:
        """Places that many pods with rules about other pods on planned nodes; returns whether all fit."""
        zones = self._zones(state, shape)
        for _ in range(count):
            tolerated = (node for node in planned if shape.tolerates(_taints(node.pool)))
            if any(packing.put(node, shape, zones=zones) for node in tolerated):
                continue
            candidates = self._candidates(state, shape, left=left)
            new_node = next((node for node in candidates if packing.put(node, shape, zones=zones)), None)
            if new_node is None:
                return False
            planned.append(new_node)
            self._spend(left, new_node)
        return True

    def _zones(self, state: ClusterState, shape: PodShape) -> set[str]:
        """Returns the zones in which a pool could launch a node for such a pod, also those without capacity."""
        all_offerings = offerings(self._behaviour.launchable()[:1], zones=self._behaviour.zones)
        names = set[str]()
        for pool in self._pools(state, shape):
            required, own = expressions(pool_spec(pool).get("requirements")), pool_labels(pool)
            zones = [expression for expression in required if expression[0] == ZONE]
            names |= {
                offering.zone
                for offering in all_offerings
                if _allowed(zones, offering.labels) and shape.selects_in({**own, ZONE: offering.zone})
            }
        return names

    def _pools(self, state: ClusterState, shape: PodShape) -> Iterator[KarpenterObject]:
        """Yields the pools that accept such a pod: the newer generation first, then the higher weight."""
        order = sorted(
            state.pools.values(),
            key=lambda karpenter: (karpenter.of.pool, -karpenter.doc["spec"].get("weight", 0), karpenter.name),
        )
        for pool in order:
            if not pool.going and shape.tolerates(_taints(pool)):
                yield pool

    def _opened(self, state: ClusterState, shape: PodShape, *, left: dict[str, ResourceAmounts]) -> PlannedNode | None:
        return next(self._candidates(state, shape, left=left), None)

    def _candidates(
        self, state: ClusterState, shape: PodShape, *, left: dict[str, ResourceAmounts]
    ) -> Iterator[PlannedNode]:
        """Yields a new node of each pool that could take such a pod."""
        for pool in self._pools(state, shape):
            limit = left.get(pool.uid)
            overhead = self._overhead(state, pool)
            options = [
                option
                for option in self.options(pool)
                if shape.selects(option.labels)
                and option.size.allocatable.holds(shape.requests.plus(overhead))
                and (limit is None or limit.holds(option.size.capacity._replace(pods=0)))
            ]
            if options:
                yield PlannedNode(pool, options, overhead)

    def _spend(self, left: dict[str, ResourceAmounts], node: PlannedNode) -> None:
        """Subtracts the largest size that the node may get from its pool's limit; the next plan counts the real
        size."""
        limit = left.get(node.pool.uid)
        if limit is not None:
            capacities = [option.size.capacity for option in node.options]
            largest = ResourceAmounts(
                max(capacity.cpu for capacity in capacities), max(capacity.memory for capacity in capacities)
            )
            left[node.pool.uid] = limit.minus(largest)

    def options(self, pool: KarpenterObject) -> tuple[Offering, ...]:
        """Returns the offerings that the pool can launch now, with every label of the nodes."""
        full = frozenset(self._behaviour.full_zones)
        key = (pool.uid, pool.doc["metadata"].get("resourceVersion"), full, self._behaviour.slots)
        if key not in self._options:
            required, own = expressions(pool_spec(pool).get("requirements")), pool_labels(pool)
            all_offerings = offerings(self._behaviour.launchable(), zones=self._behaviour.zones)
            self._options[key] = tuple(
                Offering(offering.size, offering.zone, offering.capacity_type, {**own, **offering.labels})
                for offering in all_offerings
                if offering.zone not in full and _allowed(required, offering.labels)
            )
        return self._options[key]

    def _on_their_way(self, state: ClusterState) -> Iterator[PlannedNode]:
        pools = {(pool.of.pool, pool.name): pool for pool in state.pools.values()}
        for uid, (offering, _) in self._launcher.coming.items():
            claim = state.claims.get(uid)
            pool = pools.get((claim.of.pool, claim.pool_name)) if claim is not None and not claim.going else None
            if pool is not None:
                labels = {**pool_labels(pool), **offering.labels}
                known_offering = Offering(offering.size, offering.zone, offering.capacity_type, labels)
                yield PlannedNode(pool, [known_offering], self._overhead(state, pool), claim=uid)

    def _overhead(self, state: ClusterState, pool: KarpenterObject) -> ResourceAmounts:
        """Returns the requests of DaemonSet pods on every node of the pool."""
        key = (pool.uid, pool.doc["metadata"].get("resourceVersion"), state.workload_changes)
        if key in self._reserved:
            return self._reserved[key]
        labels = next((option.labels for option in self.options(pool)), pool_labels(pool))
        amounts = ResourceAmounts()
        for shape in (state.shapes.of(replica(daemon_set, "any")) for daemon_set in state.daemon_sets.values()):
            if shape.tolerates(_taints(pool)) and shape.selects(labels):
                amounts = amounts.plus(shape.requests)
        self._reserved[key] = amounts
        return amounts

    def _chosen(self, state: ClusterState, node: PlannedNode) -> Offering:
        """Returns the cheapest offering; of several, that in the zone where the pool has the fewest nodes."""
        cheapest = [option for option in node.options if option.price == node.options[0].price]
        if len(cheapest) == 1:
            return cheapest[0]
        pool_name, zones = f"{node.pool.of.pool}/{node.pool.name}", Counter[str]()
        for (pool, _, zone), count in state.node_counts.items():
            zones[zone] += count if pool == pool_name else 0
        zones.update(offering.zone for offering, _ in self._launcher.coming.values())
        return min(cheapest, key=lambda offering: (zones[offering.zone], offering.zone))

    def _left(self, state: ClusterState, pool: KarpenterObject) -> ResourceAmounts | None:
        """Returns what the pool's limits still allow; None if it has none."""
        limits = pool_limits(pool)
        if limits is None:
            return None
        existing = state.capacities.get(f"{pool.of.pool}/{pool.name}", ResourceAmounts())
        limits = limits.minus(existing._replace(pods=0))
        for uid, (offering, _) in self._launcher.coming.items():
            claim = state.claims.get(uid)
            if claim is not None and (claim.of.pool, claim.pool_name) == (pool.of.pool, pool.name):
                limits = limits.minus(offering.size.capacity._replace(pods=0))
        return limits

    def _no_place_reason(self, state: ClusterState, shape: PodShape) -> str:
        """Returns the code of why no node is launched for such pods."""
        pools = list(self._pools(state, shape))
        if not pools:
            return "no_pool"
        all_options = [option for pool in pools for option in self.options(pool)]
        fitting = [
            offering
            for offering in all_options
            if shape.selects(offering.labels) and offering.size.allocatable.holds(shape.requests)
        ]
        if fitting:
            return "pod_rules" if state.domains.bound(shape) else "limit"
        return "no_capacity" if self._behaviour.full_zones and any(self._without_full(pools, shape)) else "no_size"

    def _without_full(self, pools: Sequence[KarpenterObject], shape: PodShape) -> Iterator[bool]:
        for pool in pools:
            required = expressions(pool_spec(pool).get("requirements"))
            own = pool_labels(pool)
            for offering in offerings(self._behaviour.launchable(), zones=self._behaviour.zones):
                yield (
                    _allowed(required, offering.labels)
                    and shape.selects({**own, **offering.labels})
                    and offering.size.allocatable.holds(shape.requests)
                )


def pool_limits(pool: KarpenterObject) -> ResourceAmounts | None:
    """Returns the limits of CPU and memory; None if neither is limited."""
    limits = pool.doc["spec"].get("limits") or {}
    values = limits.get("resources") or {} if pool.of.pool == "Provisioner" else limits
    if not {"cpu", "memory"} & values.keys():
        return None
    return ResourceAmounts(
        cpu(values["cpu"]) if "cpu" in values else UNLIMITED,
        size_in_bytes(values["memory"]) if "memory" in values else UNLIMITED * 1000,
    )


def _taints(pool: KarpenterObject) -> list[dict[str, str]]:
    return pool_spec(pool).get("taints") or []


def _allowed(required: Iterable[Expression], labels: Mapping[str, str]) -> bool:
    """Returns whether an offering meets the requirements of a pool; only those about the offering's labels are
    compared."""
    return all(matches(expression, labels) for expression in required if expression[0] in labels)
