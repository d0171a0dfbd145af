"""Which plan is the same as the one that was approved, and which one asks again."""

from types import SimpleNamespace

import pytest

from migrations_app.actions.changes import ObjectTarget, deletion, merge
from migrations_app.actions.plan import RolloutLimits, Step
from migrations_app.journeys.outline import PlanDifference, differences, outline
from migrations_app.journeys.plan import coverable
from tests.builders.rollouts import IDENTITY, POOL, a_plan, remove, taint

CLUSTER = SimpleNamespace(pk="c-1")


def node(number: int) -> ObjectTarget:
    return ObjectTarget("", "v1", "nodes", "Node", f"ip-{number}", uid=f"u-{number}")


def removals(*numbers: int) -> list[Step]:
    return [remove(change=deletion(node(number))) for number in numbers]


def told(*steps: Step, doubts=None, **more):
    return outline(a_plan(CLUSTER, *steps, **more), doubts=doubts or {})


def test_the_same_plan_made_anew_does_not_differ():
    assert differences(told(taint()), told(taint(), made_at="2026-11-22T10:00:00Z", snapshot="other")) == ()


def test_numbers_of_the_forecast_are_not_compared():
    from migrations_app.actions.plan import Forecast

    assert differences(told(taint()), told(taint(), forecast=Forecast(nodes=99, pods=1))) == ()


def test_other_nodes_and_a_tenth_more_are_accepted():
    shown = told(*removals(*range(20)))
    assert differences(shown, told(*removals(*range(100, 122)))) == ()
    assert differences(shown, told(*removals(1))) == ()
    assert differences(shown, told(*removals(*range(23)))) == (
        PlanDifference("nodes", "delete Node: 23, shown were 20"),
    )


def test_one_more_of_a_few_nodes_is_accepted_and_two_are_not():
    shown = told(*removals(1))
    assert differences(shown, told(*removals(1, 2))) == ()
    assert [one.code for one in differences(shown, told(*removals(1, 2, 3)))] == ["nodes"]


def test_a_kind_of_request_about_nodes_that_was_not_shown_asks_again():
    assert [one.code for one in differences(told(taint()), told(taint(), *removals(1)))] == ["risk", "nodes"]


OTHER_POOL = ObjectTarget("karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "batch", uid="u-9")
AGAIN = ObjectTarget("karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "default", uid="u-new")


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({"change": merge(POOL, {"spec": {"taints": []}})}, ["request_added", "request_missing"]),
        ({"change": merge(OTHER_POOL, {"spec": {}})}, ["request_added", "request_missing"]),
        ({"change": merge(AGAIN, {"spec": {"taints": None}})}, ["request_added", "request_missing"]),
        ({"undo": None}, ["request_added", "request_missing"]),
        ({"manager": "argocd"}, ["request_added", "request_missing"]),
        ({"risk": "high"}, ["risk"]),
    ],
)
def test_every_other_object_has_to_be_the_same(changed, codes):
    assert [one.code for one in differences(told(taint()), told(taint(**changed)))] == codes


def test_another_order_of_the_same_requests_asks_again():
    first, second = taint(), taint(change=merge(OTHER_POOL, {"spec": {}}))
    assert differences(told(first, second), told(second, first)) == (PlanDifference("order"),)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"action": "roll_nodes"}, "action"),
        ({"parameters": {"by": "expiry"}}, "parameters"),
        ({"limits": RolloutLimits(batch=5)}, "limits"),
        ({"identity": IDENTITY}, "cluster"),
    ],
)
def test_what_frames_the_plan_has_to_be_the_same(more, code):
    assert [one.code for one in differences(told(taint()), told(taint(), **more))] == [code]


def test_a_step_without_proof_asks_again_and_is_never_covered():
    doubted = told(taint(), doubts={"s001": "not provable"})
    assert differences(told(taint()), doubted) == (PlanDifference("doubts", "Taint Provisioner default"),)
    assert (coverable(told(taint()), limit="medium"), coverable(doubted, limit="medium")) == (True, False)


def test_the_limit_of_an_approval():
    high = told(*removals(1))
    assert [coverable(high, limit=limit) for limit in ("low", "medium", "high")] == [False, False, True]
    assert not coverable(told(taint(risk="destructive")), limit="high")
