import pytest

from migrations_app.checks.base import Evidence
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

CHECK = "controller_outside_mesh"
GOOD = ("pass", "No service mesh blocks the conversion webhook", ())
ISTIO, LINKERD = "sidecar.istio.io/status", "linkerd.io/proxy-version"
EXEMPT = "traffic.sidecar.istio.io/excludeInboundPorts"


def annotated(**marks: str):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8", replicas=1), [NODE])
    for pod in (one for one in rest if one["kind"] == "Pod"):
        pod["metadata"]["annotations"] = marks
    return a_cluster().without("controller", "controller_pods").with_docs(deployment, *rest)


@pytest.mark.parametrize("marks", [{}, {ISTIO: "{}", EXEMPT: "15020, 8443"}])
def test_no_mesh_or_an_exempt_port(marks):
    assert result_of(CHECK, "1.0", annotated(**marks)) == GOOD


@pytest.mark.parametrize(
    ("marks", "mesh", "exclusion"),
    [
        ({ISTIO: "{}"}, "Istio", EXEMPT),
        ({ISTIO: "{}", EXEMPT: "18443"}, "Istio", EXEMPT),
        ({LINKERD: "2.14"}, "Linkerd", "config.linkerd.io/skip-inbound-ports"),
    ],
)
def test_a_sidecar_in_between(marks, mesh, exclusion):
    status, summary, rows = result_of(CHECK, "1.0", annotated(**marks))
    assert (status, summary) == ("fail", "1 controller pod is in a service mesh")
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
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 controller pod is in a service mesh", (row,))


def elsewhere(**notes: str):
    made = Install(cluster="test", version="0.37.8", namespace="karpenter")
    deployment, *rest = controller(made, [NODE])
    deployment["spec"]["template"]["metadata"].setdefault("annotations", {}).update(notes)
    return a_cluster(namespace="karpenter").without("controller", "controller_pods").with_docs(deployment, *rest)


def marked(labels=None, annotations=None, **notes: str):
    home = doc("v1", "Namespace", metadata=meta("karpenter", labels=labels or {}, annotations=annotations or {}))
    return elsewhere(**notes).without("namespaces").with_docs(home)


@pytest.mark.parametrize(
    ("what", "key", "value", "mesh"),
    [
        ("labels", "istio-injection", "enabled", "Istio"),
        ("labels", "istio.io/rev", "canary", "Istio"),
        ("annotations", "linkerd.io/inject", "enabled", "Linkerd"),
    ],
)
def test_a_namespace_that_asks_for_sidecars(what, key, value, mesh):
    row = Evidence(
        kind="Namespace",
        name="karpenter",
        path=f"metadata.{what}[{key}]",
        seen=f"{value}: {mesh} takes every port",
        wanted="8443 excluded, or no sidecar",
    )
    found = result_of(CHECK, "1.0", marked(**{what: {key: value}}))
    assert found == ("fail", "1 controller pod is in a service mesh", (row,))


@pytest.mark.parametrize("labels", [{}, {"istio-injection": "disabled"}, {"kubernetes.io/metadata.name": "karpenter"}])
def test_a_namespace_that_asks_for_none(labels):
    assert result_of(CHECK, "1.0", marked(labels)) == GOOD


@pytest.mark.parametrize("notes", [{"sidecar.istio.io/inject": "false"}, {EXEMPT: "8443"}])
def test_pods_that_refuse_the_sidecar_of_their_namespace(notes):
    assert result_of(CHECK, "1.0", marked({"istio-injection": "enabled"}, **notes)) == GOOD


def test_a_namespace_that_could_not_be_read_leaves_it_open():
    why = "namespaces could not be read: forbidden"
    assert result_of(CHECK, "1.0", elsewhere().unseen("namespaces")) == ("unknown", why, ())
    why = "the Namespace karpenter was not among those that were read"
    assert result_of(CHECK, "1.0", elsewhere().without("namespaces")) == ("unknown", why, ())
    # Nothing is injected in kube-system, so nobody has to look.
    assert result_of(CHECK, "1.0", a_cluster().unseen("namespaces")) == GOOD


def test_pods_that_refuse_every_sidecar_need_no_look_at_their_namespace():
    refusing = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
    assert result_of(CHECK, "1.0", elsewhere(**refusing)) == GOOD


@pytest.mark.parametrize("value", ["false", "disabled", ""])
def test_a_sidecar_that_is_refused(value):
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["metadata"]["annotations"] = dict.fromkeys(
        ("sidecar.istio.io/inject", "linkerd.io/inject"), value
    )
    assert result_of(CHECK, "1.0", a_cluster().without("controller").with_docs(deployment, *rest)) == GOOD


def test_without_pods_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no pod of a controller was found", ())


def test_it_is_asked_while_crds_convert():
    assert asked_hops(CHECK) == ("1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_sidecar_out():
    assert (
        remedies(CHECK, "1.0", annotated(**{ISTIO: "{}"}))[0]
        .text.splitlines()[1]
        .startswith("kubectl -n kube-system patch deployment karpenter --type=merge -p '{")
    )
