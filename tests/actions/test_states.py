"""The table of states: what may follow, what is final, and that nothing reaches a run but by an approval."""

from migrations_app.actions.states import FINAL, FOLLOWS, HOLDING, STATES, WORKING, may_follow, pairs


def test_every_state_has_a_row():  # A06
    assert set(FOLLOWS) == set(STATES)
    assert len(STATES) == 14


def test_the_final_states():  # A08
    assert {"succeeded", "rolled_back", "rejected", "expired"} == FINAL


def test_the_way_to_a_run_leads_over_an_approval():  # A07
    assert [now for now, then in pairs() if then == "running"] == ["approved", "paused"]
    assert [now for now, then in pairs() if then == "approved"] == ["awaiting_approval"]
    assert [now for now, then in pairs() if then == "awaiting_approval"] == ["previewed"]
    assert not may_follow("awaiting_approval", "running")


def test_a_person_settles_what_needs_attention():  # A09
    assert FOLLOWS["needs_attention"] == {"paused", "failed", "aborted"}
    assert all(may_follow(state, "needs_attention") for state in WORKING | {"paused", "approved"})


def test_states_that_hold_a_cluster():  # A13
    assert {"running", "paused", "needs_attention"} == HOLDING
