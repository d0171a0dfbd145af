"""What values and versions of the two charts do to an inventory."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.inventory.facts.controller import given_values, installation
from migrations_app.inventory.facts.conversion_webhook import CONVERTED, conversion_target, strategy_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import HelmRelease, ServiceReference
from migrations_app.karpenter.versions import release
from migrations_app.readiness.runbook.effects.chart_upgrade import after_upgrade
from migrations_app.readiness.runbook.effects.effect import effect
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown
from migrations_app.readiness.stage import detect_running_release
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import ACluster, a_cluster

VALUES = {"settings": {"clusterName": "test"}, "controller": {"env": [{"name": "MINE", "value": "1"}]}}


def cluster(version: str = "0.37.8", **install: Any) -> ACluster:
    env = {"CLUSTER_NAME": "test", "MINE": "1", "FEATURE_GATES": "Drift=true"}
    return a_cluster(version, env=env, **install).with_values(VALUES, version=version)


def with_crd_chart(version: str) -> Inventory:
    record = HelmRelease(
        name="karpenter-crd", namespace="kube-system", revision=1, status="deployed", chart="karpenter-crd",
        chart_version=version, app_version=version, config={}, defaults={}, crds=[],
    )  # fmt: skip
    made = cluster(version)
    return made.with_items("helm_releases", record).build()


def changed(before: Inventory, given: Mapping[str, object], **more: Any) -> Inventory | NotShown:
    values = tuple(HelmValue(key, "" if value is None else json.dumps(value)) for key, value in given.items())
    chart = more.pop("chart", "karpenter")
    return effect(before, HelmChange(chart=chart, release=chart, namespace="kube-system", values=values, **more))


def after(before: Inventory, given: Mapping[str, object], **more: Any) -> Inventory:
    found = changed(before, given, **more)
    assert isinstance(found, Inventory)
    return found


def why(before: Inventory, given: Mapping[str, object], **more: Any) -> str:
    found = changed(before, given, **more)
    assert isinstance(found, NotShown)
    return found.why


def env(inventory: Inventory) -> Mapping[str, str]:
    found = installation(inventory)
    assert found
    return found.env


def config(inventory: Inventory) -> dict[str, Any]:
    values = given_values(inventory)
    assert values
    return values.tree


@pytest.mark.parametrize(
    ("given", "variable", "text"),
    [
        ({"settings.clusterName": "other"}, "CLUSTER_NAME", "other"),
        ({"settings.clusterName": None}, "CLUSTER_NAME", None),
        ({"settings.isolatedVPC": True}, "ISOLATED_VPC", "true"),
        ({"settings.featureGates.drift": False}, "FEATURE_GATES", "Drift=false"),
        ({"settings.featureGates.drift": None}, "FEATURE_GATES", "Drift=true"),
        ({"webhook.enabled": True}, "DISABLE_WEBHOOK", "false"),
        ({"controller.env": []}, "MINE", None),
        ({"controller.env": [{"name": "MINE", "value": "2"}]}, "MINE", "2"),
        ({"settings.nobodyReadsIt": 1}, "NOBODY_READS_IT", None),
    ],
)
def test_a_value_becomes_a_variable(given: Mapping[str, object], variable: str, text: str | None) -> None:
    assert env(after(cluster().build(), given)).get(variable) == text


def test_the_record_holds_what_is_set_and_not_what_is_taken_out() -> None:
    found = after(cluster().build(), {"settings.clusterName": None, "logLevel": "debug"})
    assert config(found) == {"settings": {}, "controller": VALUES["controller"], "logLevel": "debug"}


def test_fields_of_the_pod() -> None:
    given = {
        "dnsPolicy": "Default",
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "controller.resources": {"requests": {"cpu": 1}},
        "replicas": 3,
    }
    found = installation(after(cluster().build(), given))
    assert found
    pod = found.workload.template.spec
    assert (pod.dns_policy, [one.key for one in pod.tolerations or ()]) == ("Default", ["a"])
    (container,) = pod.containers or ()
    assert container.resources
    assert (container.resources.requests, found.workload.spec.replicas) == ({"cpu": 1}, 3)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tolerations": "odd"}, "refused"),
        ({"controller.resources": {"requests": 1}}, "refused"),
        ({"replicas": "many"}, "refused"),
        ({"serviceAccount.name": "other"}, "value_not_applied"),
        ({"dnsPolicy": None}, "value_not_applied"),
    ],
)
def test_what_the_tables_do_not_follow_is_told(given: Mapping[str, object], reason: str) -> None:
    assert why(cluster().build(), given) == reason


def test_what_is_no_json_is_refused() -> None:
    found = effect(
        cluster().build(),
        HelmChange(chart="karpenter", release="karpenter", namespace="x", values=(HelmValue("a", "{"),)),
    )
    assert found == NotShown("refused", "a")


def test_a_value_that_the_running_release_does_not_read_stands_in_the_record_only() -> None:
    before = cluster().build()
    found = after(before, {"settings.featureGates.staticCapacity": True})
    assert env(found) == env(before)
    assert config(found)["settings"]["featureGates"] == {"staticCapacity": True}


def test_a_version_brings_image_labels_record_and_crds() -> None:
    found = after(with_crd_chart("0.37.5"), {}, version="0.37.8")
    detected = detect_running_release(found)
    assert (str(detected.release), detected.disagreements) == ("0.37.8", ())
    assert [(one.chart_version, one.app_version) for one in found.helm_releases.items] == [("0.37.8", "0.37.8")] * 2
    served = {crd.name: crd.served for crd in found.crds.items}
    assert served["nodepools.karpenter.sh"] == ("v1", "v1beta1")


def test_a_version_of_another_minor_is_more_than_an_image() -> None:
    assert why(cluster().build(), {}, version="1.0.14") == "value_not_applied"


def test_the_server_refuses_crds_without_a_version_that_is_stored() -> None:
    before = with_crd_chart("0.37.8")
    assert why(before, {}, chart="karpenter-crd", version="1.1.9") == "refused"
    landed = after(before, {}, chart="karpenter-crd", version="1.0.14")
    pools = next(crd for crd in landed.crds.items if crd.name == "nodepools.karpenter.sh")
    assert (pools.storage, pools.stored) == ("v1", ("v1beta1", "v1"))


def test_the_conversion_follows_the_chart_of_the_crds() -> None:
    before = with_crd_chart("0.37.8")
    given = {"webhook.serviceName": "mine", "webhook.serviceNamespace": "home"}
    crd = next(one for one in after(before, given, chart="karpenter-crd").crds.items if len(one.served) > 1)
    webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
    target = webhook.client_config if webhook else None
    assert target
    assert target.service
    assert (target.service.name, target.service.namespace) == ("mine", "home")
    off = after(before, {"webhook.enabled": False}, chart="karpenter-crd")
    assert {one.spec.conversion.strategy for one in off.crds.items if one.spec.conversion} == {"None"}
    assert why(before, {"webhook.port": "x"}, chart="karpenter-crd") == "refused"
    assert why(before, {"additionalAnnotations": {}}, chart="karpenter-crd") == "value_not_applied"


def test_the_config_map_follows_up_to_0_32() -> None:
    settings = doc("v1", "ConfigMap", metadata=meta("karpenter-global-settings", "kube-system"), data={})
    before = cluster("0.31.5", kubernetes="1.27").with_docs(settings).build()
    found = after(before, {"settings.aws.tags": {"a": "b"}, "settings.batchIdleDuration": "2s"})
    assert [one.data for one in found.settings.items] == [{"aws.tags": '{"a": "b"}', "batchIdleDuration": "2s"}]
    back = after(found, {"settings.aws.tags": None, "settings.batchIdleDuration": None})
    assert [one.data for one in back.settings.items] == [{"aws.tags": "{}", "batchIdleDuration": "1s"}]


def test_an_upgrade_is_in_each_source_that_names_a_chart() -> None:
    charts = [
        {"chart": "karpenter", "targetRevision": "0.37.8"},
        {"chart": "karpenter-crd", "targetRevision": "0.37.8"},
    ]
    app = doc(
        "argoproj.io/v1alpha1",
        "Application",
        metadata=meta("karpenter", "argocd"),
        spec={"sources": [{"ref": "values", "targetRevision": "main"}, *charts]},
    )
    (found,) = after_upgrade(cluster().with_docs(app).build(), release("1.0.14")).deliveries.items
    assert found.spec == {
        "sources": [
            {"ref": "values", "targetRevision": "main"},
            {"chart": "karpenter", "targetRevision": "1.0.14", "helm": {"skipCrds": True}},
            {"chart": "karpenter-crd", "targetRevision": "1.0.14"},
        ]
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"source": {"chart": "karpenter", "helm": {"values": "replicas: 2\nlogLevel: debug\n"}}},
        {"source": {"chart": "karpenter", "helm": {"valuesObject": {"replicas": 2, "logLevel": "debug"}}}},
        {"sources": [{"ref": "values"}, {"chart": "karpenter", "helm": {"values": "{replicas: 2, logLevel: debug}"}}]},
    ],
)
def test_values_stay_in_the_application_that_gives_them(spec: dict[str, Any]) -> None:
    app = doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=spec)
    before = a_cluster().with_docs(app).build()
    assert config(before) == {"replicas": 2, "logLevel": "debug"}
    assert config(after(before, {"replicas": 3, "logLevel": None})) == {"replicas": 3}
    assert config(before) == {"replicas": 2, "logLevel": "debug"}


def test_the_patch_that_brings_the_conversion_brings_its_webhook() -> None:
    """0.35.12 converts between v1beta1 and v1 and has its webhook on by default; 0.35.0 has neither."""
    before = with_crd_chart("0.35.0")
    upgraded = after(before, {}, version="0.35.12")
    assert conversions(before) == {("None", None)}
    called = ServiceReference(name="karpenter", namespace="kube-system", port=8443)
    assert conversions(upgraded) == {("Webhook", called)}
    (service,) = (one for one in upgraded.services.items if (one.namespace, one.name) == ("kube-system", "karpenter"))
    assert ("https-webhook", 8443) in {(port.name, port.port) for port in service.spec.ports or ()}


def test_the_chart_of_the_crds_keeps_the_conversion_off_by_its_values() -> None:
    record = replace(with_crd_chart("0.35.0").helm_releases.items[-1], config={"webhook": {"enabled": False}})
    before = cluster("0.35.0").with_items("helm_releases", record).build()
    assert conversions(after(before, {}, version="0.35.12")) == {("None", None)}


def conversions(inventory: Inventory) -> set[tuple[str, ServiceReference | None]]:
    """Strategy and Service of the CRDs of the three kinds."""
    return {(strategy_of(crd), conversion_target(crd)) for crd in inventory.crds.items if crd.name in CONVERTED}
