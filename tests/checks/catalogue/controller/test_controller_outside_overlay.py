import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.parts import UnparsableObject
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import config_map, containers, node, template, workload
from tests.builders.clusters import (
    NODE,
    ACluster,
    a_cluster,
    an_empty_cluster,
    asked_hops,
    aws_node,
    finding_of,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "controller_outside_overlay"
GOOD = ("pass", "The API server can call the controller's pods", ())
FAILS = "The API server cannot call the controller's pods"
PORT_OPEN = "look that 8443 is free on the nodes and their security groups let the control plane in on it"
ASKS = f"unless the pods have addresses of the VPC, set hostNetwork: true in the chart's values, and {PORT_OPEN}"


def daemonset(name: str, *, namespace: str = "kube-system"):
    pod = template({"k8s-app": name}, {"hostNetwork": True, "containers": containers(name, f"{name}:v1")})
    return workload("DaemonSet", name, namespace=namespace, replicas=2, pod=pod)


def cilium_operator(image: str):
    pod = template({"name": "cilium-operator"}, {"containers": containers("cilium-operator", image)})
    return workload("Deployment", "cilium-operator", namespace="kube-system", replicas=2, pod=pod)


def with_plugin(*docs, version: str = "0.37.8", kubernetes: str = "1.29") -> ACluster:
    """Returns a cluster that runs these in the place of aws-node."""
    return a_cluster(version, kubernetes=kubernetes).without("daemonsets").with_docs(*docs)


def overlay(version: str = "0.37.8", kubernetes: str = "1.29") -> ACluster:
    return with_plugin(daemonset("calico-node", namespace="calico-system"), version=version, kubernetes=kubernetes)


def on_nodes(cluster: ACluster, **labels: str) -> ACluster:
    """Returns the cluster with the node on which the controller runs."""
    return cluster.with_docs(node(NODE, kubelet="v1.29.4", provider_id="aws:///a/i-1", labels=labels))


def of_plugin(plugin: str) -> Evidence:
    return Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="karpenter",
        path="spec.template.spec.hostNetwork",
        seen=f"false, and pods have addresses of {plugin}'s network",
        wanted=f"true; {PORT_OPEN}",
    )


@pytest.mark.parametrize(
    ("docs", "plugin"),
    [
        ((daemonset("calico-node", namespace="calico-system"),), "Calico"),
        ((daemonset("kube-flannel-ds", namespace="kube-flannel"),), "Flannel"),
        ((daemonset("kube-flannel"),), "Flannel"),
        ((daemonset("weave-net"),), "Weave Net"),
        (
            (daemonset("cilium"), cilium_operator("registry.example/cilium/operator-generic:v1.15.1@sha256:ab")),
            "Cilium",
        ),
        ((daemonset("cilium"), cilium_operator("mirror:5000/cilium/operator-generic")), "Cilium"),
    ],
)
def test_pods_in_an_overlay(docs, plugin):
    assert result_of(CHECK, "1.0", with_plugin(*docs)) == ("fail", FAILS, (of_plugin(plugin),))
    assert finding_of(CHECK, "1.0", with_plugin(*docs)).severity == "blocker"


