"""The states of a journey and its steps, and the functions that compute the next state.

The steps run in order. At most one step is current: ready, running, failed or undoing. All before it are done or
skipped; all after it wait, or were skipped early. A rollback to a chosen step undoes the steps in the opposite order
and then waits for a person.
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
JOURNEY_TRANSITIONS: dict[JourneyState, frozenset[JourneyState]] = {
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
"""States in which nothing was done yet: the journey may still expire."""
HOLDING: frozenset[JourneyState] = frozenset({"running", "paused"})
"""States in which no other journey, and no rollout outside of this one, may start on the cluster."""
ENDED: frozenset[JourneyState] = frozenset(state for state, following in JOURNEY_TRANSITIONS.items() if not following)

StepKind = Literal["rollout", "outside", "person", "wait"]
"""Who does the step: karpdash, a tool outside that a scan confirms, a person, or time."""
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
StepState = Literal["waiting", "ready", "running", "done", "failed", "skipped", "undoing"]
STEP_STATES: tuple[StepState, ...] = get_args(StepState)
OVER: frozenset[StepState] = frozenset({"done", "skipped"})
CURRENT: frozenset[StepState] = frozenset({"ready", "running", "failed", "undoing"})

StepEvent = Literal["begin", "finish", "fail", "skip", "retry"]
UndoEvent = Literal["undone", "keep", "fail"]
"""Result of undoing a step: it is as before its begin (`undone`), nothing was undone (`keep`), a part may be undone
(`fail`)."""
JourneyMove = Literal["start", "pause", "resume", "abort", "complete"]
STEP_MOVES: dict[StepEvent, tuple[frozenset[StepState], StepState]] = {
    "begin": (frozenset({"ready"}), "running"),
    "finish": (frozenset({"running"}), "done"),
    "fail": (frozenset({"ready", "running"}), "failed"),
    "skip": (frozenset({"waiting", "ready", "running", "failed"}), "skipped"),
    "retry": (frozenset({"failed"}), "ready"),
}
"""By event of a step: the states in which it may happen, and the state after it."""
JOURNEY_MOVES: dict[JourneyMove, tuple[frozenset[JourneyState], JourneyState]] = {
    "start": (frozenset({"approved"}), "running"),
    "pause": (frozenset({"running"}), "paused"),
    "resume": (frozenset({"paused"}), "running"),
    "abort": (frozenset({"running", "paused"}), "aborted"),
    "complete": (frozenset({"running"}), "succeeded"),
}
_JOURNEY_STATES_OF: dict[StepEvent, frozenset[JourneyState]] = {
    "begin": frozenset({"running"}),
    "finish": frozenset({"running"}),
    "fail": frozenset({"running"}),
    "skip": HOLDING,
    "retry": frozenset({"paused"}),
}
"""By event of a step: the states of the journey in which it may happen."""


class StepProgress(msgspec.Struct, frozen=True):
    """The state of one step. A step that `protects` cannot be skipped."""

    state: StepState = "waiting"
    protects: bool = False


class JourneyProgress(msgspec.Struct, frozen=True):
    """The state of a journey and of its steps, in order."""

    state: JourneyState
    steps: tuple[StepProgress, ...]

    @property
    def current(self) -> int | None:
        """The index of the current step; None before the start and after the last step."""
        return next((place for place, step in enumerate(self.steps) if step.state in CURRENT), None)

    @property
    def complete(self) -> bool:
        """Whether every step is done or skipped."""
        return all(step.state in OVER for step in self.steps)


class NotPossible(Conflict):
    """The event is not possible in this state."""

    code = "moved"


def can_transition(now: JourneyState, then: JourneyState) -> bool:
    return then in JOURNEY_TRANSITIONS[now]


def after(progress: JourneyProgress, event: JourneyMove) -> JourneyProgress:
    """Returns the progress after an event of the whole journey.

    Raises NotPossible; also for `resume` with a failed step, which has to be retried or skipped, and for `complete`
    with steps left.
    """
    allowed, then = JOURNEY_MOVES[event]
    if progress.state not in allowed:
        raise NotPossible(f"a journey that is {progress.state.replace('_', ' ')} cannot {event}")
    if event == "resume" and any(step.state == "failed" for step in progress.steps):
        raise NotPossible("its step failed: retry the step or skip it", code="step_failed")
    if event == "complete" and not progress.complete:
        raise NotPossible("there are steps left")
    next_progress = msgspec.structs.replace(progress, state=then)
    return _with_next_ready(next_progress) if event == "start" else next_progress


def after_step(progress: JourneyProgress, event: StepEvent, *, place: int) -> JourneyProgress:
    """Returns the progress after an event of the step at that index.

    A failed step pauses the journey, and a retried one resumes it; after a finished or skipped one the next step is
    ready. Raises NotPossible, with the code `protects` for a step that cannot be skipped.
    """
    step = progress.steps[place]
    allowed, then = STEP_MOVES[event]
    if progress.state not in _JOURNEY_STATES_OF[event]:
        raise NotPossible(f"the journey is {progress.state.replace('_', ' ')}")
    if step.state not in allowed:
        raise NotPossible(f"a step that is {step.state} cannot {event}")
    if event == "skip" and step.protects:
        raise NotPossible("this step protects the cluster and is never skipped", code="protects")
    next_progress = _with_state(progress, place, then=then)
    if event == "fail":
        return msgspec.structs.replace(next_progress, state="paused")
    if event == "retry":
        return msgspec.structs.replace(next_progress, state="running")
    return _with_next_ready(next_progress)


def start_rollback(progress: JourneyProgress, *, to: int, changed: Collection[int]) -> JourneyProgress:
    """Returns the progress at the start of a rollback to the step at index `to`. `changed`: indexes of steps whose
    rollouts changed the cluster and were not undone; of skipped steps only these are undone.

    Raises NotPossible if the journey has not started or has ended, and for a step that was not reached.
    """
    if progress.state not in HOLDING:
        raise NotPossible(f"the journey is {progress.state.replace('_', ' ')}")
    place = progress.current
    if not 0 <= to < len(progress.steps) or progress.steps[to].state == "waiting" or (place is not None and to > place):
        raise NotPossible("that step was not reached", code="not_reached")
    next_progress = msgspec.structs.replace(progress, state="running")
    if place is not None and next_progress.steps[place].state != "undoing":
        next_progress = _with_state(next_progress, place, then="undoing" if place in changed else "waiting")
    if next_progress.steps[to].state == "skipped" and to not in changed:
        next_progress = _with_state(next_progress, to, then="waiting")
    return _with_next_undo(next_progress, to=to, changed=changed)


def after_undo(
    progress: JourneyProgress, event: UndoEvent, *, to: int, before: StepState, changed: Collection[int]
) -> JourneyProgress:
    """Returns the progress after an event of the step that is being undone; `before` is the state that it had.

    `changed` is as for `start_rollback`. The rollback ends, and the journey pauses, when every step down to index `to`
    is undone, or one cannot be undone. Raises NotPossible if no step is being undone.
    """
    place = progress.current
    if progress.state != "running" or place is None or progress.steps[place].state != "undoing":
        raise NotPossible("no step is being undone")
    if event == "undone":
        return _with_next_undo(_with_state(progress, place, then="waiting"), to=to, changed=changed)
    paused = msgspec.structs.replace(progress, state="paused")
    return _with_next_ready(_with_state(paused, place, then=before if event == "keep" else "failed"))


def _with_next_undo(progress: JourneyProgress, *, to: int, changed: Collection[int]) -> JourneyProgress:
    """Returns the progress with the next step to undo: the last one down to `to` that is done, or skipped after a
    change.

    If there is none, the journey is paused with its first waiting step ready.
    """
    if progress.current is not None:
        return progress
    places_to_undo = [
        place
        for place, step in enumerate(progress.steps)
        if place >= to and (step.state == "done" or (step.state == "skipped" and place in changed))
    ]
    if places_to_undo:
        return _with_state(progress, places_to_undo[-1], then="undoing")
    return _with_next_ready(msgspec.structs.replace(progress, state="paused"))


def _with_next_ready(progress: JourneyProgress) -> JourneyProgress:
    """Returns the progress with the first waiting step ready, if no step is current."""
    if progress.current is not None:
        return progress
    place = next((place for place, step in enumerate(progress.steps) if step.state == "waiting"), None)
    return progress if place is None else _with_state(progress, place, then="ready")


def _with_state(progress: JourneyProgress, place: int, *, then: StepState) -> JourneyProgress:
    steps = list(progress.steps)
    steps[place] = msgspec.structs.replace(steps[place], state=then)
    return msgspec.structs.replace(progress, steps=tuple(steps))
