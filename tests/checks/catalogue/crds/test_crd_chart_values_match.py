import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "crd_chart_values_match"
GOOD = ("pass", "Both Helm charts agree", ())
ONE = "1 value differs between the two charts"
NONE = ("not_applicable", "the chart karpenter-crd is not installed, or there is no controller", ())


def charts(values: dict, *, crds: str = "0.37.8", namespace: str = "kube-system", main: str = "0.37.8"):
    cluster = a_cluster(main).with_values({}, version=main)
    record = HelmRelease(
        name="karpenter-crd", namespace=namespace, revision=1, status="deployed", chart="karpenter-crd",
        chart_version=crds, app_version=crds, config=values, defaults={}, crds=[],
    )  # fmt: skip
    return cluster.with_items("helm_releases", msgspec.convert(msgspec.to_builtins(record), HelmRelease))


def a_row(key: str, seen: str, wanted: str, namespace: str = "kube-system") -> tuple[Evidence, ...]:
    path = f"config.{key}"
    return (
        Evidence(kind="HelmRelease", namespace=namespace, name="karpenter-crd", path=path, seen=seen, wanted=wanted),
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"webhook": {"enabled": True, "serviceName": "karpenter", "serviceNamespace": "kube-system"}},
        {"webhook": {"port": "8443"}},  # as of --set-string; the template prints it
        {"webhook": {"enabled": "false"}},  # a text, which a template takes for true
    ],
)
def test_charts_that_agree(values):
    assert result_of(CHECK, "1.0", charts(values)) == GOOD


def test_crds_of_the_hop_just_before_it():
    assert result_of(CHECK, "1.0", charts({}, crds="1.0.14")) == GOOD


def test_crds_of_another_release():
    row = Evidence(
        kind="HelmRelease",
        namespace="kube-system",
        name="karpenter-crd",
        path="chart",
        seen="0.35.0",
        wanted="0.37.8, or 1.0.14 just before the upgrade",
    )
    assert result_of(CHECK, "1.0", charts({}, crds="0.35.0")) == ("fail", ONE, (row,))


def test_conversion_switched_off():
    rows = a_row("webhook.enabled", "false", "true: the CRDs of 1.0.14 convert")
    assert result_of(CHECK, "1.0", charts({"webhook": {"enabled": False}})) == ("fail", ONE, rows)


@pytest.mark.parametrize(
    ("key", "given", "wanted"),
    [("serviceName", "webhook", "karpenter"), ("serviceNamespace", "karpenter", "kube-system"), ("port", 443, "8443")],
)
def test_another_service_is_called(key, given, wanted):
    rows = a_row(f"webhook.{key}", str(given), wanted)
    assert result_of(CHECK, "1.0", charts({"webhook": {key: given}})) == ("fail", ONE, rows)


@pytest.mark.parametrize("given", [8001, 8000, 443])
def test_the_port_is_that_of_the_webhook_by_its_name(given):
    """The chart's Service lists the metrics of the webhook as well, in releases that differ in the order."""
    ports = [{"name": "https-webhook", "port": 8443}, {"name": "webhook-metrics", "port": 8001}]
    ports = [{"name": "http-metrics", "port": 8000}, *ports]
    service = doc("v1", "Service", metadata=meta("karpenter", "kube-system"), spec={"ports": ports})
    cluster = charts({"webhook": {"port": given}}).without("services").with_docs(service)
    assert result_of(CHECK, "1.0", cluster) == ("fail", ONE, a_row("webhook.port", str(given), "8443"))


def test_installed_elsewhere_it_calls_its_own_namespace():
    rows = a_row("webhook.serviceNamespace", "crds", "kube-system", namespace="crds")
    assert result_of(CHECK, "1.0", charts({}, namespace="crds")) == ("fail", ONE, rows)


def test_what_goes_with_the_webhooks_is_no_fault():
    assert result_of(CHECK, "1.1+", charts({"webhook": {"port": 8443}}, crds="1.0.14", main="1.0.14")) == GOOD


def test_without_that_chart_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", a_cluster().with_values({})) == NONE
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8") == NONE


