import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import pool
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import is_shell, pods

CHECK = "accelerators_named_apart"
GOOD = ("pass", "Selectors name each Neuron accelerator", ())
KEY = "karpenter.k8s.aws/instance-accelerator-name"
WANTED = "trainium or inferentia2 as well, where the nodes have them"


def on_1_0(*docs):
    return a_cluster("1.0.8").with_docs(*docs)


def affinity(operator: str, *values: str):
    term = {"matchExpressions": [{"key": KEY, "operator": operator, "values": list(values)}]}
    hard = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": hard}}}


@pytest.mark.parametrize(
    "docs",
    [
        pods(),
        pods(nodeSelector={KEY: "a10g"}),
        pods(**affinity("In", "inferentia", "trainium")),
        pods(**affinity("NotIn", "a10g")),
        pods(**affinity("NotIn", "inferentia", "trainium", "inferentia2")),
        [pool("ml", (KEY, "In", ("inferentia", "inferentia2")), node_class="d", version="v1")],
    ],
)
def test_names_of_their_own(docs):
    assert result_of(CHECK, "1.1+", on_1_0(*docs)) == GOOD


@pytest.mark.parametrize(
    ("placement", "path", "value"),
    [
        ({"nodeSelector": {KEY: "inferentia"}}, "spec.nodeSelector", "inferentia"),
        (affinity("In", "inferentia"), "spec.affinity.nodeAffinity.required", "In inferentia"),
        (affinity("NotIn", "inferentia", "a10g"), "spec.affinity.nodeAffinity.required", "NotIn inferentia a10g"),
    ],
)
def test_inferentia_alone(placement, path, value):
    found = result_of(CHECK, "1.1+", on_1_0(*pods(count=3, **placement)))
    row = Evidence(
        kind="Deployment", namespace="shop", name="web", path=path, seen=f"{KEY} {value}", wanted=WANTED, count=3
    )
    assert found == ("fail", "3 pods or pools name only inferentia and miss trainium and inferentia2", (row,))


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_a_pool(operator):
    found = result_of(CHECK, "1.1+", on_1_0(pool("ml", (KEY, operator, ("inferentia",)), node_class="d", version="v1")))
    path = "spec.template.spec.requirements"
    row = Evidence(kind="NodePool", name="ml", path=path, seen=f"{KEY} {operator} inferentia", wanted=WANTED)
    assert found == ("fail", "1 pod or pool names only inferentia and misses trainium and inferentia2", (row,))


def test_it_is_asked_where_the_names_part():
    assert asked_hops(CHECK) == ("1.1+",)
    assert finding_of(CHECK, "1.1+", on_1_0()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", on_1_0(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_edits():
    (remedy,) = remedies(CHECK, "1.1+", on_1_0(*pods(nodeSelector={KEY: "inferentia"})))
    assert remedy.text == (
        "kubectl -n shop edit deployment web  # spec.nodeSelector: an affinity with inferentia trainium inferentia2"
    )
    assert is_shell(remedy.text)


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_the_remedy_patches_the_requirement_of_a_pool(operator):
    one = pool("web", ("other", "Exists", ()), (KEY, operator, ("inferentia",)), node_class="d", version="v1")
    (remedy,) = remedies(CHECK, "1.1+", on_1_0(one))
    (step,) = leaves(remedy.change)
    path = "/spec/template/spec/requirements"
    before = one["spec"]["template"]["spec"]["requirements"]
    assert step.body == (
        {"op": "test", "path": f"{path}/1", "value": before[1]},
        {
            "op": "replace",
            "path": f"{path}/1",
            "value": before[1] | {"values": ["inferentia", "trainium", "inferentia2"]},
        },
    )
    after = [before[0], before[1] | {"values": ["inferentia", "trainium", "inferentia2"]}]
    assert step.undo.body == (
        {"op": "test", "path": path, "value": after},
        {"op": "replace", "path": path, "value": before},
    )
