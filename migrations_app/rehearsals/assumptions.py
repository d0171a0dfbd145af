"""What a rehearsal assumes about the cluster: sizes, zones and delays as read, and what is not known."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from migrations_app.conversion.webhook import CONVERTED
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.controller import given_gates, installation
from migrations_app.inventory.facts.workloads import TIMED_PROTECTION_SINCE, protects
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.controller_settings import drift_is_on
from migrations_app.karpenter.labels import DO_NOT_DISRUPT
from migrations_app.karpenter.versions import Release, minor_order
from migrations_app.manifests import JsonMap
from migrations_app.readiness.stage import detect_running_release
from migrations_app.rehearsals.reading import ClusterReading
from migrations_app.rehearsals.result import UnknownPart
from migrations_app.simulator.behaviour import Behaviour, Delays
from migrations_app.simulator.instance_sizes import ARCH, TYPE, ZONE, InstanceSize, known_sizes, measured_size
from migrations_app.simulator.karpenter.disruption import UNDERUTILIZED, share_of
from migrations_app.simulator.karpenter.underused_nodes import UNDERUTILIZED_POLICIES
from migrations_app.simulator.pod_shapes import PodShapes
from migrations_app.simulator.resources import amounts

DEFAULT_NODE_SECONDS = 60.0
LEAST_SECONDS, MAX_SECONDS = 5.0, 900.0
"""Limits of plausible times of a launch: outside of them, a condition was probably rewritten later."""
FEWEST_CLAIMS = 3
POD_START_SECONDS, POD_STOP_SECONDS, INSTANCE_STOP_SECONDS = 15.0, 5.0, 30.0
DISRUPTION_POLL_SECONDS, BATCH_SECONDS, VALIDATION_SECONDS = 10.0, 1.0, 15.0
_POOLS = "nodepools.karpenter.sh"
PLAYED_VERSIONS = ("v1beta1", "v1")
"""The API versions of NodePools and NodeClaims whose rules the simulator implements."""
ONE_BY_ONE_BEFORE = "0.34"
"""From this minor on NodePools have budgets, 10 % by default; before, nodes were replaced one by one."""


@dataclass(frozen=True, slots=True)
class RehearsalAssumptions:
    """The simulator's behaviour for a cluster, the assumptions, and what is not known."""

    behaviour: Behaviour
    unknown: tuple[UnknownPart, ...]
    assumptions: tuple[str, ...]
    counts_rooms: bool
    """Whether the resource requests of pods are known: without them the number of nodes cannot be computed."""


def assumptions_of(reading: ClusterReading, inventory: Inventory, *, seed: int = 0) -> RehearsalAssumptions:
    """Derives the behaviour from the reading. Raises InvalidInput `unknown_version`."""
    requests = _requests_are_known(reading)
    seconds = node_seconds(reading)
    sizes = tuple(_sizes(reading))
    zones = tuple(sorted({zone for node in reading.of("Node") if (zone := _labels(node).get(ZONE))}))
    release = detect_running_release(inventory).release
    delays = Delays(
        node_ready=seconds or (DEFAULT_NODE_SECONDS,),
        pod_start=POD_START_SECONDS,
        pod_stop=POD_STOP_SECONDS,
        instance_stop=INSTANCE_STOP_SECONDS,
        disruption_poll=DISRUPTION_POLL_SECONDS,
        provision_batch=BATCH_SECONDS,
        validation=VALIDATION_SECONDS,
    )
    behaviour = Behaviour(
        version=_version(reading, inventory),
        drifts=_drifts(inventory, release),
        consolidates=True,
        consolidates_used=requests,
        at_once=_at_once(release),
        delays=delays,
        seed=seed,
    )
    behaviour.sizes, behaviour.zones = sizes, zones or behaviour.zones
    assumptions = [
        _node_words(seconds),
        f"pods need {POD_START_SECONDS:g} s to become Ready and at most {POD_STOP_SECONDS:g} s to end",
        f"an instance needs {INSTANCE_STOP_SECONDS:g} s to end",
        "instances are the sizes that the cluster has, and the general families c, m and r of AWS; smaller is cheaper",
    ]
    unknown = [*_unknown(reading, requests=requests), *_protected_for_a_time(reading)]
    if unplayed := unplayed_consolidation(reading, at_once=behaviour.at_once):
        unknown.append(unplayed)
    return RehearsalAssumptions(behaviour, tuple(unknown), tuple(assumptions), requests)


