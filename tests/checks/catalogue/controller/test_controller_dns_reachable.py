import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import node, pods_of, template, workload
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

CHECK = "controller_dns_reachable"
GOOD = ("pass", "DNS for the controller does not depend on Karpenter nodes", ())
OURS = {"karpenter.sh/nodepool": "general"}
BAD = (
    Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="coredns",
        path="spec.nodeName",
        seen="on k0 k1",
        wanted="one elsewhere, or dnsPolicy Default for the controller",
        count=2,
    ),
)


def with_dns(*owned: bool, version: str = "0.37.8", kubernetes: str = "1.29", **spec):
    """A pod of CoreDNS on a node for each, Karpenter's where True."""
    deployment, *rest = controller(Install(cluster="test", version=version), [NODE])
    deployment["spec"]["template"]["spec"] |= spec
    nodes = [
        node(f"k{n}", kubelet="v1.29.1", provider_id=f"aws:///a/i-{n}", labels=OURS if ours else {})
        for n, ours in enumerate(owned)
    ]
    names = [one["metadata"]["name"] for one in nodes]
    dns = workload(
        "Deployment", "coredns", namespace="kube-system", replicas=len(names), pod=template({"k8s-app": "kube-dns"}, {})
    )
    made = a_cluster(version, kubernetes=kubernetes).without("controller", "controller_pods")
    return made.with_docs(deployment, *rest, *nodes, *pods_of(dns, names, count=len(names)))


@pytest.mark.parametrize("owned", [(False, False), (True, False)])
def test_one_pod_elsewhere_is_enough(owned):
    assert result_of(CHECK, "1.0", with_dns(*owned)) == GOOD


def test_every_pod_on_karpenters_nodes():
    assert result_of(CHECK, "1.0", with_dns(True, True)) == ("fail", "All 2 DNS pods run on Karpenter nodes", BAD)


@pytest.mark.parametrize("spec", [{"dnsPolicy": "Default"}, {"hostNetwork": True}])
def test_a_controller_that_asks_its_node_needs_no_cluster_dns(spec):
    assert result_of(CHECK, "1.0", with_dns(True, True, **spec)) == GOOD


def test_the_default_of_old_does_not_survive_the_hop():
    cluster = with_dns(True, True, version="0.32.10", kubernetes="1.27", dnsPolicy="Default")
    assert result_of(CHECK, "0.33+", cluster)[0] == "fail"
    kept = cluster.with_values({"dnsPolicy": "Default"}, version="0.32.10")
    assert result_of(CHECK, "0.33+", kept) == GOOD


def test_values_may_ask_for_it():
    cluster = with_dns(True, True, dnsPolicy="Default").with_values({"dnsPolicy": "ClusterFirst"})
    assert result_of(CHECK, "1.0", cluster)[0] == "fail"


def test_a_node_that_was_not_seen_leaves_it_open():
    cluster = with_dns(True, True).without("nodes")
    why = "the nodes that the pods of the cluster DNS run on are not all known"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", why, ())


@pytest.mark.parametrize("cluster", [a_cluster(), an_empty_cluster()])
def test_without_dns_or_controller_there_is_nothing_to_ask(cluster):
    why = "there is no Karpenter Deployment, or no pod of a cluster DNS was seen"
    assert result_of(CHECK, "1.0", cluster, start="0.37.8") == ("not_applicable", why, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_sets_the_policy():
    first = remedies(CHECK, "1.0", with_dns(True))[0]
    assert (first.how, helm_values_of(first, when="before")) == ("helm", {"dnsPolicy": '"Default"'})