@pytest.mark.parametrize(
    "cluster",
    [
        a_cluster(),
        a_cluster().with_docs(daemonset("cilium"), cilium_operator("registry.example/cilium/operator-generic:v1.15.1")),
        a_cluster().with_docs(daemonset("calico-node", namespace="calico-system")),
        with_plugin(daemonset("cilium"), cilium_operator("registry.example/cilium/operator-aws:v1.15.1")),
    ],
    ids=["VPC CNI", "Cilium chained", "Calico for policies", "Cilium with ENIs"],
)
def test_pods_with_addresses_of_the_vpc(cluster):
    assert result_of(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize(
    ("docs", "severity", "seen"),
    [
        ((), "info", "no other network plugin is known by name"),
        ((daemonset("some-cni"),), "info", "no other network plugin is known by name"),
        ((daemonset("cilium"),), "warning", "Cilium runs in its place"),
        (
            (daemonset("cilium"), cilium_operator("mirror/cilium/operator:v1.15.1")),
            "warning",
            "Cilium runs in its place",
        ),
        ((daemonset("cilium"), cilium_operator("")), "warning", "Cilium runs in its place"),
    ],
)
def test_what_the_plugin_does_not_tell_is_a_question(docs, severity, seen):
    finding = finding_of(CHECK, "1.0", with_plugin(*docs))
    assert (finding.status, finding.severity) == ("manual", severity)
    assert finding.summary == f"nodes do not run aws-node, and {seen}: {ASKS}"


def cilium_config(**data: str):
    return config_map("cilium-config", "kube-system", data=data)


@pytest.mark.parametrize("mode", ["cluster-pool", "cluster-pool-v2beta", "kubernetes", "multi-pool"])
def test_cilium_without_enis_by_its_config_map(mode):
    cluster = with_plugin(daemonset("cilium"), cilium_config(ipam=mode))
    assert result_of(CHECK, "1.0", cluster) == ("fail", FAILS, (of_plugin("Cilium"),))


def test_cilium_with_enis_by_its_config_map_whatever_its_operator_is_called():
    assert result_of(CHECK, "1.0", with_plugin(daemonset("cilium"), cilium_config(ipam="eni"))) == GOOD
    generic = cilium_operator("mirror/cilium/operator-generic:v1.15.1")
    assert result_of(CHECK, "1.0", with_plugin(daemonset("cilium"), generic, cilium_config(ipam="eni"))) == GOOD


@pytest.mark.parametrize("data", [{"ipam": "crd"}, {"ipam": "delegated-plugin"}, {"ipam": ""}, {}])
def test_other_modes_and_no_mode_are_a_question(data):
    finding = finding_of(CHECK, "1.0", with_plugin(daemonset("cilium"), cilium_config(**data)))
    assert (finding.status, finding.severity) == ("manual", "warning")


def test_where_the_config_map_may_not_be_read_it_is_a_question_unless_the_operator_tells():
    cluster = with_plugin(daemonset("cilium")).unseen("cilium_config")
    assert finding_of(CHECK, "1.0", cluster).status == "manual"
    generic = cilium_operator("mirror/cilium/operator-generic:v1.15.1")
    assert finding_of(CHECK, "1.0", cluster.with_docs(generic)).status == "fail"


def idle(nodes: int):
    """The DaemonSet as guides of other plugins leave it behind: with a node selector that fits no node."""
    doc = aws_node()
    doc["status"] = {"desiredNumberScheduled": nodes}
    return doc


def test_an_aws_node_that_no_node_runs_gives_no_addresses():
    calico = daemonset("calico-node", namespace="calico-system")
    assert result_of(CHECK, "1.0", on_nodes(with_plugin(idle(0), calico))) == ("fail", FAILS, (of_plugin("Calico"),))
    assert result_of(CHECK, "1.0", on_nodes(with_plugin(idle(1), calico))) == GOOD


def test_where_no_node_is_one_for_aws_node_it_is_not_idle():
    fargate = {"eks.amazonaws.com/compute-type": "fargate"}
    assert result_of(CHECK, "1.0", on_nodes(with_plugin(idle(0)), **fargate)) == GOOD


@pytest.mark.parametrize("compute", ["fargate", "auto"])
def test_on_nodes_of_fargate_and_auto_mode_pods_have_addresses_of_the_vpc(compute):
    cluster = on_nodes(overlay(), **{"eks.amazonaws.com/compute-type": compute})
    assert result_of(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize("labels", [{}, {"eks.amazonaws.com/compute-type": "hybrid"}])
def test_other_nodes_give_addresses_of_the_plugin(labels):
    assert result_of(CHECK, "1.0", on_nodes(overlay(), **labels))[0] == "fail"


def test_one_pod_on_another_node_is_enough():
    docs = controller(Install(cluster="test", version="0.37.8", replicas=2), [NODE, "other"])
    fargate = {"eks.amazonaws.com/compute-type": "fargate"}
    two = overlay().without("controller", "controller_pods").with_docs(*docs)
    other = node("other", kubelet="v1.29.4", provider_id="aws:///a/i-2")
    assert result_of(CHECK, "1.0", on_nodes(two.with_docs(other), **fargate))[0] == "fail"


def test_the_host_network_of_the_deployment():
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["spec"]["hostNetwork"] = True
    cluster = overlay().without("controller", "controller_pods").with_docs(deployment, *rest)
    assert result_of(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize(
    ("given", "status"),
    [(True, "pass"), ("false", "pass"), (False, "fail"), (None, "fail"), ("", "fail"), ({}, "fail")],
)
def test_the_value_of_the_chart_counts_as_a_template_reads_it(given, status):
    """The text "false" is not empty, so that the template writes hostNetwork: true."""
    assert result_of(CHECK, "1.0", overlay().with_values({"hostNetwork": given}))[0] == status


FLUX = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "karpenter", "namespace": "flux-system"},
    "spec": {
        "chart": {"spec": {"chart": "karpenter", "sourceRef": {"kind": "HelmRepository", "name": "karpenter"}}},
        "values": {"hostNetwork": True},
    },
}


def argo(**helm: object):
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "karpenter", "namespace": "argocd"},
        "spec": {
            "source": {"repoURL": "public.ecr.aws/karpenter", "chart": "karpenter", "helm": helm},
            "destination": {"server": "https://kubernetes.default.svc"},
        },
    }