CONSOLIDATION = "consolidation_unplayed"
DEFAULT_BUDGET = {"nodes": "10%"}


def unplayed_consolidation(reading: ClusterReading, *, at_once: int) -> UnknownPart | None:
    """What is not known if pools also replace underused nodes; None if none does.

    The simulator only deletes such a node alone, while its pods have room on others. With prices Karpenter also
    replaces one or several nodes by a cheaper one, and it first tries to delete several together. A replacement is
    launched before its node goes, and each counts against the pool's budgets while it is under way, so the budgets
    bound how many more nodes there may be. Sources: kubernetes-sigs/karpenter:pkg/controllers/disruption: controller.go
    (drift before consolidation), consolidation.go (at most one replacement for each command), helpers.go
    (BuildDisruptionBudgetMapping). `at_once` is how many nodes are disrupted at once without budgets.
    """
    pools = [pool for pool in reading.of("NodePool") if _consolidates(pool)]
    old = [pool for pool in reading.of("Provisioner") if (pool["spec"].get("consolidation") or {}).get("enabled")]
    if not pools and not old:
        return None
    names = sorted(f"{pool['kind']} {pool['metadata']['name']}" for pool in (*pools, *old))
    more = min(at_once, sum(_most(pool, reading) for pool in pools) + len(old))
    if not more:
        return None
    pool_names = ", ".join(names[:5]) + (" and more" if len(names) > 5 else "")
    nodes = "1 more node" if more == 1 else f"{more} more nodes"
    words = (
        f"{pool_names}: prices are not known. Here nodes that are used too little only go one by one, while their "
        f"pods have room on others; Karpenter also replaces nodes by cheaper ones, and takes several at once. At the "
        f"peak there may be up to {nodes}, at the end fewer, and more pods move"
    )
    return UnknownPart(code=CONSOLIDATION, words=words)


def _consolidates(pool: JsonMap) -> bool:
    disruption = pool["spec"].get("disruption") or {}
    return (
        disruption.get("consolidationPolicy", UNDERUTILIZED_POLICIES[0]) in UNDERUTILIZED_POLICIES
        and disruption.get("consolidateAfter") != "Never"
    )


def _most(pool: JsonMap, reading: ClusterReading) -> int:
    """How many nodes of the pool its budgets allow to be consolidated at once, without budgets that have a schedule.

    A percentage is of all nodes of Karpenter: a rollout may move any of them into this pool.
    """
    size = len(reading.of("NodeClaim")) + len(reading.of("Machine"))
    every = (pool["spec"].get("disruption") or {}).get("budgets") or [DEFAULT_BUDGET]
    bound = [
        budget
        for budget in every
        if not budget.get("schedule") and UNDERUTILIZED in (budget.get("reasons") or (UNDERUTILIZED,))
    ]
    return min([size, *(share_of(str(budget.get("nodes", "10%")), size) for budget in bound)])


def as_sample(assumptions: RehearsalAssumptions, behaviour: Behaviour) -> RehearsalAssumptions:
    """The assumptions of a sample cluster, which is simulated, too: the rehearsal uses the behaviour of that
    simulator.
    """
    behaviour = replace(behaviour, seed=assumptions.behaviour.seed)
    unknown = assumptions.unknown
    if not behaviour.consolidates:
        unknown = tuple(unknown_part for unknown_part in unknown if unknown_part.code != CONSOLIDATION)
    assumption = "this sample cluster is simulated itself: nodes, pods, sizes and zones are as they are there"
    return replace(assumptions, behaviour=behaviour, unknown=unknown, assumptions=(assumption,))


