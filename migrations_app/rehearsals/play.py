"""Plays a plan on a twin, together with the simulator, until the plan ends, stops, or takes too long."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec

from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import ClusterIdentity, Plan
from migrations_app.actions.states import Position
from migrations_app.clients.kubernetes.api import Writer
from migrations_app.conversion.webhook import CONVERTED, converted
from migrations_app.errors import InvalidInput, ReadError
from migrations_app.execution.interface import RolloutHalted
from migrations_app.execution.steps import carry_out
from migrations_app.rehearsals.assumptions import with_room
from migrations_app.rehearsals.reading import ClusterReading
from migrations_app.rehearsals.record import RehearsalExecution
from migrations_app.rehearsals.result import RehearsalStop, Scenario
from migrations_app.rehearsals.twin_access import RehearsalChanges, RehearsalControllers, RehearsalWriter
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.simulator import ClusterNotSettled, KarpenterSimulator
from migrations_app.twin.server import Twin

POLL_SECONDS = 5.0
"""Simulated seconds between two reads of a gate. Reads that cannot find a change are skipped."""
MAX_SIMULATED_TIME = timedelta(days=14)
"""A rehearsal is given up after this simulated time."""
OLD = "Provisioner/"
UNTRACKED = (
    ("", "pods"), ("", "nodes"), ("policy", "poddisruptionbudgets"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """The simulated failure of a play."""

    scenario: Scenario = "none"
    zone: str = ""

    def applied(self, behaviour: Behaviour) -> Behaviour:
        """The behaviour with this failure. Raises InvalidInput `unknown_zone`."""
        if self.scenario == "full_zone":
            if self.zone not in behaviour.zones:
                words = f"no node is in zone {self.zone!r}; there are {', '.join(behaviour.zones)}"
                raise InvalidInput(words, code="unknown_zone", where="zone")
            return replace(behaviour, full_zones=frozenset({self.zone}))
        if self.scenario == "nodes_never_ready":
            return replace(behaviour, joins=False)
        return replace(behaviour)


@dataclass(slots=True)
class SimulatedCluster:
    """A cluster with its simulator and simulated clock."""

    clock: SimulatedClock
    simulator: KarpenterSimulator
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.now()


@dataclass(slots=True)
class RehearsalStage(SimulatedCluster):
    """A simulated cluster on a twin that begins with the objects and the time of a reading."""

    twin: Twin
    api: RehearsalControllers


def set_up(
    reading: ClusterReading, behaviour: Behaviour, *, identity: ClusterIdentity, failure: Failure
) -> RehearsalStage:
    """Creates a twin of the reading. Raises InvalidInput for a failure that this cluster cannot have."""
    clock = SimulatedClock(datetime.fromisoformat(reading.taken_at).astimezone(UTC))
    twin = Twin(clock.now, seed=f"rehearsal/{behaviour.seed}", untracked=UNTRACKED, open_definitions=True)
    twin.converters.update(dict.fromkeys(CONVERTED, converted))
    sizes = {size.name: size for size in behaviour.sizes}
    twin.load([_kube_system(identity)])
    twin.load(with_room(document, sizes) if document["kind"] == "Node" else document for document in reading.documents)
    api = RehearsalControllers(twin)
    simulator = KarpenterSimulator(api, failure.applied(behaviour), clock=clock, changes=RehearsalChanges(twin))
    if failure.scenario == "webhook_down":
        _stop_webhooks(twin, reading)
    simulator.settle()
    return RehearsalStage(clock, simulator, twin, api)


def _kube_system(identity: ClusterIdentity) -> dict[str, object]:
    metadata = {"name": "kube-system", "uid": identity.kube_system_uid}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": "Active"}}


def _stop_webhooks(twin: Twin, reading: ClusterReading) -> None:
    """Makes all webhooks of Karpenter unavailable. Raises InvalidInput: `not_seen`, or `no_webhook` if there
    are none.
    """
    for name in ("MutatingWebhookConfigurations", "ValidatingWebhookConfigurations"):
        if name in reading.unread:
            raise InvalidInput(f"{name} could not be read: {reading.unread[name]}", code="not_seen", where="scenario")
    services = set(_webhook_services(reading))
    if not services:
        raise InvalidInput("the cluster has no webhook of Karpenter", code="no_webhook", where="scenario")
    twin.down.update(services)


def _webhook_services(reading: ClusterReading) -> Iterator[str]:
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for configuration in reading.of(kind):
            for webhook in configuration.get("webhooks") or ():
                service = (webhook.get("clientConfig") or {}).get("service") or {}
                if "karpenter" in str(service.get("name")):
                    yield f"{service.get('namespace')}/{service.get('name')}"


@dataclass(frozen=True, slots=True)
class PlayOutcome:
    """How a play ended. `stopped` is None if the plan ran to its end."""

    stopped: RehearsalStop | None
    steps_done: int
    seconds: float


def no_check() -> None:
    """The default check, which never ends the play."""


def play(plan: Plan, stage: RehearsalStage, *, check: Callable[[], None] = no_check) -> PlayOutcome:
    """Carries out the plan on the twin with the code of real rollouts. `check` is called repeatedly and may end the
    play by raising.
    """
    writer = RehearsalWriter(stage.twin, plan.identity, state=stage.simulator.state)
    return play_with(writer, plan, stage=stage, check=check)


def not_played(stage: SimulatedCluster, stopped: RehearsalStop) -> PlayOutcome:
    """The outcome of a plan of which no step is played."""
    stage.simulator.measurements.finish()
    return PlayOutcome(stopped, 0, 0.0)


def play_with(
    writer: Writer, plan: Plan, *, stage: SimulatedCluster, check: Callable[[], None] = no_check
) -> PlayOutcome:
    """Plays as `play` does, on the cluster that the writer changes and the simulator of `stage` controls."""
    work = RehearsalExecution(plan, stage.clock, wait=lambda seconds: _advance(stage, seconds))
    stopped = None
    while (position := work.position()) is not None:
        check()
        if stage.clock.now() - stage.began > MAX_SIMULATED_TIME:
            stopped = _stop(
                position, "too_long", words=f"not over after {MAX_SIMULATED_TIME.days} days: {work.waits_for}"
            )
            break
        try:
            moved = not _begins_to_wait(work, stage, position=position) and carry_out(work, writer, position=position)
            if moved:
                work.report_waiting("")
                stage.simulator.settle()
            else:
                _wait(work, stage, position=position, check=check)
        except ClusterNotSettled as reason:
            stopped = _stop(position, "restless", words=str(reason))
            break
        except (RolloutHalted, ReadError, InvalidInput) as halt:
            stopped = _stop(position, halt.code, words=halt.message)
            break
    stage.simulator.measurements.finish()
    return PlayOutcome(stopped, work.done, (stage.clock.now() - stage.began).total_seconds())


def _begins_to_wait(work: RehearsalExecution, stage: SimulatedCluster, *, position: Position) -> bool:
    """Whether a gate just began and cannot pass yet, so that counting the cluster can be skipped."""
    if (
        position.phase != "gate"
        or position.step.after is None
        or position.step.after.seconds <= 0
        or work.gate_since is not None
    ):
        return False
    if not _surely_waits(work, stage, position=position):
        return False
    work.note(gate_since=work.now())
    return True


def _stop(position: Position, code: str, *, words: str) -> RehearsalStop:
    return RehearsalStop(step=position.step.id, title=position.step.title, code=code, words=words)


def wait_for(stage: SimulatedCluster, seconds: float) -> None:
    """Lets that much simulated time pass without steps of a plan."""
    _advance(stage, seconds)


def _advance(stage: SimulatedCluster, seconds: float) -> None:
    stage.simulator.advance(stage.clock, stage.clock.now() + timedelta(seconds=seconds))


def _wait(work: RehearsalExecution, stage: SimulatedCluster, *, position: Position, check: Callable[[], None]) -> None:
    """Lets time pass in steps of POLL_SECONDS, until the gate may find a change."""
    while True:
        check()
        seen = _state_marks(stage)
        _advance(stage, POLL_SECONDS)
        if position.phase != "gate":
            return
        if _is_over(work, position) or (
            _state_marks(stage) != seen and not _surely_waits(work, stage, position=position)
        ):
            return
        if stage.simulator.next_moment() is None and not _is_over(work, position):
            _advance(stage, _seconds_left(work, position))
            return


def _state_marks(stage: SimulatedCluster) -> tuple[int, ...]:
    state = stage.simulator.state
    return state.node_changes, len(state.claims), len(state.pools), len(state.waiting), len(state.starting)


def _seconds_left(work: RehearsalExecution, position: Position) -> float:
    """Seconds until the time limit of the gate."""
    limit = position.step.after.seconds if position.step.after else POLL_SECONDS
    since = work.gate_since or work.now()
    return max(POLL_SECONDS, limit - (work.now() - since).total_seconds())


def _is_over(work: RehearsalExecution, position: Position) -> bool:
    limit = position.step.after.seconds if position.step.after else POLL_SECONDS
    return work.gate_since is None or (work.now() - work.gate_since).total_seconds() >= limit


def _surely_waits(work: RehearsalExecution, stage: SimulatedCluster, *, position: Position) -> bool:
    """Whether the gate cannot pass yet: a node that has to be gone still exists, or too many pods wait."""
    gate, state = position.step.after, stage.simulator.state
    if gate is None:
        return False
    if gate.no_legacy_nodes and any(count for (pool, _, _), count in state.node_counts.items() if pool.startswith(OLD)):
        return True
    names = {target.name: target.uid for target in gate.gone if target.plural == "nodes"}
    if any(name in state.nodes and state.nodes[name].doc["metadata"]["uid"] == uid for name, uid in names.items()):
        return True
    raw = work.baseline.get("picture")
    before = msgspec.convert(raw, type=ClusterCounters).pending_pods if raw else None
    if gate.pending_above is None or before is None:
        return False
    return len(state.waiting) + len(state.starting) > before + gate.pending_above
