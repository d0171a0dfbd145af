import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, HelmRelease
from migrations_app.inventory.parts import UnparsableObject
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "webhook_values_gone"
GOOD = ("pass", "No Helm value sets webhooks", ())


def charts(main: dict | None, crds: dict | None = None):
    cluster = a_cluster("1.0.14")
    for chart, values in (("karpenter", main), ("karpenter-crd", crds)):
        if values is not None:
            record = HelmRelease(
                name=chart, namespace="kube-system", revision=1, status="deployed", chart=chart,
                chart_version="1.0.14", app_version="1.0.14", config=values, defaults={}, crds=[],
            )  # fmt: skip
            cluster = cluster.with_items("helm_releases", record)
    return cluster


def a_row(key: str, chart: str = "karpenter") -> Evidence:
    path = f"config.webhook.{key}"
    return Evidence(kind="HelmRelease", namespace="kube-system", name=chart, path=path, seen="given", wanted="absent")


@pytest.mark.parametrize("values", [{}, {"settings": {"clusterName": "a"}}, {"webhook": {}}, {"webhook": {"port": ""}}])
def test_values_without_webhooks(values):
    assert result_of(CHECK, "1.1+", charts(values, values)) == GOOD


def test_values_of_either_chart():
    found = result_of(CHECK, "1.1+", charts({"webhook": {"enabled": True}}, {"webhook": {"port": 8443}}))
    rows = (a_row("enabled"), a_row("port", "karpenter-crd"))
    assert found == ("fail", "2 Helm values still set webhooks", rows)


def test_one_value():
    found = result_of(CHECK, "1.1+", charts(None, {"webhook": {"serviceName": "karpenter"}}))
    assert found == ("fail", "1 Helm value still sets webhooks", (a_row("serviceName", "karpenter-crd"),))


def test_where_nothing_tells_there_is_nothing_to_ask():
    why = ("not_applicable", "nothing tells the values of the charts", ())
    assert result_of(CHECK, "1.1+", charts(None)) == why
    assert result_of(CHECK, "1.1+", an_empty_cluster(), start="1.0.14") == why


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", charts({}), part=part) == ("unknown", f"{part} could not be read: forbidden")


NAMED = "every record of the namespace karpenter"
ASIDE = UnparsableObject("HelmRelease", "karpenter", NAMED, "$", "forbidden", "forbidden")
WHY = "Helm's records could not be read ({}), so not all values are known"
FORBIDDEN = ("unknown", WHY.format("forbidden"), ())


@pytest.mark.parametrize("given", [None, {}, {"settings": {"clusterName": "a"}}])
def test_values_that_nobody_read_are_not_taken_for_none(given):
    """With or without Flux, which tells the values of the main chart alone."""
    cluster = delivered(given) if given is not None else charts(None)
    half = result_of(CHECK, "1.1+", cluster.without("helm_releases").set_aside("helm_releases", ASIDE))
    assert half == ("unknown", WHY.format(f"{ASIDE.name}: forbidden"), ())
    assert result_of(CHECK, "1.1+", cluster.unseen("helm_releases")) == FORBIDDEN


def test_what_flux_tells_fails_where_helm_is_unread():
    cluster = delivered({"webhook": {"enabled": False}}).unseen("helm_releases")
    status, said, rows = result_of(CHECK, "1.1+", cluster)
    assert (status, said, [row.path for row in rows]) == (
        "fail", "at least 1 Helm value still sets webhooks", ["spec.values.webhook.enabled"],
    )  # fmt: skip


def delivered(values: dict):
    spec = {"chart": {"spec": {"chart": "karpenter"}}, "values": values}
    flux = GitOpsDelivery(kind="HelmRelease", metadata=Metadata(name="karpenter", namespace="flux-system"), spec=spec)
    return a_cluster("1.0.14").with_items("deliveries", flux)


def test_the_remedy_takes_them_out():
    found = remedies(CHECK, "1.1+", charts({"webhook": {"enabled": True}}, {"webhook": {"port": 8443}}))
    changes = [one.change for one in found if one.how == "helm" and isinstance(one.change, HelmChange)]
    assert [(one.release, one.chart, one.when, dict(one.given)) for one in changes] == [
        ("karpenter", "karpenter", "landing", {"webhook.enabled": ""}),
        ("karpenter-crd", "karpenter-crd", "landing", {"webhook.port": ""}),
    ]
