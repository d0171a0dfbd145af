"""When an upgraded controller counts as running: each thing that is not so is named."""

import msgspec
import pytest

from migrations_app.actions.gate import ClusterCounters, Gate, judge
from migrations_app.actions.gates.controller_gate import (
    ControllerGate,
    ControllerStatus,
    PodOfController,
    controller_reasons,
)
from migrations_app.actions.plan import Step
from migrations_app.errors import InvalidInput
from migrations_app.execution.proof import permissions_to_execute, refuse_missing_rights
from tests.actions.scenes import a_plan

GATE = ControllerGate(namespace="karpenter", deployment="karpenter", images=("c:2",), leader="lead")
PODS = tuple(PodOfController(name=f"k-{number}", images=("c:2", "sidecar"), ready=True) for number in range(2))
GOOD = ControllerStatus(
    found=True, observed=True, wanted=2, total=2, updated=2, available=2, pods=PODS, holder="k-1_7c1"
)
OLD = PodOfController(name="old", images=("c:1",), ready=True)


def reasons(**changes):
    return controller_reasons(GATE, msgspec.structs.replace(GOOD, **changes))


def test_nothing_is_left_to_wait_for():
    assert reasons() == []
    assert reasons(wanted=1, total=1, updated=1, available=1, pods=PODS[:1], holder="k-0") == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"found": False}, "Deployment karpenter/karpenter is not there"),
        ({"observed": False}, "Deployment karpenter/karpenter was not taken up yet"),
        ({"updated": 1}, "Deployment karpenter/karpenter: 1 of 2 replicas are updated, 2 are there"),
        ({"total": 3}, "Deployment karpenter/karpenter: 2 of 2 replicas are updated, 3 are there"),
        ({"available": 1}, "Deployment karpenter/karpenter: 1 of 2 replicas are available"),
        ({"pods": None}, "the pods of the controller could not be read"),
        ({"pods": (*PODS, OLD)}, "other images run in old"),
        ({"pods": PODS[1:]}, "1 of 2 pods run c:2"),
        ({"holder": None}, "Lease karpenter/lead could not be read, so the leader is not known"),
        ({"holder": ""}, "the leader is nobody, and not one of the new pods"),
        ({"holder": "k-11_x"}, "the leader is k-11_x, and not one of the new pods"),
        ({"pods": (*PODS, OLD), "holder": "old_x"}, "the leader is old_x, and not one of the new pods"),
    ],
)
def test_each_thing_that_is_not_so_is_named(changes, words):
    assert words in reasons(**changes)


def test_a_pod_that_is_not_ready_neither_counts_nor_leads():
    waiting = msgspec.structs.replace(PODS[1], ready=False)
    assert reasons(pods=(PODS[0], waiting)) == ["not ready: k-1", "the leader is k-1_7c1, and not one of the new pods"]


def test_what_could_not_be_read_is_waited_for_and_then_asks_a_person():  # A24
    gate, blind = Gate(controller=GATE, pending_above=None, seconds=10), ClusterCounters(taken_at="")
    assert judge(gate, before=blind, now=blind, waited=1).judgement == "wait"
    told = judge(gate, before=blind, now=blind, waited=10)
    assert (told.judgement, told.reasons[1]) == ("pause", "the controller could not be read")
    assert judge(gate, before=blind, now=ClusterCounters(taken_at="", controller=GOOD), waited=1).judgement == "go"


def test_without_a_leader_to_elect_nobody_has_to_lead():
    alone = msgspec.structs.replace(GATE, leader="")
    assert controller_reasons(alone, msgspec.structs.replace(GOOD, holder="")) == []


def test_a_controller_that_was_scaled_to_nothing_does_not_run():
    """Where no leader is elected, nothing else of it would tell."""
    alone = msgspec.structs.replace(GATE, leader="")
    none = ControllerStatus(found=True, observed=True, pods=(), holder="")
    words = "Deployment karpenter/karpenter is scaled to 0 replicas: no controller runs"
    assert controller_reasons(alone, none) == [words]


class NoLease:
    """An account that may do everything but read Leases, which the gate has to do."""

    def may(self, need, *, namespace="", name=""):
        return need.plural != "leases"


@pytest.mark.parametrize("when", ["after", "undo_after"])
def test_a_gate_that_could_never_hold_is_told_at_the_preview(when):  # A26
    step = Step(id="", title="Upgrade", **{when: Gate(controller=GATE)})
    with pytest.raises(InvalidInput) as caught:
        refuse_missing_rights(NoLease(), permissions_to_execute(a_plan("upgrade_delivery", [step])))
    rule = 'missing rules: - {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"]}'
    assert (caught.value.code, caught.value.message) == ("missing_rights", rule)
    alone = msgspec.structs.replace(step, **{when: Gate(controller=msgspec.structs.replace(GATE, leader=""))})
    refuse_missing_rights(NoLease(), permissions_to_execute(a_plan("upgrade_delivery", [alone])))
