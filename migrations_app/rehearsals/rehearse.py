"""Rehearses a plan: reads the cluster, plays the plan, and returns the result."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.actions.plan import Plan, RolloutLimits
from migrations_app.actions.rehearsable import playable, replaced_workloads
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.collect import ProgressListener, collect
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter import kinds
from migrations_app.rehearsals.assumptions import RehearsalAssumptions, assumptions_of
from migrations_app.rehearsals.planning import UNNAMED, plan_on
from migrations_app.rehearsals.play import Failure, PlayOutcome, RehearsalStage, no_check, not_played, play, set_up
from migrations_app.rehearsals.python_gc import reduced_garbage_collection
from migrations_app.rehearsals.reading import ClusterReading, read_objects
from migrations_app.rehearsals.result import (
    SCHEMA,
    BudgetGap,
    HeldEviction,
    NodeGroupCount,
    PodWithoutPlace,
    PoolUse,
    RehearsalMoment,
    RehearsalResult,
    RehearsalStop,
    UnknownPart,
    WorkloadGap,
)
from migrations_app.simulator.karpenter.provisioning import pool_limits
from migrations_app.simulator.measurements import Measurements, NodeGroup, TimelinePoint
from migrations_app.simulator.resources import UNLIMITED, ResourceAmounts, amounts

MAX_MOMENTS = 500
MAX_NAMED = 5
NO_FAILURE = Failure()


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """The rehearsal to run: an action with its parameters, under these limits."""

    action: str
    parameters: Mapping[str, Any]
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    failure: Failure = NO_FAILURE
    seed: int = 0


@reduced_garbage_collection()
def rehearse_cluster(
    api: ClusterApi, request: RehearsalRequest, *, cluster: str, on_part: ProgressListener | None = None
) -> RehearsalResult:
    """Reads the cluster, makes the plan, and plays it. Raises InvalidInput if it cannot be planned, ReadError."""
    inventory = collect(api, cluster=cluster, on_part=on_part).inventory
    plan, stage, assumptions = _prepared(read_objects(api, inventory), inventory, request=request)
    return rehearse_on(stage, plan, inventory=inventory, assumptions=assumptions, failure=request.failure)


def _prepared(
    reading: ClusterReading, inventory: Inventory, *, request: RehearsalRequest
) -> tuple[Plan, RehearsalStage, RehearsalAssumptions]:
    """The plan, made without a failure, and a twin to play it on. The reading is large and not kept."""
    assumptions = assumptions_of(reading, inventory, seed=request.seed)
    stage = set_up(reading, assumptions.behaviour, identity=UNNAMED, failure=NO_FAILURE)
    plan = plan_on(stage, inventory, action=request.action, parameters=request.parameters, limits=request.limits)
    if request.failure != NO_FAILURE:
        stage = set_up(reading, assumptions.behaviour, identity=UNNAMED, failure=request.failure)
    return plan, stage, assumptions


def rehearse_on(
    stage: RehearsalStage,
    plan: Plan,
    *,
    inventory: Inventory,
    assumptions: RehearsalAssumptions,
    failure: Failure,
    check: Callable[[], None] = no_check,
    stopped: RehearsalStop | None = None,
) -> RehearsalResult:
    """Plays the plan on the twin and returns the result. `check` as in `play`. With `stopped`, which only a fresh read
    of the cluster tells, no step is played.

    The pods of a changed workload are not replaced, as no controller of the simulator does that: the play does not wait
    for them, and the result names the workloads.
    """
    state, measured = stage.simulator.state, stage.simulator.measurements
    before = +state.node_counts
    played = play(playable(plan), stage, check=check) if stopped is None else not_played(stage, stopped)
    unknown = (*assumptions.unknown, *_refusals(stage), *_of_definitions(plan), *_of_workloads(plan))
    known = assumptions.counts_rooms
    budgets_known = not any(unknown_part.code == "budgets_unread" for unknown_part in unknown)
    return RehearsalResult(
        schema=SCHEMA,
        cluster=inventory.cluster,
        taken_at=inventory.taken_at,
        action=plan.action,
        title=plan.title,
        plan=plan.digest,
        scenario=failure.scenario,
        zone=failure.zone,
        seed=stage.simulator.behaviour.seed,
        finished=played.stopped is None,
        stopped=played.stopped,
        seconds=round(played.seconds),
        steps_done=played.steps_done,
        steps=len(plan.steps),
        nodes_before=sum(before.values()),
        nodes_peak=measured.peak_nodes if known else None,
        nodes_after=len(state.nodes),
        groups=tuple(_groups(before, measured, after=+state.node_counts)) if known else None,
        pools=tuple(_pools(stage)) if known else None,
        drained=tuple(measured.nodes_drained),
        pods_moved=measured.pods_moved,
        held=tuple(_held(measured)) if budgets_known else None,
        workloads=tuple(_workloads(stage)),
        budgets=tuple(_budgets(measured)) if budgets_known else None,
        no_place=tuple(_no_place(stage)) if known else None,
        longest_wait=round(measured.longest_wait),
        timeline=tuple(_moments(measured.timeline, played, began=stage.began.timestamp())),
        unknown=unknown,
        assumptions=assumptions.assumptions,
    )


def _of_definitions(plan: Plan) -> Iterator[UnknownPart]:
    if any(target.kind == kinds.CRD.kind for target in plan.targets):
        words = "schemas of definitions are not applied: an object that the new one does not take is not seen"
        yield UnknownPart(code="schemas_unplayed", words=words)


def _of_workloads(plan: Plan) -> Iterator[UnknownPart]:
    if names := replaced_workloads(plan):
        named = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
        words = f"pods of {named} are not replaced here: how long that takes, and whether they get a node, is not known"
        yield UnknownPart(code="replacement_unplayed", words=words)


def _refusals(stage: RehearsalStage) -> Iterator[UnknownPart]:
    for message, count in sorted(stage.api.refused.items()):
        yield UnknownPart(code="refused", words=f"the cluster refused {count} requests of its controllers: {message}")


def _groups(
    before: Counter[NodeGroup], measured: Measurements, *, after: Counter[NodeGroup]
) -> Iterator[NodeGroupCount]:
    for group in sorted({*before, *measured.highest, *after}):
        pool, size, zone = group
        yield NodeGroupCount(
            pool=pool,
            size=size,
            zone=zone,
            before=before[group],
            peak=max(measured.highest[group], before[group]),
            after=after[group],
        )


def _pools(stage: RehearsalStage) -> Iterator[PoolUse]:
    state = stage.simulator.state
    for pool in sorted(state.pools.values(), key=lambda karpenter: (karpenter.of.pool, karpenter.name)):
        used = ResourceAmounts()
        for node in state.nodes.values():
            if node.labels.get(pool.of.label) == pool.name:
                used = used.plus(amounts(node.doc.get("status", {}).get("capacity")))
        limits = pool_limits(pool)
        peak = _most_of(stage, f"{pool.of.pool}/{pool.name}")
        yield PoolUse(
            pool=f"{pool.of.pool}/{pool.name}",
            cpu=used.cpu,
            cpu_peak=peak.cpu if peak else None,
            cpu_limit=limits.cpu if limits and limits.cpu < UNLIMITED else None,
            memory=used.memory,
            memory_peak=peak.memory if peak else None,
            memory_limit=limits.memory if limits and limits.memory < UNLIMITED * 1000 else None,
        )


def _most_of(stage: RehearsalStage, pool: str) -> ResourceAmounts | None:
    """The highest capacity of the pool's nodes: each group at its own peak. None if a size is not known."""
    sizes = {instance_size.name: instance_size.capacity for instance_size in stage.simulator.behaviour.sizes}
    total = ResourceAmounts()
    for (of, size, _zone), count in stage.simulator.measurements.highest.items():
        if of == pool and size not in sizes:
            return None
        for _ in range(count if of == pool else 0):
            total = total.plus(sizes[size])
    return total


