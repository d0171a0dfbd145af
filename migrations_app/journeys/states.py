"""The states of a journey and of its steps, and the one function that changes them.

A journey does its steps in order. At most one step is current: ready, running or failed. All before it are done or
skipped, and all after it wait or were skipped before their turn.
"""

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
StepState = Literal["waiting", "ready", "running", "done", "failed", "skipped"]
STEP_STATES: tuple[StepState, ...] = get_args(StepState)
OVER: frozenset[StepState] = frozenset({"done", "skipped"})
CURRENT: frozenset[StepState] = frozenset({"ready", "running", "failed"})

StepEvent = Literal["begin", "finish", "fail", "skip", "retry"]
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
