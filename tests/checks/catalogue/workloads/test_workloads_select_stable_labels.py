import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.karpenter.labels import ALIASES
from migrations_app.samples.karpenter_objects import pool, provisioner
from migrations_app.samples.kubernetes_objects import containers, template, workload
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.patches import operations, patch_words
from tests.builders.pods import is_shell, pods

CHECK = "workloads_select_stable_labels"
GOOD = ("pass", "No workload or NodePool uses beta labels of Kubernetes", ())
ZONE = "failure-domain.beta.kubernetes.io/zone"


def on_0_32(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*docs)


@pytest.mark.parametrize(
    "docs",
    [pods(), pods(nodeSelector={"kubernetes.io/arch": "arm64"}), [pool("web", node_class="d", version="v1beta1")]],
)
def test_stable_labels(docs):
    assert result_of(CHECK, "0.33+", on_0_32(*docs)) == GOOD


@pytest.mark.parametrize("key", sorted(ALIASES))
def test_a_selector(key):
    found = result_of(CHECK, "0.33+", on_0_32(*pods(nodeSelector={key: "x"})))
    row = Evidence(
        kind="Deployment", namespace="shop", name="web", path="spec.nodeSelector", seen=f"{key} x", wanted=ALIASES[key]
    )
    assert found == ("fail", "1 pod or NodePool uses a beta node label", (row,))


def test_a_spread_key_and_requirements():
    docs = [
        *pods(topologySpreadConstraints=[{"topologyKey": ZONE, "maxSkew": 1}]),
        pool("web", (ZONE, "In", ("a", "b")), node_class="d", version="v1beta1"),
        provisioner("old", (ZONE, "Exists", ()), template="default"),
    ]
    wanted = "topology.kubernetes.io/zone"
    path = "spec.template.spec.requirements"
    assert result_of(CHECK, "0.33+", on_0_32(*docs))[2] == (
        Evidence(
            kind="Deployment", namespace="shop", name="web", path="spec.topologySpreadConstraints", seen=ZONE,
            wanted=wanted,
        ),
        Evidence(kind="NodePool", name="web", path=path, seen=f"{ZONE} In a b", wanted=wanted),
        Evidence(kind="Provisioner", name="old", path="spec.requirements", seen=f"{ZONE} Exists", wanted=wanted),
    )  # fmt: skip


def test_it_informs_on_the_way_from_alpha_to_beta():
    assert asked_hops(CHECK) == ("0.32", "0.33+")
    assert finding_of(CHECK, "0.33+", on_0_32()).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", on_0_32(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_stable_label():
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(*pods(nodeSelector={ZONE: "a"})))
    line = "kubectl -n shop edit deployment web  # spec.nodeSelector: topology.kubernetes.io/zone"
    assert remedy.text == line
    assert is_shell(remedy.text)


def test_the_remedy_patches_the_requirement_of_a_pool():
    one = pool("web", ("other", "Exists", ()), (ZONE, "In", ("a",)), node_class="d", version="v1beta1")
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(one))
    (step,) = leaves(remedy.change)
    path = "/spec/template/spec/requirements"
    before = one["spec"]["template"]["spec"]["requirements"]
    assert step.body == (
        {"op": "test", "path": f"{path}/1", "value": before[1]},
        {"op": "replace", "path": f"{path}/1", "value": before[1] | {"key": "topology.kubernetes.io/zone"}},
    )
    after = [before[0], before[1] | {"key": "topology.kubernetes.io/zone"}]
    assert step.undo.body == tuple(operations((path, after, before)))


def test_a_selector_of_a_template_is_patched():
    made = template({"app": "web"}, {"containers": containers("web", "web:1"), "nodeSelector": {ZONE: "a"}})
    (remedy,) = remedies(CHECK, "0.33+", on_0_32(workload("Deployment", "web", namespace="shop", replicas=1, pod=made)))
    home = "/spec/template/spec/nodeSelector"
    old, new = (f"{home}/{key.replace('/', '~1')}" for key in (ZONE, "topology.kubernetes.io/zone"))
    assert remedy.text == f"kubectl -n shop patch deployment web {patch_words((old, 'a', None), (new, None, 'a'))}"