def _node_words(seconds: tuple[float, ...]) -> str:
    if not seconds:
        return f"a node needs {DEFAULT_NODE_SECONDS:g} s until it is Ready: this cluster's claims do not tell"
    middle = seconds[len(seconds) // 2]
    return f"a node needs {seconds[0]:g} to {seconds[-1]:g} s until it is Ready, half of them {middle:g} s or less"


def node_seconds(reading: ClusterReading) -> tuple[float, ...]:
    """Seconds from the creation of each claim to its Ready node, by its conditions, sorted; empty for too few
    claims.
    """
    times = []
    for kind, condition in (("NodeClaim", "Initialized"), ("Machine", "MachineInitialized")):
        for claim in reading.of(kind):
            seconds = _seconds(claim, condition)
            if seconds is not None and LEAST_SECONDS <= seconds <= MAX_SECONDS:
                times.append(seconds)
    return tuple(sorted(times)) if len(times) >= FEWEST_CLAIMS else ()


def _seconds(claim: JsonMap, condition: str) -> float | None:
    conditions = (claim.get("status") or {}).get("conditions") or ()
    at = next((entry.get("lastTransitionTime") for entry in conditions if entry.get("type") == condition), None)
    try:
        born, ready = datetime.fromisoformat(claim["metadata"]["creationTimestamp"]), datetime.fromisoformat(str(at))
        return (ready - born).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None


def _labels(document: JsonMap) -> dict[str, str]:
    labels: dict[str, str] = document["metadata"].get("labels") or {}
    return labels


def _sizes(reading: ClusterReading) -> Iterator[InstanceSize]:
    """The instance sizes of the cluster's nodes, then the sizes of the table that the cluster does not have."""
    seen: dict[str, InstanceSize] = {}
    for node in reading.of("Node"):
        name, status = _labels(node).get(TYPE, ""), node.get("status") or {}
        if not name or name in seen or not {"cpu", "memory", "pods"} <= (status.get("allocatable") or {}).keys():
            continue
        room = amounts(status["allocatable"])
        capacity = amounts(status.get("capacity"), default=room)
        seen[name] = measured_size(name, arch=_labels(node).get(ARCH, "amd64"), allocatable=room, capacity=capacity)
    yield from seen.values()
    yield from (size for size in known_sizes() if size.name not in seen)


def with_room(node: JsonMap, sizes: dict[str, InstanceSize]) -> JsonMap:
    """The node with its allocatable resources: its own, or those of its instance type."""
    status = node.get("status") or {}
    size = sizes.get(_labels(node).get(TYPE, ""))
    if status.get("allocatable") or size is None:
        return node
    room, capacity = size.allocatable.quantities(), size.capacity.quantities()
    return node | {"status": status | {"allocatable": room, "capacity": capacity}}


def _requests_are_known(reading: ClusterReading) -> bool:
    pods = reading.of("Pod")
    return not pods or any(
        container.get("resources") for pod in pods for container in pod["spec"].get("containers") or ()
    )


def running_with(behaviour: Behaviour, inventory: Inventory, *, version: str) -> None:
    """Sets the behaviour to that of the running release in this inventory; an empty `version` keeps the API version."""
    release = detect_running_release(inventory).release
    behaviour.version = version or behaviour.version
    behaviour.drifts, behaviour.at_once = _drifts(inventory, release), _at_once(release)


def _version(reading: ClusterReading, inventory: Inventory) -> str:
    """The API version of NodePools. Raises InvalidInput `unknown_version` if the simulator has no rules for it."""
    crd = next((item for item in reading.of("CustomResourceDefinition") if item["metadata"]["name"] == _POOLS), {})
    served = [item.get("name") for item in crd.get("spec", {}).get("versions") or () if item.get("served")]
    api_version = str(getattr(inventory.nodepools, "served", None) or "karpenter.sh/v1beta1")
    version = api_version.rpartition("/")[2]
    if served and version not in served:
        api_version = f"karpenter.sh/{served[0]}"
        version = str(served[0])
    if version not in PLAYED_VERSIONS:
        words = f"NodePools are read as {api_version[:60]}; a rehearsal plays {' and '.join(PLAYED_VERSIONS)}"
        raise InvalidInput(words, code="unknown_version", where="nodepools")
    return version


def _drifts(inventory: Inventory, release: Release | None) -> bool:
    if release is None:
        return True
    installed = installation(inventory)
    gates = given_gates(installed) if installed else None
    settings = next((config.data for config in inventory.settings.items if config.data), None)
    return drift_is_on(release, feature_gates=gates.text if gates else None, global_settings=settings) is not False


def _at_once(release: Release | None) -> int:
    return 1 if release is not None and minor_order(release.minor) < minor_order(ONE_BY_ONE_BEFORE) else 10**6


def _unknown(reading: ClusterReading, *, requests: bool) -> Iterator[UnknownPart]:
    if "pdbs" in reading.unread:
        words = "budgets could not be read: which evictions they refuse cannot be told"
        yield UnknownPart(code="budgets_unread", words=words)
    for name in sorted(set(reading.unread) - {"pdbs"}):
        yield UnknownPart(code="part_unread", words=f"{name} could not be read: they are missing in the rehearsal")
    if not requests:
        words = "what pods ask for is not in the reading: how many nodes are needed cannot be told"
        yield UnknownPart(code="requests_unknown", words=words)
    yield from _unplayed(reading)


def _protected_for_a_time(reading: ClusterReading) -> Iterator[UnknownPart]:
    """Pods whose do-not-disrupt is a duration, which the simulator does not read. The releases on a way may differ."""
    spaces = set()
    for pod in reading.of("Pod"):
        value = (pod["metadata"].get("annotations") or {}).get(DO_NOT_DISRUPT, "")
        if value != "true" and protects(value, None):
            spaces.add(pod["metadata"]["namespace"])
    if spaces:
        names = ", ".join(sorted(spaces)[:5]) + (" and more" if len(spaces) > 5 else "")
        words = (
            f"{DO_NOT_DISRUPT} with a duration of pods in {names} is not played: "
            f"Karpenter from {TIMED_PROTECTION_SINCE} on keeps these pods and their nodes until it is over, and here "
            "they go at once"
        )
        yield UnknownPart(code="protection_unplayed", words=words)


def _unplayed(reading: ClusterReading) -> Iterator[UnknownPart]:
    shapes, by_rule = PodShapes(), dict[str, set[str]]()
    for pod in reading.of("Pod"):
        for rule in shapes.of(pod).unplayed:
            by_rule.setdefault(rule, set()).add(pod["metadata"]["namespace"])
    for rule, spaces in sorted(by_rule.items()):
        names = ", ".join(sorted(spaces)[:5]) + (" and more" if len(spaces) > 5 else "")
        words = f"{rule} of pods in {names} is not played: these pods may need more nodes, or other ones"
        yield UnknownPart(code="placement_unplayed", words=words)
    scheduled = [
        pool["metadata"]["name"]
        for pool in reading.of("NodePool")
        if any(budget.get("schedule") for budget in (pool["spec"].get("disruption") or {}).get("budgets") or ())
    ]
    if scheduled:
        words = f"budgets with a schedule of NodePool {', '.join(scheduled)} count at all times"
        yield UnknownPart(code="schedule_unplayed", words=words)
    several = [
        str(crd["metadata"].get("name"))
        for crd in reading.of("CustomResourceDefinition")
        if len(crd["spec"].get("versions") or ()) > 1 and crd["metadata"].get("name") not in CONVERTED
    ]
    if several:
        words = f"conversion of {', '.join(sorted(several))} is not played: objects keep the fields that they have"
        yield UnknownPart(code="conversion_unplayed", words=words)
