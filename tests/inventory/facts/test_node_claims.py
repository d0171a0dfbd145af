import pytest

from migrations_app.inventory.facts.node_claims import missing_conditions
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from tests.builders.clusters import a_cluster

LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.1")


def steps(*documents):
    return [
        (one.kind or kind, missing)
        for one, kind, missing in missing_conditions(a_cluster().with_docs(*documents).build())
    ]


def a_claim(**status: str):
    return claim(LAUNCHED, node_class="default", version="v1", status=status)


@pytest.mark.parametrize(
    ("status", "missing"),
    [({}, ""), ({"Registered": "Unknown"}, "Registered"), ({"Initialized": "False"}, "Initialized")],
)
def test_the_first_condition_that_is_not_met(status, missing):
    assert steps(*a_claim(**status)) == [("NodeClaim", missing)]


def test_machines_have_conditions_of_their_own_names():
    made, node = machine(LAUNCHED, template="default")
    assert steps(made, node) == [("Machine", "")]
    made["status"]["conditions"] = []
    assert steps(made, node) == [("Machine", "MachineRegistered")]


def test_what_is_being_deleted_takes_no_step():
    made, node = a_claim(Registered="False")
    made["metadata"]["deletionTimestamp"] = "2026-09-20T10:00:00Z"
    assert steps(made, node) == []
