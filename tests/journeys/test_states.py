"""The state machine of journeys, under every order of events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.journeys.states import (
    CURRENT,
    ENDED,
    HOLDING,
    JOURNEY_MOVES,
    JOURNEY_STATES,
    JOURNEY_TRANSITIONS,
    OVER,
    STEP_MOVES,
    JourneyProgress,
    NotPossible,
    StepProgress,
    after,
    after_step,
    can_transition,
)

EVENTS = st.one_of(
    st.tuples(st.sampled_from(sorted(JOURNEY_MOVES)), st.none()),
    st.tuples(st.sampled_from(sorted(STEP_MOVES)), st.integers(0, 4)),
)
PROTECTION = st.lists(st.booleans(), min_size=1, max_size=5)


def allowed_transitions():
    return [(now, then) for now in JOURNEY_STATES for then in JOURNEY_STATES if can_transition(now, then)]


def fresh(*protects: bool) -> JourneyProgress:
    return JourneyProgress("approved", tuple(StepProgress(protects=one) for one in protects))


def happened(progress: JourneyProgress, event, place) -> JourneyProgress:
    """The journey after the event; the same one where the event is not possible."""
    try:
        if place is None:
            return after(progress, event)
        return after_step(progress, event, place=place % len(progress.steps))
    except NotPossible:
        return progress


def run(protects, events) -> list[JourneyProgress]:
    found = [fresh(*protects)]
    for event, place in events:
        found.append(happened(found[-1], event, place))
    return found


def words(progress: JourneyProgress) -> list[str]:
    return [step.state for step in progress.steps]


@given(PROTECTION, st.lists(EVENTS, max_size=40))
def test_steps_are_done_in_order_and_one_at_a_time(protects, events):
    for progress in run(protects, events):
        current = [place for place, word in enumerate(words(progress)) if word in CURRENT]
        assert len(current) <= 1
        first = current[0] if current else next((n for n, word in enumerate(words(progress)) if word not in OVER), None)
        if first is not None:
            assert set(words(progress)[:first]) <= OVER
            assert set(words(progress)[first + 1 :]) <= {"waiting", "skipped"}


@given(PROTECTION, st.lists(EVENTS, max_size=40))
def test_a_journey_that_holds_its_cluster_has_a_current_step_until_all_are_over(protects, events):
    for progress in run(protects, events):
        if progress.state in HOLDING:
            assert (progress.current is None) is progress.complete


@given(PROTECTION, st.lists(EVENTS, max_size=40))
def test_it_succeeds_only_with_every_step_over_and_no_protecting_one_skipped(protects, events):
    last = run(protects, events)[-1]
    assert not any(step.protects and step.state == "skipped" for step in last.steps)
    if last.state == "succeeded":
        assert last.complete


@given(PROTECTION, st.lists(EVENTS, max_size=40))
def test_a_failed_step_holds_the_journey_until_a_person_decides(protects, events):
    for progress in run(protects, events):
        if "failed" in words(progress):
            assert progress.state in ("paused", "aborted")


@given(PROTECTION, st.lists(EVENTS, max_size=40))
def test_what_is_over_stays_over_and_an_ended_journey_never_changes(protects, events):
    found = run(protects, events)
    for before, now in pairwise(found):
        if before.state in ENDED:
            assert now == before
        assert all(b not in OVER or b == n for b, n in zip(words(before), words(now), strict=True))
        assert before.state == now.state or can_transition(before.state, now.state)


@given(PROTECTION)
def test_a_journey_without_faults_comes_to_its_end(protects):
    progress = after(fresh(*protects), "start")
    for place in range(len(protects)):
        progress = after_step(after_step(progress, "begin", place=place), "finish", place=place)
    assert after(progress, "complete").state == "succeeded"


def test_every_state_has_a_row_and_the_way_to_a_run_leads_over_an_approval():
    assert set(JOURNEY_TRANSITIONS) == set(JOURNEY_STATES)
    assert [now for now, then in allowed_transitions() if then == "running"] == ["approved", "paused"]
    assert [now for now, then in allowed_transitions() if then == "approved"] == ["awaiting_approval"]
    assert [now for now, then in allowed_transitions() if then == "awaiting_approval"] == ["previewed"]


def test_the_database_knows_the_same_table():
    import importlib

    guards = importlib.import_module("migrations_app.migrations.0002_squashed_0026_guards")
    assert set(guards.JOURNEY_PAIRS) == set(allowed_transitions())


def test_a_failed_step_is_retried_or_skipped_before_the_journey_goes_on():
    begun = after_step(after(fresh(False, True), "start"), "begin", place=0)
    failed = after_step(begun, "fail", place=0)
    assert (failed.state, words(failed)) == ("paused", ["failed", "waiting"])
    with pytest.raises(NotPossible) as refused:
        after(failed, "resume")
    assert refused.value.code == "step_failed"
    assert words(after_step(failed, "retry", place=0)) == ["ready", "waiting"]
    skipped = after_step(failed, "skip", place=0)
    assert (skipped.state, words(skipped)) == ("paused", ["skipped", "ready"])
    with pytest.raises(NotPossible) as protected:
        after_step(skipped, "skip", place=1)
    assert protected.value.code == "protects"
