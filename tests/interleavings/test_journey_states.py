"""Every state that a journey of up to four steps comes to, by the product's functions; each invariant can break."""

from collections import deque
from itertools import product

import msgspec
import pytest

from migrations_app.journeys import states
from migrations_app.journeys.states import (
    CURRENT,
    ENDED,
    HOLDING,
    JOURNEY_MOVES,
    OVER,
    STEP_MOVES,
    JourneyProgress,
    NotPossible,
    StepProgress,
)

MAX_STEPS = 4


def follows(now):
    """Every state that one event leads to; what is refused leads nowhere."""
    events = [lambda event=event: states.after(now, event) for event in JOURNEY_MOVES]
    events += [
        lambda event=event, place=place: states.after_step(now, event, place=place)
        for event, place in product(STEP_MOVES, range(len(now.steps)))
    ]
    for event in events:
        try:
            yield event()
        except NotPossible:
            continue


def in_order(_, now):
    at = [place for place, step in enumerate(now.steps) if step.state in CURRENT]
    return len(at) <= 1 and all(step.state in OVER for place in at for step in now.steps[:place])


def has_a_turn(_, now):
    return now.state not in HOLDING or now.complete or any(step.state in CURRENT for step in now.steps)


def stays_over(before, now):
    pairs = zip(before.steps, now.steps, strict=True)
    return all(old.state == new.state for old, new in pairs if old.state in OVER)


INVARIANTS = {
    "one step at a time, in their order": in_order,
    "whoever holds a cluster has a step whose turn it is": has_a_turn,
    "an ended journey never changes": lambda before, _: before.state not in ENDED,
    "what is over stays over": stays_over,
    "a step that protects is never skipped": lambda _, now: all(
        not (step.protects and step.state == "skipped") for step in now.steps
    ),
    "it succeeds with every step over": lambda _, now: (
        now.state != "succeeded" or all(step.state in OVER for step in now.steps)
    ),
    "no step runs on after one that failed": lambda _, now: (
        now.state != "running" or all(step.state != "failed" for step in now.steps)
    ),
}


def walked(most=MAX_STEPS):
    """How many states and transitions there are, and which invariants some transition breaks."""
    kinds = [protects for count in range(1, most + 1) for protects in product((False, True), repeat=count)]
    known = {JourneyProgress("approved", tuple(StepProgress(protects=one) for one in protects)) for protects in kinds}
    todo, count, broken = deque(known), 0, set()
    while todo:
        before = todo.popleft()
        for now in follows(before):
            count += 1
            broken |= {words for words, holds in INVARIANTS.items() if not holds(before, now)}
            if now not in known:
                known.add(now)
                todo.append(now)
    return len(known), count, broken


def test_in_no_state_of_a_journey_an_invariant_breaks():
    found, transitions, broken = walked()
    assert (found > 2_000, transitions > 5_000, broken) == (True, True, set())


def careless(progress, event, *, place):
    """As if no step protected."""
    bare = msgspec.structs.replace(progress.steps[place], protects=False)
    steps = (*progress.steps[:place], bare, *progress.steps[place + 1 :])
    now = AFTER_STEP(msgspec.structs.replace(progress, steps=steps), event, place=place)
    kept = msgspec.structs.replace(now.steps[place], protects=progress.steps[place].protects)
    return msgspec.structs.replace(now, steps=(*now.steps[:place], kept, *now.steps[place + 1 :]))


def unpaused(progress, event, *, place):
    now = AFTER_STEP(progress, event, place=place)
    return msgspec.structs.replace(now, state="running") if event == "fail" else now


def every_turn(progress):
    waits = next((place for place, step in enumerate(progress.steps) if step.state == "waiting"), None)
    return progress if waits is None else states._with_state(progress, waits, then="ready")


AFTER, AFTER_STEP = states.after, states.after_step
PLANTED = {
    "one step at a time, in their order": lambda patch: patch.setattr(states, "_with_next_ready", every_turn),
    "whoever holds a cluster has a step whose turn it is": lambda patch: patch.setattr(
        states, "_with_next_ready", lambda one: one
    ),
    "an ended journey never changes": lambda patch: patch.setitem(
        JOURNEY_MOVES, "pause", (ENDED | {"running"}, "paused")
    ),
    "what is over stays over": lambda patch: patch.setitem(
        STEP_MOVES, "begin", (frozenset({"ready", "done"}), "running")
    ),
    "a step that protects is never skipped": lambda patch: patch.setattr(states, "after_step", careless),
    "it succeeds with every step over": lambda patch: patch.setattr(JourneyProgress, "complete", True),
    "no step runs on after one that failed": lambda patch: patch.setattr(states, "after_step", unpaused),
}


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_each_of_them_is_broken_by_a_planted_fault(monkeypatch, invariant):
    PLANTED[invariant](monkeypatch)
    assert invariant in walked(2)[2]
