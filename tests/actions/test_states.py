"""The table of states: what may follow, what is final, and that nothing reaches a run but by an approval."""

from migrations_app.actions.states import FINAL, HOLDING, ROLLOUT_TRANSITIONS, STATES, WORKING, can_transition, pairs


def test_every_state_has_a_row():  # A06
    assert set(ROLLOUT_TRANSITIONS) == set(STATES)
    assert len(STATES) == 14


def test_the_final_states():  # A08
    assert {"succeeded", "rolled_back", "rejected", "expired"} == FINAL


def test_the_way_to_a_run_leads_over_an_approval():  # A07
    assert [now for now, then in pairs() if then == "running"] == ["approved", "paused"]
    assert [now for now, then in pairs() if then == "approved"] == ["awaiting_approval"]
    assert [now for now, then in pairs() if then == "awaiting_approval"] == ["previewed"]
    assert not can_transition("awaiting_approval", "running")


def test_a_person_settles_what_needs_attention():  # A09
    assert ROLLOUT_TRANSITIONS["needs_attention"] == {"paused", "failed", "aborted"}
    assert all(can_transition(state, "needs_attention") for state in WORKING | {"paused", "approved"})


def test_states_that_hold_a_cluster():  # A13
    assert {"running", "paused", "needs_attention"} == HOLDING
