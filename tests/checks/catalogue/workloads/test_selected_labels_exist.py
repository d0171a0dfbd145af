import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.shell import json_word
from migrations_app.samples.karpenter_objects import pool, provisioner
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.pods import is_shell, pods

CHECK = "selected_labels_exist"
GOOD = ("pass", "No workload or NodePool uses a removed label", ())
AT = "/spec/template/spec/requirements"
PODS, IMAGE = "karpenter.k8s.aws/instance-pods", "karpenter.k8s.aws/instance-ami-id"


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*docs)


def affinity(operator: str, *values: str):
    term = {"matchExpressions": [{"key": PODS, "operator": operator, "values": list(values)}]}
    soft = [{"weight": 1, "preference": term}]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}}}


@pytest.mark.parametrize(
    "docs",
    [
        pods(nodeSelector={"karpenter.k8s.aws/instance-cpu": "4"}),
        pods(**affinity("DoesNotExist")),
        pods(nodeSelector={"karpenter.sh/provisioner-name": "web"}),
        [pool("web", ("karpenter.k8s.aws/instance-cpu", "In", ("4",)), node_class="d", version="v1beta1")],
    ],
)
def test_labels_that_are_there(docs):
    assert result_of(CHECK, "0.33+", on_0_32(*docs)) == GOOD


@pytest.mark.parametrize("key", [PODS, IMAGE])
def test_a_selector(key):
    found = result_of(CHECK, "0.33+", on_0_32(*pods(count=2, nodeSelector={key: "29"})))
    row = Evidence(
        kind="Deployment", namespace="shop", name="web", path="spec.nodeSelector", seen=f"{key} 29",
        wanted="a label that nodes have", count=2,
    )  # fmt: skip
    assert found == ("fail", "2 pods or NodePools use a removed label", (row,))


def test_an_affinity():
    found = result_of(CHECK, "0.33+", on_0_32(*pods(**affinity("Gt", "20"))))
    assert [(row.path, row.seen) for row in found[2]] == [("spec.affinity.nodeAffinity.preferred", f"{PODS} Gt 20")]


def test_a_spread_that_each_node_of_a_daemon_set_ignores():
    spread = {"topologyKey": PODS, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    assert result_of(CHECK, "0.33+", on_0_32(*pods("DaemonSet", topologySpreadConstraints=[spread]))) == GOOD
    (row,) = result_of(CHECK, "0.33+", on_0_32(*pods(topologySpreadConstraints=[spread])))[2]
    assert row.seen == f"{PODS} ScheduleAnyway"


def test_requirements():
    docs = [
        pool("web", (PODS, "Gt", ("20",)), node_class="d", version="v1beta1"),
        provisioner("old", (PODS, "Exists", ()), template="default"),
    ]
    rows = (
        Evidence(
            kind="NodePool",
            name="web",
            path="spec.template.spec.requirements",
            seen=f"{PODS} Gt 20",
            wanted="without it",
        ),
        Evidence(kind="Provisioner", name="old", path="spec.requirements", seen=f"{PODS} Exists", wanted="without it"),
    )
    assert result_of(CHECK, "0.33+", on_0_32(*docs)) == ("fail", "2 pods or NodePools use a removed label", rows)


def test_odd_requirements_are_passed_over():
    odd = pool("web", node_class="d", version="v1beta1")
    odd["spec"]["template"]["spec"]["requirements"] = ["x", {"key": 5}, {"key": PODS, "values": "x"}]
    assert [row.seen for row in result_of(CHECK, "0.33+", on_0_32(odd))[2]] == [f"{PODS} "]


def test_it_is_asked_once_the_labels_are_gone():
    assert asked_hops(CHECK)[0] == "0.33+"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_edits_workloads_and_pools():
    docs = [*pods(nodeSelector={PODS: "29"}), pool("web", (PODS, "Gt", ("20",)), node_class="d", version="v1beta1")]
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(*docs))
    assert [line.partition("  #")[0] for line in remedy.text.splitlines()] == [
        "kubectl -n shop edit deployment web",
        "kubectl patch nodepools.karpenter.sh web --type=json -p "
        + json_word(
            [
                {"op": "test", "path": f"{AT}/0", "value": {"key": PODS, "operator": "Gt", "values": ["20"]}},
                {"op": "remove", "path": f"{AT}/0"},
            ]
        ),
    ]
    assert is_shell(remedy.text)
