"""Budgets are restored from the annotation; what somebody changed since stays, and an odd annotation is refused."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from tests.actions.catalogue.test_hold_disruption import DRIFT, NIGHT, held, is_held, scene, text
from tests.actions.scenes import asks_too_much, bodies, steps_of
from tests.builders.pools import a_pool, put

NAME = "release_disruption"


def steps(*docs, **parameters):
    return steps_of(NAME, scene(*docs), **parameters)


def refused(*docs):
    with pytest.raises(Unavailable) as caught:
        steps(*docs)
    return caught.value.code


@pytest.mark.parametrize("before", [[DRIFT, NIGHT], [], None])
def test_the_budgets_are_restored_and_the_undo_holds_again(before):
    (step,) = steps(is_held(a_pool(), before), a_pool(name="free"))
    assert bodies([step]) == [
        ("patch", "NodePool web",
         {"metadata": {"annotations": {HELD: None}}, "spec": {"disruption": {"budgets": before}}}),
    ]  # fmt: skip
    assert (step.undo.body, step.risk) == (held(before), "low")
    assert set(step.preconditions) == {("metadata", "annotations", HELD), ("spec", "disruption", "budgets")}


def test_budgets_that_somebody_changed_since_stay_and_are_named():
    pool = put(is_held(a_pool(), [DRIFT]), {"spec.disruption.budgets": [{"nodes": "5"}]})
    (step,) = steps(pool)
    assert bodies([step]) == [("patch", "NodePool web", {"metadata": {"annotations": {HELD: None}}})]
    assert step.title == "Leave the budgets of NodePool web, which were changed since"
    assert text([DRIFT]) in step.note
    assert ("spec", "disruption", "budgets") in step.preconditions  # changed once more: it stops


@pytest.mark.parametrize("said", ["", "[", "{}", "3", '["a"]', '"' + "x" * 30_000 + '"', "[" * 20_000])
def test_an_annotation_that_tells_nothing_is_left_to_a_person(said):
    pool = is_held(a_pool(), None)
    pool["metadata"]["annotations"][HELD] = said
    assert refused(pool) == "changed"


def test_nothing_is_held():
    assert refused(a_pool({"spec.disruption.budgets": NO_NODES})) == "nothing_to_do"


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(NAME, steps(is_held(a_pool(), [DRIFT]))) == set()
