import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import Install, controller
from tests.builders import NODE, a_cluster, an_empty_cluster, ask, asked_hops, blind, reads, remedies, told

CHECK = "controller_outside_mesh"
GOOD = ("pass", "No mesh keeps the API server from the webhook", ())
ISTIO, LINKERD = "sidecar.istio.io/status", "linkerd.io/proxy-version"
EXEMPT = "traffic.sidecar.istio.io/excludeInboundPorts"


def annotated(**marks: str):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8", replicas=1), [NODE])
    for pod in (one for one in rest if one["kind"] == "Pod"):
        pod["metadata"]["annotations"] = marks
    return a_cluster().without("controller", "controller_pods").with_docs(deployment, *rest)


@pytest.mark.parametrize("marks", [{}, {ISTIO: "{}", EXEMPT: "15020, 8443"}])
def test_no_mesh_or_an_exempt_port(marks):
    assert told(CHECK, "1.0", annotated(**marks)) == GOOD


@pytest.mark.parametrize(
    ("marks", "mesh", "exclusion"),
    [
        ({ISTIO: "{}"}, "Istio", EXEMPT),
        ({ISTIO: "{}", EXEMPT: "18443"}, "Istio", EXEMPT),
        ({LINKERD: "2.14"}, "Linkerd", "config.linkerd.io/skip-inbound-ports"),
    ],
)
def test_a_sidecar_in_between(marks, mesh, exclusion):
    status, summary, rows = told(CHECK, "1.0", annotated(**marks))
    assert (status, summary) == ("fail", "1 pod of the controller is part of a mesh")
    assert rows == (
        Evidence(
            kind="Pod",
            namespace="kube-system",
            name=rows[0].name,
            path=f"metadata.annotations[{exclusion}]",
            seen=f"{mesh} takes every port",
            wanted="8443 excluded, or no sidecar",
        ),
    )


@pytest.mark.parametrize(
    ("what", "key", "value", "mesh"),
    [
        ("labels", "sidecar.istio.io/inject", "true", "Istio"),
        ("annotations", "sidecar.istio.io/inject", "true", "Istio"),
        ("annotations", "linkerd.io/inject", "enabled", "Linkerd"),
    ],
)
def test_a_sidecar_that_the_next_pods_get(what, key, value, mesh):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["metadata"].setdefault(what, {})[key] = value
    cluster = a_cluster().without("controller", "controller_pods").with_docs(deployment, *rest)
    row = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="karpenter",
        path=f"spec.template.metadata.{what}[{key}]",
        seen=f"{value}: {mesh} takes every port",
        wanted="8443 excluded, or no sidecar",
    )
    assert told(CHECK, "1.0", cluster) == ("fail", "1 pod of the controller is part of a mesh", (row,))


def elsewhere(**notes: str):
    made = Install(cluster="test", version="0.37.8", namespace="karpenter")
    deployment, *rest = controller(made, [NODE])
    deployment["spec"]["template"]["metadata"].setdefault("annotations", {}).update(notes)
    return a_cluster(namespace="karpenter").without("controller", "controller_pods").with_docs(deployment, *rest)


def test_a_namespace_may_ask_for_a_sidecar_and_is_not_read():
    found = ask(CHECK, "1.0", elsewhere())
    assert (found.status, found.severity) == ("manual", "info")
    assert found.summary.startswith("Namespaces are not read: look whether karpenter carries one of istio-injection,")


def test_pods_that_refuse_every_sidecar_need_no_look_at_their_namespace():
    refusing = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
    assert told(CHECK, "1.0", elsewhere(**refusing)) == GOOD


@pytest.mark.parametrize("value", ["false", "disabled", ""])
def test_a_sidecar_that_is_refused(value):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["metadata"]["annotations"] = dict.fromkeys(
        ("sidecar.istio.io/inject", "linkerd.io/inject"), value
    )
    assert told(CHECK, "1.0", a_cluster().without("controller").with_docs(deployment, *rest)) == GOOD


def test_without_pods_there_is_nothing_to_ask():
    found = told(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no pod of a controller was found", ())


def test_it_is_asked_while_crds_convert():
    assert asked_hops(CHECK) == ("1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_sidecar_out():
    assert (
        remedies(CHECK, "1.0", annotated(**{ISTIO: "{}"}))[0]
        .text.splitlines()[1]
        .startswith("kubectl -n kube-system patch deployment karpenter --type=merge -p '{")
    )