def _held(measured: Measurements) -> Iterator[HeldEviction]:
    for by, evictions in sorted(measured.held_by.items()):
        yield HeldEviction(by=by, pods=len(evictions.pods), seconds=round(evictions.last - evictions.first))


def _workloads(stage: RehearsalStage) -> Iterator[WorkloadGap]:
    workloads = stage.simulator.state.workloads
    for uid, shortfall in stage.simulator.measurements.without_ready.items():
        workload = workloads.get(uid)
        if workload is None or workload["kind"] == "DaemonSet" or not shortfall.seconds:
            continue
        name = f"{workload['kind']} {workload['metadata']['namespace']}/{workload['metadata']['name']}"
        yield WorkloadGap(workload=name, seconds=round(shortfall.seconds), longest=round(shortfall.longest))


def _budgets(measured: Measurements) -> Iterator[BudgetGap]:
    for name, shortfall in sorted(measured.margins.items()):
        if shortfall.lowest < 0:
            yield BudgetGap(budget=name, lowest=shortfall.lowest, seconds=round(shortfall.seconds))


def _no_place(stage: RehearsalStage) -> Iterator[PodWithoutPlace]:
    """The pods without a place at the end: one example for each shape, with the number of pods."""
    reasons = stage.simulator.no_place
    groups: dict[object, list[str]] = {}
    for pod in stage.simulator.state.waiting.values():
        groups.setdefault(pod.shape, []).append(f"{pod.namespace}/{pod.name}")
    for names in groups.values():
        why = next((reasons[name] for name in names if name in reasons), "unknown")
        yield PodWithoutPlace(pod=min(names), count=len(names), why=why)


def _moments(timeline: list[TimelinePoint], played: PlayOutcome, *, began: float) -> Iterator[RehearsalMoment]:
    """At most MAX_MOMENTS of the timeline at even distances, with the first and the last."""
    step = max(1, -(-len(timeline) // MAX_MOMENTS))
    chosen = timeline[::step]
    if timeline and chosen[-1] is not timeline[-1]:
        chosen.append(timeline[-1])
    for point in chosen:
        yield RehearsalMoment(
            seconds=min(round(point.at - began), round(played.seconds)),
            nodes=point.nodes,
            draining=point.draining,
            coming=point.coming,
            waiting=point.waiting,
        )
