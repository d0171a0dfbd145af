"""The pause that a reader of a run is told grows with the number of readers, and shrinks when they leave."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.web.rollouts.rollout_polling import (
    ANSWERS_A_SECOND,
    MAX_PAUSE_SECONDS,
    MIN_PAUSE_SECONDS,
    WINDOW_SECONDS,
    Watchers,
)
from tests.builders.rollouts import a_rollout


def told(watchers, many, *, at):
    """What the last of that many readers is told."""
    return [watchers.pause_for(f"reader {number}", at=at) for number in range(many)][-1]


@given(st.integers(min_value=1, max_value=1500))
def test_all_readers_together_ask_no_more_often_than_is_answered(many):
    pause = told(Watchers(), many, at=100.0)
    assert MIN_PAUSE_SECONDS <= pause <= MAX_PAUSE_SECONDS
    assert pause == MAX_PAUSE_SECONDS or many / pause <= ANSWERS_A_SECOND


def test_one_reader_who_asks_often_counts_once():
    watchers = Watchers()
    assert {watchers.pause_for("ada", at=float(second)) for second in range(300)} == {MIN_PAUSE_SECONDS}


def test_readers_who_left_are_forgotten():
    watchers = Watchers()
    assert told(watchers, 200, at=0.0) == 5
    assert watchers.pause_for("ada", at=WINDOW_SECONDS) == 6
    assert watchers.pause_for("ada", at=2 * WINDOW_SECONDS) == MIN_PAUSE_SECONDS
    assert told(watchers, 200, at=200.0) == 5
    assert watchers.pause_for("ada", at=200.0 + 3 * WINDOW_SECONDS) == MIN_PAUSE_SECONDS


def test_the_live_part_says_when_to_ask_again(ada, shop):
    row = a_rollout(shop, state="running")
    assert ada.get(f"/rollouts/{row.pk}/live")["X-Rollout-Pause"] == str(MIN_PAUSE_SECONDS)
