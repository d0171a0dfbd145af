import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.karpenter import Workload
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "ports_open"
GOOD = ("pass", "The controller's ports are open", ())
MINE = {"matchLabels": {"app.kubernetes.io/name": "karpenter"}}


def guarded(*ports: object, selector: object = None, version: str = "0.37.8", kubernetes: str = "1.29", **spec: object):
    """A policy that lets everybody call these ports; none given: nobody may call anything."""
    whole = {
        "podSelector": MINE if selector is None else selector,
        "ingress": [{"ports": list(ports)}] if ports else [],
    }
    policy = doc("networking.k8s.io/v1", "NetworkPolicy", metadata=meta("guard", "kube-system"), spec=whole | spec)
    return a_cluster(version, kubernetes=kubernetes).with_docs(policy)


def a_row(number: int, purpose: str) -> Evidence:
    return Evidence(
        kind="NetworkPolicy",
        namespace="kube-system",
        name="guard",
        path="spec.ingress",
        seen=f"{number} is closed",
        wanted=f"ingress on {number} ({purpose})",
    )


BOTH = (a_row(8080, "metrics"), a_row(8443, "admission and conversion"))


@pytest.mark.parametrize(
    "cluster",
    [
        a_cluster(),
        guarded({"port": 8080}, {"port": 8443}),
        guarded({"port": "http-metrics"}, {"port": "https-webhook"}),
        guarded({"port": 8000, "endPort": 9000}),
        guarded({"protocol": "TCP"}),
        guarded(ingress=[{}]),
        guarded(policyTypes=["Egress"]),
        guarded(selector={"matchLabels": {"app": "other"}}),
    ],
)
def test_open_ports(cluster):
    assert result_of(CHECK, "1.0", cluster) == GOOD


def test_nobody_may_call():
    assert result_of(CHECK, "1.0", guarded()) == ("fail", "2 controller ports are closed", BOTH)
    assert result_of(CHECK, "1.0", guarded(selector={})) == ("fail", "2 controller ports are closed", BOTH)


def test_on_the_hosts_network_no_policy_counts():
    cluster = guarded()
    body = msgspec.to_builtins(cluster.build().controller.items[0])
    body["spec"]["template"]["spec"]["hostNetwork"] = True
    own = cluster.without("controller").with_items("controller", msgspec.convert(body, Workload))
    found = finding_of(CHECK, "1.0", own)
    assert (found.status, found.severity) == ("manual", "info")
    assert "security groups of its nodes let callers in on 8080 (metrics), 8443" in found.summary


def test_only_the_old_port_is_open():
    found = result_of(CHECK, "1.0", guarded({"port": 8000}, {"port": 8443}))
    assert found == ("fail", "1 controller port is closed", BOTH[:1])


PODS = {"namespaceSelector": {}, "podSelector": {}}
ADDRESSES = {"ipBlock": {"cidr": "10.0.0.0/16", "except": ["10.0.9.0/24"]}}


@pytest.mark.parametrize("peers", [[PODS], [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"a": "b"}}}]])
@pytest.mark.parametrize("ports", [[], [{"port": 8080}, {"port": 8443}]])
def test_a_rule_for_pods_alone_keeps_the_api_server_out(peers, ports):
    """The usual policy "from the same namespace": scrapers are pods, the control plane of EKS is none."""
    cluster = guarded(ingress=[{"from": peers, "ports": ports}])
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 controller port is closed", BOTH[1:])


@pytest.mark.parametrize(
    "rules",
    [
        [{"from": [PODS, ADDRESSES]}],
        [{"from": []}],
        [{"from": [PODS], "ports": [{"port": 8080}]}, {"from": [ADDRESSES], "ports": [{"port": "https-webhook"}]}],
    ],
)
def test_addresses_may_be_those_of_the_control_plane(rules):
    assert result_of(CHECK, "1.0", guarded(ingress=rules)) == GOOD


def test_a_port_of_another_protocol_is_another_port():
    found = result_of(CHECK, "1.0", guarded({"port": 8080, "protocol": "TCP"}, {"port": 8443, "protocol": "UDP"}))
    assert found == ("fail", "1 controller port is closed", BOTH[1:])


def test_the_webhook_is_needed_until_1_1_runs():
    found = result_of(CHECK, "1.1+", guarded({"port": 8080}, version="1.0.14", kubernetes="1.30"))
    assert found == ("fail", "1 controller port is closed", BOTH[1:])


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


def test_it_is_asked_until_webhooks_are_gone():
    hops = asked_hops(CHECK)
    assert (hops[0], hops[-1]) == ("0.29", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_opens_them():
    assert remedies(CHECK, "1.0", guarded())[0].text.splitlines()[1] == (
        "kubectl -n kube-system patch networkpolicy guard --type=json -p "
        """'[{"op":"add","path":"/spec/ingress","value":[{"ports":[{"port":8080,"protocol":"TCP"},"""
        """{"port":8443,"protocol":"TCP"}]}]}]'"""
    )
