"""The states of a journey and of its steps, and the one function that changes them.

A journey does its steps in order. At most one step is current: ready, running, failed or undoing. All before it are
done or skipped, and all after it wait or were skipped before their turn. On the way back to a chosen step it undoes
them in the opposite order, and then waits for a person.
"""

from collections.abc import Collection
from typing import Literal, get_args

import msgspec

from migrations_app.errors import Conflict

JourneyState = Literal[
    "draft",
    "previewed",
    "awaiting_approval",
    "approved",
    "running",
    "paused",
    "succeeded",
    "aborted",
    "rejected",
    "expired",
]
JOURNEY_STATES: tuple[JourneyState, ...] = get_args(JourneyState)
FOLLOWS: dict[JourneyState, frozenset[JourneyState]] = {
    "draft": frozenset({"previewed", "expired"}),
    "previewed": frozenset({"awaiting_approval", "expired"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired"}),
    "approved": frozenset({"running", "rejected", "expired"}),
    "running": frozenset({"paused", "succeeded", "aborted"}),
    "paused": frozenset({"running", "aborted"}),
    "succeeded": frozenset(),
    "aborted": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
}
PLANNED: frozenset[JourneyState] = frozenset({"draft", "previewed", "awaiting_approval", "approved"})
"""Nothing was done yet: it may still expire."""
HOLDING: frozenset[JourneyState] = frozenset({"running", "paused"})
"""No other journey, and no rollout of anybody else, may start on the cluster."""
ENDED: frozenset[JourneyState] = frozenset(state for state, following in FOLLOWS.items() if not following)

StepKind = Literal["rollout", "outside", "person", "wait"]
"""Done by karpdash, by a tool outside that a scan sees, by a person's tick, or by time."""
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
StepState = Literal["waiting", "ready", "running", "done", "failed", "skipped", "undoing"]
STEP_STATES: tuple[StepState, ...] = get_args(StepState)
OVER: frozenset[StepState] = frozenset({"done", "skipped"})
CURRENT: frozenset[StepState] = frozenset({"ready", "running", "failed", "undoing"})

StepEvent = Literal["begin", "finish", "fail", "skip", "retry"]
BackEvent = Literal["undone", "keep", "fail"]
"""What comes of a step that is undone: it is as before it began; nothing of it was undone; a part of it may be."""
JourneyEvent = Literal["start", "pause", "resume", "abort", "complete"]
STEP_MOVES: dict[StepEvent, tuple[frozenset[StepState], StepState]] = {
    "begin": (frozenset({"ready"}), "running"),
    "finish": (frozenset({"running"}), "done"),
    "fail": (frozenset({"ready", "running"}), "failed"),
    "skip": (frozenset({"waiting", "ready", "running", "failed"}), "skipped"),
    "retry": (frozenset({"failed"}), "ready"),
}
"""From which states of a step each event leads to which one."""
JOURNEY_MOVES: dict[JourneyEvent, tuple[frozenset[JourneyState], JourneyState]] = {
    "start": (frozenset({"approved"}), "running"),
    "pause": (frozenset({"running"}), "paused"),
    "resume": (frozenset({"paused"}), "running"),
    "abort": (frozenset({"running", "paused"}), "aborted"),
    "complete": (frozenset({"running"}), "succeeded"),
}
_IN: dict[StepEvent, frozenset[JourneyState]] = {
    "begin": frozenset({"running"}),
    "finish": frozenset({"running"}),
    "fail": frozenset({"running"}),
    "skip": HOLDING,
    "retry": frozenset({"paused"}),
}
"""In which states of the journey each event of a step may happen."""


class StepProgress(msgspec.Struct, frozen=True):
    """How far one step is. A step that `protects` is never skipped."""

    state: StepState = "waiting"
    protects: bool = False


class JourneyProgress(msgspec.Struct, frozen=True):
    """How far a journey is: its state and those of its steps, in order."""

    state: JourneyState
    steps: tuple[StepProgress, ...]

    @property
    def current(self) -> int | None:
        """The place of the step whose turn it is; None before the start and when none is left."""
        return next((place for place, step in enumerate(self.steps) if step.state in CURRENT), None)

    @property
    def complete(self) -> bool:
        """Whether every step is done or skipped."""
        return all(step.state in OVER for step in self.steps)


class NotPossible(Conflict):
    """The event is not possible in this state."""

    code = "moved"


def may_follow(now: JourneyState, then: JourneyState) -> bool:
    return then in FOLLOWS[now]


def pairs() -> tuple[tuple[JourneyState, JourneyState], ...]:
    """Every allowed transition of a journey, in the order of the table."""
    return tuple((now, then) for now in JOURNEY_STATES for then in JOURNEY_STATES if then in FOLLOWS[now])


def after(progress: JourneyProgress, event: JourneyEvent) -> JourneyProgress:
    """The journey after something that concerns the whole of it.

    Raises NotPossible; also for `resume` beside a failed step, which is retried or skipped, and for `complete` with
    steps left.
    """
    allowed, then = JOURNEY_MOVES[event]
    if progress.state not in allowed:
        raise NotPossible(f"a journey that is {progress.state.replace('_', ' ')} cannot {event}")
    if event == "resume" and any(step.state == "failed" for step in progress.steps):
        raise NotPossible("its step failed: retry the step or skip it", code="step_failed")
    if event == "complete" and not progress.complete:
        raise NotPossible("there are steps left")
    moved = msgspec.structs.replace(progress, state=then)
    return _turned(moved) if event == "start" else moved


def after_step(progress: JourneyProgress, event: StepEvent, *, place: int) -> JourneyProgress:
    """The journey after something that happened to the step at that place.

    A failed step pauses the journey, and a retried one resumes it; after a finished or skipped one it is the turn of
    the next. Raises NotPossible, with the code `protects` for a step that is never skipped.
    """
    step = progress.steps[place]
    allowed, then = STEP_MOVES[event]
    if progress.state not in _IN[event]:
        raise NotPossible(f"the journey is {progress.state.replace('_', ' ')}")
    if step.state not in allowed:
        raise NotPossible(f"a step that is {step.state} cannot {event}")
    if event == "skip" and step.protects:
        raise NotPossible("this step protects the cluster and is never skipped", code="protects")
    moved = _with(progress, place, then=then)
    if event == "fail":
        return msgspec.structs.replace(moved, state="paused")
    if event == "retry":
        return msgspec.structs.replace(moved, state="running")
    return _turned(moved)


def turned_back(progress: JourneyProgress, *, to: int, changed: Collection[int]) -> JourneyProgress:
    """The journey on its way back to the step at that place. `changed`: the places of steps whose rollouts changed the
    cluster and were not taken back; of skipped steps only these are undone.

    Raises NotPossible for a journey that does not hold its cluster, and for a step that was not reached.
    """
    if progress.state not in HOLDING:
        raise NotPossible(f"the journey is {progress.state.replace('_', ' ')}")
    place = progress.current
    if not 0 <= to < len(progress.steps) or progress.steps[to].state == "waiting" or (place is not None and to > place):
        raise NotPossible("that step was not reached", code="not_reached")
    moved = msgspec.structs.replace(progress, state="running")
    if place is not None and moved.steps[place].state != "undoing":
        moved = _with(moved, place, then="undoing" if place in changed else "waiting")
    if moved.steps[to].state == "skipped" and to not in changed:
        moved = _with(moved, to, then="waiting")
    return _next_back(moved, to=to, changed=changed)


def after_back(
    progress: JourneyProgress, event: BackEvent, *, to: int, before: StepState, changed: Collection[int]
) -> JourneyProgress:
    """The journey after something that happened to the step that is undone; `before` is the state that it had.

    `changed` is as for `turned_back`.

    The way back ends, and the journey pauses, when all down to the place `to` is undone, or a step is not. Raises
    NotPossible if no step is undone.
    """
    place = progress.current
    if progress.state != "running" or place is None or progress.steps[place].state != "undoing":
        raise NotPossible("no step is being undone")
    if event == "undone":
        return _next_back(_with(progress, place, then="waiting"), to=to, changed=changed)
    paused = msgspec.structs.replace(progress, state="paused")
    return _turned(_with(paused, place, then=before if event == "keep" else "failed"))


def _next_back(progress: JourneyProgress, *, to: int, changed: Collection[int]) -> JourneyProgress:
    """With the last step undoing that is done, or was skipped after it had changed something, down to that place.

    Paused, with the first waiting step ready, if there is none.
    """
    if progress.current is not None:
        return progress
    left = [
        place
        for place, step in enumerate(progress.steps)
        if place >= to and (step.state == "done" or (step.state == "skipped" and place in changed))
    ]
    if left:
        return _with(progress, left[-1], then="undoing")
    return _turned(msgspec.structs.replace(progress, state="paused"))


def _turned(progress: JourneyProgress) -> JourneyProgress:
    """With the first waiting step ready, if no step is current."""
    if progress.current is not None:
        return progress
    place = next((place for place, step in enumerate(progress.steps) if step.state == "waiting"), None)
    return progress if place is None else _with(progress, place, then="ready")


def _with(progress: JourneyProgress, place: int, *, then: StepState) -> JourneyProgress:
    steps = list(progress.steps)
    steps[place] = msgspec.structs.replace(steps[place], state=then)
    return msgspec.structs.replace(progress, steps=tuple(steps))
