"""Which nodes a plan replaces at the same time, by its steps and gates."""

import msgspec
import pytest

from migrations_app.actions.changes import ObjectTarget, deletion
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import Forecast, Step
from migrations_app.actions.replaced_nodes import replacement_of
from tests.actions.scenes import a_plan
from tests.builders.capacity import launched, rolled
from tests.builders.rollouts import taint

NODES = launched(20)
INVENTORY = rolled(*NODES).build()
NAMES = [one.node for one in NODES]


def delete(kind, name, *, gate=False):
    target = ObjectTarget("", "v1", f"{kind.lower()}s", kind, name, uid="u")
    return Step(id="", title="t", change=deletion(target), after=Gate(gone=(target,)) if gate else None)


def groups(*steps, nodes=0):
    plan = msgspec.structs.replace(a_plan("roll_nodes", steps), forecast=Forecast(nodes=nodes))
    return [
        [[node.name for node in group.nodes] for group in stage] for stage in replacement_of(plan, INVENTORY).stages
    ]


def test_the_nodes_between_two_gates_go_together():
    steps = [delete("Node", name, gate=place in (1, 3)) for place, name in enumerate(NAMES[:5])]
    assert groups(taint(), *steps, nodes=5) == [[NAMES[0:2]], [NAMES[2:4]], [NAMES[4:5]]]


@pytest.mark.parametrize("kind", ["NodeClaim", "Machine"])
def test_a_claim_stands_for_its_node(kind):
    assert groups(delete(kind, NODES[0].claim), delete(kind, "gone")) == [[[NAMES[0]]]]


def test_other_deletions_replace_nothing():
    assert groups(delete("Pod", NAMES[0]), taint()) == []


@pytest.mark.parametrize("nodes", [7, None])
def test_what_karpenter_replaces_by_itself_is_all_at_the_pace_of_the_budgets(nodes):
    plan = msgspec.structs.replace(a_plan("taint_and_drift", [taint()]), forecast=Forecast(nodes=nodes))
    found = replacement_of(plan, INVENTORY)
    assert ({node.name for node in found.each()}, found.nodes) == (set(NAMES), 2)
