"""The path of a sample cluster, decided from facts alone."""

from dataclasses import replace

import pytest

from migrations_app.samples.changeable.path import (
    STATES,
    OpenRollout,
    RolloutsSoFar,
    SampleFacts,
    SampleNext,
    next_step,
    steps,
)

ALPHA = SampleFacts(release="0.31.5", legacy_nodes=20, legacy_objects=22, nodes=20)
CRDS = replace(ALPHA, served=("v1beta1",), storage="v1beta1", stored=("v1beta1",))
BETA = replace(CRDS, release="0.32.10")
POOLS = replace(BETA, node_pools=1)
NODES = replace(POOLS, legacy_nodes=0)
CLEAN = replace(NODES, legacy_objects=0)
BRIDGE_CRDS = replace(CLEAN, served=("v1", "v1beta1"))
BRIDGE = replace(BRIDGE_CRDS, release="0.37.8")
CURRENT_CRDS = replace(BRIDGE, storage="v1", stored=("v1", "v1beta1"))
CURRENT = replace(CURRENT_CRDS, release="1.0.14")
DONE = replace(CURRENT, stored=("v1",))
NOTHING = RolloutsSoFar()
TAKEN_BACK = RolloutsSoFar(succeeded=frozenset({"convert_and_apply"}), taken_back=True)


def told(facts: SampleFacts, so_far: RolloutsSoFar = NOTHING, *, begins: str = "0.31.5") -> SampleNext:
    return next_step(steps("sample", begins=begins), facts, so_far=so_far)


@pytest.mark.parametrize(
    ("facts", "so_far", "step"),
    [
        (ALPHA, NOTHING, "crds-0.32.10"),
        (CRDS, NOTHING, "controller-0.32.10"),
        (BETA, NOTHING, "convert"),
        (POOLS, NOTHING, "roll_back"),
        (BETA, TAKEN_BACK, "convert_again"),
        (POOLS, TAKEN_BACK, "nodes"),
        (replace(POOLS, legacy_nodes=3), NOTHING, "nodes"),
        (NODES, TAKEN_BACK, "legacy"),
        (CLEAN, NOTHING, "crds-0.37.8"),
        (BRIDGE_CRDS, NOTHING, "controller-0.37.8"),
        (BRIDGE, NOTHING, "crds-1.0.14"),
        (CURRENT_CRDS, NOTHING, "controller-1.0.14"),
        (CURRENT, NOTHING, "rewrite"),
    ],
)
def test_the_first_step_that_is_not_done_is_next(facts, so_far, step):
    found = told(facts, so_far)
    assert (found.step.id, found.who, found.rollout) == (step, "operator", "")


def test_at_the_end_nothing_is_next():
    found = told(DONE)
    assert (found.step, found.number, found.total, found.who) == (None, 12, 12, "anybody")


@pytest.mark.parametrize(
    ("begins", "ids"),
    [
        (
            "0.32.10",
            ["nodes", "legacy", "crds-0.37.8", "controller-0.37.8", "crds-1.0.14", "controller-1.0.14", "rewrite"],
        ),
        ("1.0.14", ["rewrite"]),
    ],
)
def test_who_begins_later_has_fewer_steps(begins, ids):
    assert [one.id for one in steps("sample", begins=begins)] == ids


@pytest.mark.parametrize("state", sorted(STATES))
def test_an_open_rollout_comes_before_every_step(state):
    opened = OpenRollout(id="r1", action="upgrade_crds", state=state, author="sample-operator")
    found = told(ALPHA, RolloutsSoFar(open=opened))
    assert (found.rollout, found.words, found.who, found.retry) == ("r1", *STATES[state], False)


def test_a_try_that_did_not_work_out_is_told_with_its_cause():
    opened = OpenRollout(id="r1", action="upgrade_crds", state="expired", author="ada", cause="no permission")
    found = told(ALPHA, RolloutsSoFar(open=opened))
    assert (found.rollout, found.retry, found.who) == ("r1", True, "operator")
    assert found.words == "The last try did not work out: no permission"


def test_a_failed_try_of_an_earlier_step_is_over():
    opened = OpenRollout(id="r1", action="upgrade_crds", state="expired", author="ada")
    assert told(BETA, RolloutsSoFar(open=opened)).rollout == ""
