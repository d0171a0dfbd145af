"""Two workers, crashes, lost leases, late requests in every order: four invariants hold, and each guard is needed."""

import pytest

from tests.use_cases.rollouts.step_model import explore

NEEDED = {
    "precondition": "no double effect",  # with tokens alone a late request takes effect again: why A15 was written
    "token": "no journal write by a stale holder",
    "intent_first": "no effect without intent",
    "look_first": "no double effect",
    "settle_by_reading": "nothing lost",
    "doubt": "nothing lost",
}


def test_in_no_order_of_events_an_invariant_breaks():  # A14, A15, A18, A19, A22, A25
    found = explore()
    assert found.wrong == frozenset()
    assert (found.states > 50_000, found.done > 10_000) == (True, True)


@pytest.mark.parametrize(("guard", "broken"), NEEDED.items())
def test_without_any_one_guard_an_invariant_breaks(guard, broken):  # A15
    assert broken in explore(without=frozenset({guard}), until=broken).wrong
