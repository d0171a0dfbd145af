import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "controller_off_its_nodes"
GOOD = ("pass", "The controller does not run on Karpenter nodes", ())
OWN = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")


def on(node_name: str, *docs):
    parts = ("controller", "controller_pods")
    installed = controller(Install(cluster="test", version="0.37.8", replicas=1), [node_name])
    return a_cluster().without(*parts).with_docs(*installed, *docs)


def a_managed_node(name: str):
    labels = {"eks.amazonaws.com/nodegroup": "system"}
    return node(name, kubelet="v1.29.4", provider_id="aws:///eu-central-1a/i-0", labels=labels)


def test_on_a_managed_node():
    assert result_of(CHECK, "1.0", on("managed", a_managed_node("managed"))) == GOOD


@pytest.mark.parametrize(
    ("docs", "owner"),
    [
        (machine(OWN, template="default"), "karpenter_alpha"),
        (claim(OWN, node_class="default", version="v1beta1"), "karpenter_beta"),
    ],
)
def test_on_a_node_of_its_own(docs, owner):
    cluster = on(OWN.node, *docs)
    pod = cluster.build().controller_pods.items[0]
    row = Evidence(
        kind="Pod",
        namespace="kube-system",
        name=pod.name,
        path="spec.nodeName",
        seen=f"{OWN.node} ({owner})",
        wanted="a node of a managed node group, or Fargate",
    )
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 controller pod runs on a Karpenter node", (row,))


def severity(hop: str, cluster, *, start: str = "") -> str:
    return finding_of(CHECK, hop, cluster, start=start).severity


def test_it_blocks_where_the_hop_replaces_the_nodes_under_all_pods():
    beta = on(OWN.node, *claim(OWN, node_class="default", version="v1beta1"))
    assert severity("1.0", beta) == "blocker"
    assert severity("1.1+", beta) == "warning"


def test_one_pod_on_a_node_that_stays_goes_on_working():
    installed = controller(Install(cluster="test", version="0.37.8", replicas=2), [OWN.node, "managed"])
    docs = (*installed, *claim(OWN, node_class="default", version="v1beta1"), a_managed_node("managed"))
    cluster = a_cluster().without("controller", "controller_pods").with_docs(*docs)
    assert result_of(CHECK, "1.0", cluster)[:2] == ("fail", "1 controller pod runs on a Karpenter node")
    assert severity("1.0", cluster) == "warning"


def test_nodes_that_the_hop_leaves_alone_only_warn():
    """0.37 to 1.0 replaces nodes of NodeClaims; those of Machines were to be gone before 0.33."""
    assert severity("1.0", on(OWN.node, *machine(OWN, template="default"))) == "warning"


def test_a_pod_that_is_not_placed_yet():
    assert result_of(CHECK, "1.0", on("")) == GOOD


def test_without_pods_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no pod of a controller was found", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_moves_the_pods_by_name():
    cluster = on(OWN.node, *machine(OWN, template="default"))
    pod = cluster.build().controller_pods.items[0].name
    assert without_changes(remedies(CHECK, "1.0", cluster)) == (
        Remedy(
            how="kubectl",
            text="# Make room in a managed node group first, and keep the chart's affinity against "
            f"karpenter.sh/nodepool\nkubectl patch node {OWN.node} --type=merge -p "
            """'{"spec":{"unschedulable":true}}'\n"""
            f"kubectl -n kube-system delete pod {pod}",
        ),
    )
