"""Values for the board of a running rollout: nodes as squares by zone, counters as lines, speed and projected end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Literal

from migrations_app.actions.gate import BlockedEviction, ClusterCounters, NodeMark
from migrations_app.actions.plan import Step
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.queries.rollouts.detail import RolloutDetail
from migrations_app.queries.rollouts.samples import CounterSample
from migrations_app.texts import text as _

SquareState = Literal["ready", "not_ready", "cordoned", "draining", "held", "failed", "gone"]
STATE_WORDS: Mapping[SquareState, str] = {
    "ready": _("Ready"),
    "not_ready": _("not Ready"),
    "cordoned": "cordoned",
    "draining": "draining",
    "held": _("draining, held"),
    "failed": "failed",
    "gone": "gone",
}
FAILED = ("refused", "unknown", "changed_by_other")
WIDTH, HEIGHT = 600, 80
COUNTER_WORDS: Mapping[str, str] = {
    "ready": _("Ready nodes"), "pending": _("Pending pods"), "held": _("Evictions refused"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSquare:
    """One node. `why` names the budgets or annotations that block the eviction of its pods."""

    name: str
    state: SquareState
    why: str = ""

    @property
    def word(self) -> str:
        return STATE_WORDS[self.state]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneLane:
    """The nodes of one zone: those from before the start of the rollout, and newer ones."""

    zone: str
    old: tuple[NodeSquare, ...]
    new: tuple[NodeSquare, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPace:
    """`per_hour` is the number of steps that passed their gate; None before the first one. `ends_at` is None unless the
    rollout runs, and while a step is left of a kind that none of the finished ones is.
    """

    elapsed: timedelta
    done: int
    steps: int
    per_hour: float | None
    ends_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterLine:
    """One counter over time as SVG paths in WIDTH by HEIGHT; `limit` is what the gate allows, `most` the highest count,
    None if it was never counted.
    """

    name: str
    word: str
    path: str
    limit: str
    now: int | None
    most: int | None
    allowed: int | None


def lanes(detail: RolloutDetail) -> tuple[ZoneLane, ...]:
    """Returns the nodes of Karpenter by zone; empty before the first count."""
    if detail.picture is None:
        return ()
    started = detail.row.started_at
    squares = _squares(detail, detail.picture)
    zone_lanes = []
    for zone, marks in groupby(detail.picture.nodes, key=lambda mark: mark.zone):
        zone_marks = tuple(marks)
        before_start = tuple(squares[mark.name] for mark in zone_marks if not _is_new(mark, started))
        zone_lanes.append(
            ZoneLane(zone=zone, old=before_start, new=tuple(squares[m.name] for m in zone_marks if _is_new(m, started)))
        )
    deleted = _deleted_nodes(detail, {mark.name for mark in detail.picture.nodes})
    return (*zone_lanes, *((ZoneLane(zone="gone", old=deleted, new=()),) if deleted else ()))


def _squares(detail: RolloutDetail, picture: ClusterCounters) -> Mapping[str, NodeSquare]:
    evictions: dict[str, list[BlockedEviction]] = {}
    for eviction in picture.blocked:
        evictions.setdefault(eviction.node, []).append(eviction)
    failed = {line.step.change.target.name for line in detail.steps if line.step.change and line.standing in FAILED}
    return {mark.name: _square(mark, evictions=evictions.get(mark.name, ()), failed=failed) for mark in picture.nodes}


def _square(mark: NodeMark, *, evictions: Sequence[BlockedEviction], failed: set[str]) -> NodeSquare:
    reasons = ", ".join(dict.fromkeys(eviction.by for eviction in evictions))
    state: SquareState = "ready" if mark.ready else "not_ready"
    if mark.name in failed:
        state = "failed"
    elif mark.draining:
        state = "held" if evictions else "draining"
    elif mark.cordoned:
        state = "cordoned"
    return NodeSquare(name=mark.name, state=state, why=reasons)


def _is_new(mark: NodeMark, started: datetime | None) -> bool:
    created = moment(mark.made_at)
    return bool(started and created and created >= started)


def _deleted_nodes(detail: RolloutDetail, counted_names: set[str]) -> tuple[NodeSquare, ...]:
    """Returns nodes that the plan deletes, whose step is done, and that the newest count does not contain."""
    names = (
        line.step.change.target.name
        for line in detail.steps
        if line.standing == "done" and line.step.change and line.step.change.verb == "delete"
        if line.step.change.target.kind == "Node"
    )
    return tuple(NodeSquare(name=name, state="gone") for name in names if name not in counted_names)


def pace(detail: RolloutDetail, *, now: datetime) -> RunPace | None:
    """Returns how long the rollout runs and when it ends at this rate; None before the start."""
    started = detail.row.started_at
    if started is None:
        return None
    elapsed = (detail.row.finished_at or now) - started
    done, steps = detail.done, len(detail.steps)
    per_hour = done / elapsed.total_seconds() * 3600 if done and elapsed.total_seconds() > 0 else None
    ends_at = None
    steps_left = steps - done - detail.left_out
    if detail.row.state == "running" and per_hour and steps_left > 0 and _tells_of_the_rest(detail):
        ends_at = now + timedelta(hours=steps_left / per_hour)
    return RunPace(elapsed=elapsed, done=done, steps=steps, per_hour=per_hour, ends_at=ends_at)


def _tells_of_the_rest(detail: RolloutDetail) -> bool:
    """Whether of each kind of step that is left one is finished: a taint takes a second, the nodes after it an hour."""
    finished = {_kind_of(line.step) for line in detail.steps if line.standing == "done"}
    return all(_kind_of(line.step) in finished for line in detail.steps if line.standing not in ("done", "skipped"))


def _kind_of(step: Step) -> tuple[str, str, bool]:
    """Returns what a step does, to which kind of object, and whether it waits for something afterwards."""
    verb, kind = (step.change.verb, step.change.target.kind) if step.change else ("watch", "")
    return verb, kind, step.after is not None


def counter_lines(samples: Sequence[CounterSample]) -> tuple[CounterLine, ...]:
    """Returns the lines of Ready nodes, Pending pods and blocked pods; empty before the second sample."""
    if len(samples) < 2:
        return ()
    ready = [sample.ready_nodes for sample in samples]
    limits = [sample.pending_limit for sample in samples]
    return (
        _counter("ready", samples, read=lambda sample: sample.ready_nodes, limit=[ready[0]] * len(samples)),
        _counter("pending", samples, read=lambda sample: sample.pending_pods, limit=limits),
        _counter("held", samples, read=lambda sample: sample.held_pods, limit=[None] * len(samples)),
    )


def _counter(
    name: str,
    samples: Sequence[CounterSample],
    *,
    read: Callable[[CounterSample], int | None],
    limit: Sequence[int | None],
) -> CounterLine:
    values = [read(sample) for sample in samples]
    scale = max([1, *(value or 0 for value in (*values, *limit))])
    first, last = samples[0].taken_at, samples[-1].taken_at
    span = (last - first).total_seconds() or 1.0
    places = [(sample.taken_at - first).total_seconds() / span * WIDTH for sample in samples]
    return CounterLine(
        name=name,
        word=COUNTER_WORDS[name],
        path=step_path(places, values, most=scale),
        limit=step_path(places, limit, most=scale),
        now=values[-1],
        most=max((value for value in values if value is not None), default=None),
        allowed=limit[-1],
    )


def step_path(places: Sequence[float], values: Sequence[int | None], *, most: int) -> str:
    """Returns an SVG path of steps from value to value; a value that could not be counted leaves a gap."""
    parts: list[str] = []
    before: int | None = None
    for x, value in zip(places, values, strict=True):
        if value is not None:
            y = HEIGHT - value / most * (HEIGHT - 2) - 1
            parts.append(f"M{x:.1f} {y:.1f}" if before is None else f"H{x:.1f}V{y:.1f}")
        before = value
    return "".join(parts)