def test_records_that_could_not_be_read_leave_it_open():
    found = result_of(CHECK, "1.0", a_cluster().unseen("helm_releases"))
    assert found == ("unknown", "Helm's records could not be read (forbidden)", ())


def delivered(kind: str, spec: dict, *, home: str):
    """A cluster whose karpenter-crd is known from that delivery only."""
    api = {"Application": "argoproj.io/v1alpha1", "HelmRelease": "helm.toolkit.fluxcd.io/v2"}[kind]
    delivery = doc(api, kind, metadata=meta("karpenter-crd", home), spec=spec)
    return a_cluster("0.37.8").without("helm_releases").with_docs(delivery)


def argo(destination: object, *, several: bool = False, **helm: object):
    source = {"repoURL": "public.ecr.aws/karpenter", "chart": "karpenter-crd", "targetRevision": "0.37.8", "helm": helm}
    other = {"repoURL": "https://git.example/values.git", "ref": "values"}
    sources = {"sources": [other, source]} if several else {"source": source}
    place = {"server": "https://kubernetes.default.svc"} | ({"namespace": destination} if destination else {})
    return delivered("Application", {"destination": place, **sources}, home="argocd")


def flux(home: str = "flux-system", **spec: object):
    chart = {
        "chart": "karpenter-crd",
        "version": "0.37.8",
        "sourceRef": {"kind": "HelmRepository", "name": "karpenter"},
    }
    return delivered("HelmRelease", {"chart": {"spec": chart}, **spec}, home=home)


@pytest.mark.parametrize(
    "cluster",
    [
        argo("kube-system"),
        argo("kube-system", several=True),
        argo("kube-system", valuesObject={"webhook": {"serviceNamespace": ""}}),
        argo("elsewhere", namespace="kube-system"),
        argo("elsewhere", several=True, namespace="kube-system"),
        argo("elsewhere", valuesObject={"webhook": {"serviceNamespace": "kube-system"}}),
        argo(None, valuesObject={"webhook": {"serviceNamespace": "kube-system"}}),
        flux(targetNamespace="kube-system"),
        flux(targetNamespace="kube-system", storageNamespace="flux-system"),
        flux("kube-system"),
    ],
)
def test_a_delivery_renders_the_chart_in_its_target(cluster):
    assert result_of(CHECK, "1.0", cluster) == GOOD


ARGO_KEY = "spec.source.helm.valuesObject.webhook.serviceNamespace"


@pytest.mark.parametrize(
    ("cluster", "kind", "home", "path", "seen"),
    [
        (argo("karpenter"), "Application", "argocd", ARGO_KEY, "karpenter"),
        (argo("kube-system", namespace="other"), "Application", "argocd", ARGO_KEY, "other"),
        (flux(), "HelmRelease", "flux-system", "spec.values.webhook.serviceNamespace", "flux-system"),
        (
            flux("kube-system", targetNamespace="crds"),
            "HelmRelease",
            "kube-system",
            "spec.values.webhook.serviceNamespace",
            "crds",
        ),
    ],
)
def test_a_delivery_with_another_target(cluster, kind, home, path, seen):
    row = Evidence(kind=kind, namespace=home, name="karpenter-crd", path=path, seen=seen, wanted="kube-system")
    assert result_of(CHECK, "1.0", cluster) == ("fail", ONE, (row,))


@pytest.mark.parametrize("destination", [None, 7, ["kube-system"]])
def test_an_application_without_a_destination_namespace_leaves_it_open(destination):
    """Argo CD then renders without a namespace, not in that of the Application."""
    words = "Application argocd/karpenter-crd does not tell the namespace of its chart, which the CRDs will call"
    assert result_of(CHECK, "1.0", argo(destination)) == ("unknown", words, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_sets_what_is_real():
    change = remedies(CHECK, "1.0", charts({"webhook": {"serviceNamespace": "karpenter"}}))[0].change
    assert isinstance(change, HelmChange)
    assert (change.chart, change.release, change.namespace, change.when) == (
        "karpenter-crd",
        "karpenter-crd",
        "kube-system",
        "landing",
    )
    assert change.given == {"webhook.serviceNamespace": '"kube-system"'}
