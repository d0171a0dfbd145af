"""When the pods of a workload are replaced, by the counts that its controller reports."""

import pytest

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.gate import ClusterCounters, Gate, judge
from migrations_app.actions.gates.workload_gate import WorkloadGate, workload_gate, workload_progress, workload_reasons
from migrations_app.actions.render import gate_words

DONE = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
ON_NODES = {
    "observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3,
}  # fmt: skip


def target(kind: str) -> ObjectTarget:
    return ObjectTarget("apps", "v1", f"{kind.lower()}s", kind, "web", namespace="shop")


def read(kind: str, *, spec=None, **status):
    counts = ON_NODES if kind == "DaemonSet" else DONE
    return {"kind": kind, "metadata": {"generation": 2}, "spec": {"replicas": 3} | (spec or {}),
            "status": counts | status}  # fmt: skip


def reasons(kind: str, found, *, available: int = 3) -> list[str]:
    gate = WorkloadGate(target=target(kind), available=available)
    return [words.replace(f"{kind} shop/web", "it") for words in workload_reasons(gate, workload_progress(kind, found))]


NEW = "it was not taken up by its controller yet"
CASES = [
    ("Deployment", {}, []),
    ("Deployment", {"observedGeneration": 1}, [NEW]),
    ("Deployment", {"updatedReplicas": 1, "replicas": 4}, ["it: pods replaced: 1 of 3", 3]),
    ("Deployment", {"replicas": 4}, [1]),
    ("Deployment", {"availableReplicas": 2}, ["it: pods available: 2, before: 3"]),
    ("StatefulSet", {"replicas": 9}, []),
    ("StatefulSet", {"updatedReplicas": 2}, ["it: pods replaced: 2 of 3"]),
    ("StatefulSet", {"readyReplicas": None}, ["it: pods available: 0, before: 3"]),
    ("DaemonSet", {}, []),
    ("DaemonSet", {"updatedNumberScheduled": 2}, ["it: pods replaced: 2 of 3"]),
    ("DaemonSet", {"numberAvailable": 1}, ["it: pods available: 1, before: 3"]),
]


@pytest.mark.parametrize(("kind", "status", "told"), CASES)
def test_what_is_waited_for(kind, status, told):
    former = "it: pods of the former template: {}"
    assert reasons(kind, read(kind, **status)) == [former.format(one) if isinstance(one, int) else one for one in told]


def test_pods_that_were_not_available_before_do_not_have_to_be():
    found = read("Deployment", availableReplicas=1)
    assert reasons("Deployment", found, available=1) == []
    assert reasons("Deployment", found, available=2) == ["it: pods available: 1, before: 2"]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"updatedNumberScheduled": 2, "numberAvailable": 2}, []),
        ({"updatedNumberScheduled": 1, "numberAvailable": 2}, ["it: pods replaced: 1 of 3"]),
        ({"updatedNumberScheduled": 2, "numberAvailable": 3}, ["it: pods replaced: 2 of 3"]),
    ],
)
def test_a_pod_on_a_node_that_was_not_ready_before_is_not_waited_for(status, told):
    """It is deleted and never ends, so its DaemonSet does not count it as updated. One more is waited for."""
    gate = workload_gate(target("DaemonSet"), read("DaemonSet", numberAvailable=2), pods=3)
    found = workload_reasons(gate, workload_progress("DaemonSet", read("DaemonSet", **status)))
    assert (gate.available, [words.replace("DaemonSet shop/web", "it") for words in found]) == (2, told)


def test_of_other_kinds_every_pod_is_waited_for():
    for kind, count in (("Deployment", "availableReplicas"), ("StatefulSet", "readyReplicas")):
        gate = workload_gate(target(kind), read(kind, **{count: 2}), pods=3)
        seen = workload_progress(kind, read(kind, **{count: 2}, updatedReplicas=2))
        assert f"{kind} shop/web: pods replaced: 2 of 3" in workload_reasons(gate, seen)


def test_after_a_workload_was_scaled_down_fewer_pods_are_enough():
    counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    assert reasons("Deployment", read("Deployment", spec={"replicas": 1}, **counts)) == []


def test_a_deployment_that_names_no_replicas_has_one():
    found = read("Deployment", spec={"replicas": None}, updatedReplicas=0, replicas=0, availableReplicas=0)
    assert reasons("Deployment", found, available=0) == ["it: pods replaced: 0 of 1"]


def test_the_partition_of_a_statefulset_keeps_its_pods():
    spec = {"updateStrategy": {"rollingUpdate": {"partition": 2}}}
    assert reasons("StatefulSet", read("StatefulSet", spec=spec, updatedReplicas=1)) == []
    assert reasons("StatefulSet", read("StatefulSet", spec=spec, updatedReplicas=0)) == ["it: pods replaced: 0 of 1"]


def test_what_is_gone_or_was_not_read_is_not_replaced():
    assert reasons("Deployment", None) == ["it is not there"]
    gate = WorkloadGate(target=target("Deployment"))
    assert workload_reasons(gate, None) == ["Deployment shop/web could not be read"]


def test_a_gate_asks_for_it_and_says_so():
    gate = Gate(workload=WorkloadGate(target=target("Deployment")), pending_above=None, seconds=60)
    assert gate_words(gate) == "wait until the pods of Deployment shop/web are replaced, at most 60 s"
    unread = ClusterCounters(taken_at="")
    done = ClusterCounters(taken_at="", workload=workload_progress("Deployment", read("Deployment")))
    assert judge(gate, before=unread, now=unread, waited=0).reasons == ("Deployment shop/web could not be read",)
    assert judge(gate, before=unread, now=done, waited=0).judgement == "go"
