import pytest

from migrations_app.checks.base import Evidence
from migrations_app.karpenter.release_facts import SIZES, size_for
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "controller_resources_sized"
GOOD = ("pass", "The controller has enough CPU and memory", ())
PATH = "spec.template.spec.containers[controller].resources.limits"


def limited(limits: object, *, nodes: int = 0, statuses: object = None):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}
    for pod in (one for one in rest if one["kind"] == "Pod"):
        pod["status"]["containerStatuses"] = statuses
    made = [node(f"n{place}", kubelet="v1.29.1", provider_id=f"i-{place}") for place in range(nodes)]
    return a_cluster().without("controller", "controller_pods").with_docs(deployment, *rest, *made)


def a_row(name: str, seen: str, wanted: str) -> Evidence:
    path = f"{PATH}.{name}"
    return Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    "limits", [None, {}, {"memory": "1Gi"}, {"memory": "1Gi", "cpu": 1}, {"memory": 2e9, "cpu": "2"}]
)
def test_enough_or_no_limit(limits):
    assert result_of(CHECK, "1.0", limited(limits)) == GOOD


def test_too_little_for_any_cluster():
    rows = (a_row("memory", "512Mi for 0 nodes", "1Gi or more"), a_row("cpu", "200m for 0 nodes", "1 or more"))
    found = result_of(CHECK, "1.0", limited({"memory": "512Mi", "cpu": "200m"}))
    assert found == ("fail", "2 signs that the controller needs more CPU or memory", rows)


def test_what_is_enough_grows_with_the_nodes():
    rows = (a_row("memory", "1Gi for 101 nodes", "2Gi or more"),)
    assert result_of(CHECK, "1.0", limited({"memory": "1Gi"}, nodes=100)) == GOOD
    found = result_of(CHECK, "1.0", limited({"memory": "1Gi"}, nodes=101))
    assert found == ("fail", "1 sign that the controller needs more CPU or memory", rows)


@pytest.mark.parametrize(
    ("restarts", "reason", "told_as"),
    [(1, "OOMKilled", "OOMKilled"), (5, "Error", "Error"), (9, None, "not known")],
)
def test_restarts_are_signs(restarts, reason, told_as):
    state = {"terminated": {"reason": reason}} if reason else {}
    statuses = [{"name": "controller", "restartCount": restarts, "lastState": state}]
    _, summary, rows = result_of(CHECK, "1.0", limited(None, statuses=statuses))
    assert summary == "2 signs that the controller needs more CPU or memory"
    assert {row.seen for row in rows} == {f"{restarts} restarts, the last ended as {told_as}"}
    assert {(row.kind, row.path) for row in rows} == {("Pod", "status.containerStatuses[controller]")}


def test_a_few_restarts_are_none():
    statuses = [{"name": "controller", "restartCount": 4, "lastState": {"terminated": {"reason": "Completed"}}}]
    assert result_of(CHECK, "1.0", limited(None, statuses=statuses)) == GOOD


def test_what_is_no_quantity_is_unknown():
    why = "karpenter: containers[controller].resources.limits.memory is no quantity"
    assert result_of(CHECK, "1.0", limited({"memory": "lots"})) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_rows_grow():
    assert [row.nodes for row in SIZES[:-1]] == sorted(row.nodes for row in SIZES[:-1])
    assert [size_for(count).memory for count in (0, 100, 101, 501, 1000, 20000)] == [
        "1Gi", "1Gi", "2Gi", "4Gi", "4Gi", "8Gi",
    ]  # fmt: skip


def test_the_remedy_sets_requests_and_limits():
    first = remedies(CHECK, "1.0", limited({"memory": "512Mi"}))[0]
    assert first.how == "helm"
    assert helm_values_of(first) == {
        "controller.resources.limits.cpu": "1",
        "controller.resources.limits.memory": '"1Gi"',
        "controller.resources.requests.cpu": "1",
        "controller.resources.requests.memory": '"1Gi"',
    }
