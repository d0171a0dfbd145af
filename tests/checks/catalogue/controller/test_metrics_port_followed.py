import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    asked_hops,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "metrics_port_followed"
GOOD = ("pass", "The metrics port stays the same", ())
MOVED = Evidence(
    kind="Service",
    namespace="kube-system",
    name="karpenter",
    path="spec.ports[http-metrics]",
    seen="8000 now",
    wanted="8080 in scrape jobs outside of ServiceMonitors and PodMonitors",
)


def test_the_default_changes_with_1_0():
    assert result_of(CHECK, "1.0", a_cluster()) == ("fail", "1 controller port changes", (MOVED,))


def test_a_port_of_ones_own_stays():
    assert result_of(CHECK, "1.0", a_cluster().with_values({"controller": {"metrics": {"port": 8000}}})) == GOOD


def test_on_the_host_the_port_of_the_webhook_may_clash():
    deployment, *rest = controller(Install(cluster="test", version="0.31.5"), [NODE])
    deployment["spec"]["template"]["spec"]["hostNetwork"] = True
    cluster = a_cluster("0.31.5", kubernetes="1.26").without("controller", "services").with_docs(deployment, *rest)
    row = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="karpenter",
        path="spec.template.spec.hostNetwork",
        seen="8001 will be used on the host",
        wanted="webhook.metrics.port",
    )
    assert result_of(CHECK, "0.32", cluster) == ("fail", "1 controller port changes", (row,))
    change = remedies(CHECK, "0.32", cluster)[0].change
    assert isinstance(change, HelmChange)
    assert change.given == {"webhook.metrics.port": "8002"}
    assert result_of(CHECK, "0.32", cluster.with_values({"webhook": {"metrics": {"port": 8002}}})) == GOOD


def test_without_a_controller_there_is_nothing_to_ask():
    why = "there is no Karpenter Deployment"
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8") == ("not_applicable", why, ())


def pod_monitor(**endpoint):
    spec = {"podMetricsEndpoints": [endpoint]}
    return doc("monitoring.coreos.com/v1", "PodMonitor", metadata=meta("karpenter", "monitoring"), spec=spec)


@pytest.mark.parametrize("endpoint", [{"targetPort": 8000}, {"targetPort": "8000"}, {"portNumber": 8000}])
def test_a_monitor_that_names_the_number_loses_it(endpoint):
    row = Evidence(
        kind="PodMonitor",
        namespace="monitoring",
        name="karpenter",
        path="spec",
        seen="scrapes port 8000",
        wanted="8080, or the name http-metrics",
    )
    found = result_of(CHECK, "1.0", a_cluster().with_docs(pod_monitor(**endpoint)))
    assert found == ("fail", "2 controller ports change", (MOVED, row))


def test_a_monitor_alone_keeps_its_port_too():
    cluster = a_cluster().without("services").with_docs(pod_monitor(targetPort=8000))
    changes = {one.change for one in remedies(CHECK, "1.0", cluster) if isinstance(one.change, HelmChange)}
    assert [dict(one.given) for one in changes] == [{"controller.metrics.port": "8000"}]


@pytest.mark.parametrize("endpoint", [{"port": "http-metrics"}, {"targetPort": 9090}, {"targetPort": "8000 "}, {}])
def test_a_monitor_that_names_the_port_or_another_one_follows(endpoint):
    assert result_of(CHECK, "1.0", a_cluster().with_docs(pod_monitor(**endpoint)))[2] == (MOVED,)


def test_without_a_service_a_pod_monitor_may_name_the_port():
    cluster = a_cluster().without("services")
    said = "look for it in scrape jobs outside of ServiceMonitors and PodMonitors"
    assert result_of(CHECK, "1.0", cluster) == ("manual", f"metrics move from 8000 to 8080: {said}", ())
    assert result_of(CHECK, "1.0", cluster.with_values({"controller": {"metrics": {"port": 8000}}})) == GOOD


def test_it_is_asked_where_ports_change():
    assert asked_hops(CHECK) == ("0.29", "0.30", "0.31", "0.32", "1.0")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_keeps_the_port_and_the_release():
    """The controller is brought to another release by the hop alone, after its stops."""
    found = remedies(CHECK, "1.0", a_cluster("0.37.8"))
    changes = {one.change for one in found if isinstance(one.change, HelmChange)}
    assert [(one.version, dict(one.given)) for one in changes] == [("", {"controller.metrics.port": "8000"})]
    assert [one.text for one in found if one.how != "helm" and "1.0." in one.text] == []