@pytest.mark.parametrize(
    ("delivery", "status"),
    [
        (FLUX, "pass"),
        (argo(valuesObject={"hostNetwork": True}), "pass"),
        (argo(values="hostNetwork: true\n"), "pass"),
        (argo(values="hostNetwork: ["), "fail"),
        (argo(valuesObject={"webhook": {"hostNetwork": True}}), "fail"),
    ],
)
def test_the_value_counts_in_every_delivery(delivery, status):
    assert result_of(CHECK, "1.0", overlay().with_docs(delivery))[0] == status


def test_the_first_hop_with_a_conversion_asks():
    cluster = overlay("0.37.0")
    assert finding_of(CHECK, "0.33+", cluster).severity == "blocker"
    assert result_of(CHECK, "0.33+", cluster) == ("fail", FAILS, (of_plugin("Calico"),))


def test_until_1_1_runs_the_webhook_is_called():
    cluster = overlay("1.0.14", "1.30").with_values({}, version="1.0.14")
    assert result_of(CHECK, "1.1+", cluster)[0] == "fail"
    assert asked_hops(CHECK) == ("0.33+", "1.0", "1.1+")


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


@pytest.mark.parametrize("part", ["daemonsets", "controller_pods", "nodes"])
def test_what_decides_about_the_network_was_not_read(part):
    why = f"{part} could not be read: forbidden"
    assert result_without(CHECK, "1.0", overlay(), part=part) == ("unknown", why)


def test_an_aws_node_that_cannot_be_parsed_is_unknown():
    bad = UnparsableObject("Workload", "kube-system", "aws-node", "$.spec", "Expected `object`")
    cluster = with_plugin(daemonset("calico-node")).set_aside("daemonsets", bad)
    why = "DaemonSet aws-node could not be read: garbled (DaemonSet kube-system/aws-node)"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", why, ())


def test_the_remedy_is_the_value_of_the_chart():
    first = remedies(CHECK, "1.0", overlay().with_values({}))[0]
    assert helm_values_of(first, when="before") == {"hostNetwork": "true"}


def test_an_aws_node_without_pods_is_unknown_where_nodes_were_not_read():
    cluster = with_plugin(idle(0), daemonset("calico-node"))
    assert result_without(CHECK, "1.0", cluster, part="nodes") == ("unknown", "nodes could not be read: forbidden")
