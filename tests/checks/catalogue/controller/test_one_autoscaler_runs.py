import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from migrations_app.samples.kubernetes_objects import pods_of, template, workload
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "one_autoscaler_runs"
GOOD = ("pass", "Only one autoscaler runs", ())
GROUP = "spec.template.spec.nodeClassRef.group"


def with_another(name: str = "cluster-autoscaler", *, replicas: int = 1, version: str = "0.37.8"):
    spec = {"containers": [{"name": "a", "image": "autoscaling/cluster-autoscaler:v1.29.0"}]}
    other = workload("Deployment", name, namespace="kube-system", replicas=replicas, pod=template({"app": name}, spec))
    return a_cluster(version).with_docs(*pods_of(other, [NODE], count=replicas))


def a_deployment(name: str, image: str = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.29.0", *, ready: int):
    pod = template({"app": name}, {"containers": [{"name": "a", "image": image}]})
    return workload("Deployment", name, namespace="kube-system", replicas=ready, pod=pod)


def deployed(name: str, *image: str, ready: int):
    return a_cluster().with_docs(a_deployment(name, *image, ready=ready))


def auto_mode(name: str):
    found = pool(name, ON_DEMAND, node_class="default", version="v1")
    found["spec"]["template"]["spec"]["nodeClassRef"] = {
        "group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default",
    }  # fmt: skip
    return found


@pytest.mark.parametrize("cluster", [a_cluster(), with_another(replicas=0), with_another("metrics-server")])
def test_nobody_else_scales(cluster):
    assert result_of(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize("name", ["cluster-autoscaler", "prod-aws-cluster-autoscaler"])
def test_another_autoscaler(name):
    row = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name=name,
        path="status.replicas",
        seen="2 pods run",
        wanted="scaled to 0 once Karpenter does its work",
    )
    found = result_of(CHECK, "1.0", with_another(name, replicas=2))
    assert found == ("fail", "1 object is scaled by a second autoscaler", (row,))


@pytest.mark.parametrize(
    "cluster", [deployed("cluster-autoscaler", "own/scaler:1", ready=2), deployed("prod-scaler", ready=2)]
)
def test_a_deployment_whose_pods_were_not_found(cluster):
    (row,) = result_of(CHECK, "1.0", cluster)[2]
    assert (row.kind, row.path, row.seen) == ("Deployment", "status.readyReplicas", "2 ready")


def test_a_deployment_and_its_pods_are_one_row():
    both = with_another(replicas=2).with_docs(a_deployment("cluster-autoscaler", ready=2))
    assert [row.seen for row in result_of(CHECK, "1.0", both)[2]] == ["2 pods run"]


@pytest.mark.parametrize(
    "cluster", [deployed("cluster-autoscaler", ready=0), deployed("other", "x/cluster-autoscaler-ui:1", ready=1)]
)
def test_a_deployment_that_does_not_run_or_is_another(cluster):
    assert result_of(CHECK, "1.0", cluster) == GOOD


def test_pools_of_auto_mode_before_1_1():
    row = Evidence(
        kind="NodePool",
        name="general-purpose",
        path=GROUP,
        seen="eks.amazonaws.com",
        wanted="Karpenter 1.1 or later beside EKS Auto Mode",
    )
    cluster = a_cluster("1.0.14").with_docs(auto_mode("general-purpose"))
    assert result_of(CHECK, "1.1+", cluster) == ("fail", "1 object is scaled by a second autoscaler", (row,))


def test_pools_of_auto_mode_from_1_1_on_are_left_alone():
    cluster = a_cluster("1.2.6", kubernetes="1.32").with_docs(auto_mode("general-purpose"))
    assert result_of(CHECK, NEWEST_MINOR, cluster) == GOOD


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies():
    assert without_changes(remedies(CHECK, "1.0", with_another())) == (
        Remedy(
            how="kubectl",
            text="# Stops the other autoscaler; its node groups keep the size they have\n"
            """kubectl -n kube-system patch deployment cluster-autoscaler --type=merge -p '{"spec":{"replicas":0}}'""",
        ),
    )
    columns = f"NAME:.metadata.name,GROUP:.{GROUP}"
    look = f"# Whose pools these are\nkubectl get nodepools.karpenter.sh -o custom-columns={columns}"
    assert without_changes(remedies(CHECK, "1.1+", a_cluster("1.0.14").with_docs(auto_mode("x")))) == (
        Remedy(how="kubectl", text=look),
    )
