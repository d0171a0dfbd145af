from dataclasses import replace

import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.catalogue.crds.conversion_webhook_resolves import check
from migrations_app.checks.changes import HelmChange
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.parts import NOT_CONVERTED, OtherVersion, Seen, UnparsableObject, Unseen
from migrations_app.samples.installation import Crds, crds
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    case_at,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "conversion_webhook_resolves"
GOOD = ("pass", "The conversion webhook can be reached", ())
SERVICE = "spec.conversion.webhook.clientConfig.service"
NAMES = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


FRESH = (
    "not_applicable",
    "nothing but v1 was ever stored and webhooks are off, so nothing is converted",
    (),
)


def broken(path: str, seen: str, wanted: str) -> tuple[str, str, tuple[Evidence, ...]]:
    rows = (Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=seen, wanted=wanted) for name in NAMES)
    return "fail", "3 CRDs have an unreachable conversion webhook", tuple(rows)


def with_crds(cluster, **shape):
    return cluster.without("crds").with_docs(*crds(Crds(**shape)))


@pytest.mark.parametrize(("version", "hop"), [("0.37.8", "1.0"), ("1.0.14", "1.1+")])
def test_the_service_is_there_and_answers(version, hop):
    assert result_of(CHECK, hop, a_cluster(version)) == GOOD


@pytest.mark.parametrize("hop", ["1.0", "1.1+"])
def test_pods_without_addresses_of_the_vpc_are_not_said_to_be_reached(hop):
    cluster = a_cluster("1.0.14" if hop == "1.1+" else "0.37.8").without("daemonsets")
    finding = finding_of(CHECK, hop, cluster)
    assert (finding.status, finding.severity) == ("manual", "info")
    assert finding.summary == (
        "nodes do not run aws-node, and no other network plugin is known by name: "
        "whether the API server reaches the controller's pods is not known"
    )
    unread = finding_of(CHECK, hop, a_cluster("1.0.14" if hop == "1.1+" else "0.37.8").unseen("daemonsets"))
    assert (unread.status, unread.severity) == ("unknown", "info")


def test_the_service_is_in_another_namespace():
    cluster = with_crds(
        a_cluster("1.0.14", namespace="karpenter"), version="1.0.14", service=("kube-system", "karpenter")
    )
    seen = "kube-system/karpenter:8443: no such Service"
    assert result_of(CHECK, "1.1+", cluster) == broken(SERVICE, seen, "karpenter/karpenter")


def test_the_service_lacks_the_port():
    cluster = a_cluster("0.37.8", env={"DISABLE_WEBHOOK": "true"})
    seen = "kube-system/karpenter:8443: the Service has no such port"
    wanted = "a Service with that port and a ready endpoint"
    assert result_of(CHECK, "1.0", cluster) == broken(SERVICE, seen, wanted)


def test_no_endpoint_is_ready():
    seen = "kube-system/karpenter:8443: the Service has no ready endpoint"
    assert result_of(CHECK, "1.0", a_cluster(replicas=0)) == broken(SERVICE, seen, "kube-system/karpenter")
    assert result_of(CHECK, "1.0", a_cluster().without("endpoints")) == broken(SERVICE, seen, "kube-system/karpenter")


def test_two_versions_without_a_webhook():
    cluster = with_crds(a_cluster("1.0.14"), version="1.0.14", stored=("v1beta1", "v1"))
    assert result_of(CHECK, "1.1+", cluster) == broken("spec.conversion.strategy", "None", "Webhook")


@pytest.mark.parametrize("hop", ["1.0", "1.1+"])
def test_a_fresh_v1_cluster_without_webhooks_converts_nothing(hop):
    """As the charts of 1.0 leave it: the CRDs name a webhook that the controller does not offer."""
    shape = {"version": "1.0.2", "stored": ("v1",), "service": ("kube-system", "karpenter")}
    fresh = with_crds(a_cluster("1.0.2", env={"DISABLE_WEBHOOK": "true"}), **shape)
    assert result_of(CHECK, hop, fresh, start="1.0.2") == FRESH
    beta = with_crds(a_cluster("1.0.2", env={"DISABLE_WEBHOOK": "true"}), **shape | {"stored": ("v1beta1", "v1")})
    assert result_of(CHECK, hop, beta, start="1.0.2")[0] == "fail"


def test_going_back_to_a_release_that_acts_on_v1beta1_still_converts():
    shape = {"version": "1.0.14", "stored": ("v1",), "service": ("kube-system", "karpenter")}
    assert (
        result_of(CHECK, "1.0", with_crds(a_cluster("0.37.8", env={"DISABLE_WEBHOOK": "true"}), **shape))[0] == "fail"
    )


def test_where_only_v1_was_ever_stored_a_controller_without_webhooks_needs_none():  # CRD-05
    shape = {"version": "1.0.14", "stored": ("v1",)}
    assert result_of(CHECK, "1.1+", with_crds(a_cluster("1.0.14", env={"DISABLE_WEBHOOK": "true"}), **shape)) == FRESH
    insists = with_crds(a_cluster("1.0.14"), **shape)
    assert result_of(CHECK, "1.1+", insists) == broken("spec.conversion.strategy", "None", "Webhook")


def service(**spec):
    ports = [{"name": "webhook", "port": 8443}]
    return doc("v1", "Service", metadata=meta("karpenter", "kube-system"), spec={"ports": ports} | spec)


def test_the_service_selects_other_pods():
    cluster = a_cluster().without("services").with_docs(service(selector={"app.kubernetes.io/name": "web"}))
    seen = "kube-system/karpenter:8443: the Service selects no pods of the controller"
    assert result_of(CHECK, "1.0", cluster) == broken(SERVICE, seen, "kube-system/karpenter")


def test_without_a_selector_the_endpoints_are_somebody_elses():
    assert result_of(CHECK, "1.0", a_cluster().without("services").with_docs(service())) == GOOD


def test_endpoints_that_were_not_read_are_as_ready_as_the_controller():
    assert result_of(CHECK, "1.0", a_cluster().unseen("endpoints")) == GOOD
    why = "whether kube-system/karpenter answers could not be read: forbidden"
    assert result_of(CHECK, "1.0", a_cluster(replicas=0).unseen("endpoints")) == ("unknown", why, ())


@pytest.mark.parametrize(("part", "kind"), [("services", "Service"), ("endpoints", "Endpoints")])
def test_what_could_not_be_read_is_not_absent(part, kind):
    odd = UnparsableObject(kind, "kube-system", "karpenter", "$.spec", "Expected `object`")
    why = f"whether kube-system/karpenter answers could not be read: garbled ({kind} karpenter at $.spec)"
    assert result_of(CHECK, "1.0", a_cluster().without(part).set_aside(part, odd)) == ("unknown", why, ())


@pytest.mark.parametrize(
    "part",
    [
        Unseen("conversion_failed", "x509: unknown authority"),
        Seen((), "v1beta1", other_version=OtherVersion("v1", "conversion_failed", "x509: unknown authority")),
    ],
    ids=["unseen", "read in another version"],
)
def test_a_service_that_is_there_and_a_call_that_fails(part):  # D5
    cluster = a_cluster()
    case = case_at("1.0", cluster)
    case = replace(case, inventory=replace(case.inventory, nodepools=part))
    assert check.ask(case) == (
        Evidence(
            kind="CustomResourceDefinition",
            name="nodepools.karpenter.sh",
            path="spec.conversion.webhook",
            seen="the API server's call fails: x509: unknown authority",
            wanted="an answer",
        ),
    )


def test_objects_that_only_carry_the_label_of_v1_are_told_beside_the_strategy():  # D12
    case = case_at("1.1+", with_crds(a_cluster("1.0.14"), version="1.0.14", stored=("v1beta1", "v1")))
    odd = Seen(
        (), "karpenter.sh/v1", other_version=OtherVersion("karpenter.sh/v1", NOT_CONVERTED, "1 of 1 hold v1beta1")
    )
    rows = {row.name: row.seen for row in check.ask(replace(case, inventory=replace(case.inventory, nodepools=odd)))}
    assert rows == {name: "None; 1 of 1 hold v1beta1" if "nodepools" in name else "None" for name in NAMES}


def test_a_webhook_by_url_is_unknown():
    docs = crds(Crds(version="0.37.8", service=("kube-system", "karpenter")))
    for one in docs[:1]:
        one["spec"]["conversion"]["webhook"]["clientConfig"] = {"url": "https://converter.example/convert"}
    found = result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*docs))
    assert found == ("unknown", "nodepools.karpenter.sh: its conversion webhook names no Service in the cluster", ())


def test_without_a_port_the_default_one_is_called():
    docs = crds(Crds(version="0.37.8", service=("kube-system", "karpenter")))
    del docs[0]["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"]
    found = result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*docs))
    assert [row.seen for row in found[2]] == ["kube-system/karpenter:443: the Service has no such port"]


@pytest.mark.parametrize("version", ["0.30.0", "0.32.10", "0.37.0"])
def test_releases_before_conversion(version):
    hop = {"0.30.0": "0.31"}.get(version, "0.33+")
    found = result_of(CHECK, hop, a_cluster(version, kubernetes="1.27"))
    assert found == ("not_applicable", "no CRD converts between versions", ())


def test_an_empty_cluster_converts_nothing():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_points_at_the_real_service():
    cluster = with_crds(
        a_cluster("1.0.14", namespace="karpenter"), version="1.0.14", service=("kube-system", "karpenter")
    )
    first = remedies(CHECK, "1.1+", cluster)[0]
    assert first.how == "kubectl"
    assert first.text.splitlines()[0] == (
        "kubectl patch crd nodepools.karpenter.sh --type=json -p "
        '\'[{"op":"test","path":"/spec/conversion/webhook/clientConfig/service/namespace","value":"kube-system"},'
        '{"op":"test","path":"/spec/conversion/webhook/clientConfig/service/name","value":"karpenter"},'
        '{"op":"test","path":"/spec/conversion/webhook/clientConfig/service/port","value":8443},'
        '{"op":"test","path":"/spec/conversion/webhook/clientConfig/service/path","value":"/conversion/karpenter.sh"},'
        '{"op":"replace","path":"/spec/conversion/webhook/clientConfig/service",'
        '"value":{"namespace":"karpenter","name":"karpenter","port":8443,"path":"/conversion/karpenter.sh"}}]\''
    )


@pytest.mark.parametrize(("hop", "when"), [("0.33+", "landing"), ("1.0", "before")])
def test_where_the_controller_has_it_off_the_chart_of_the_controller_switches_it_on(hop, when):
    first = remedies(CHECK, hop, a_cluster("0.37.5", env={"DISABLE_WEBHOOK": "true"}), start="0.37.5")[0]
    assert isinstance(first.change, HelmChange)
    assert (first.how, first.change.chart, first.change.given) == ("helm", "karpenter", {"webhook.enabled": "true"})
    assert first.change.when == when


def test_a_release_that_converts_nothing_brings_its_own_crds():
    """As an upgrade of the controller's chart to 1.1 alone leaves it: no value makes 1.1 answer a conversion."""
    cluster = with_crds(
        a_cluster("1.1.9", kubernetes="1.31"), version="1.0.14", stored=("v1",), service=("kube-system", "karpenter")
    )
    record = msgspec.structs.replace(
        a_cluster().with_values({}, version="1.0.14").build().helm_releases.items[0], name=CRD_CHART, chart=CRD_CHART
    )
    (change,) = {one.change for one in remedies(CHECK, NEWEST_MINOR, cluster.with_items("helm_releases", record))}
    assert isinstance(change, HelmChange)
    assert (change.chart, change.version, change.given, change.needs) == (CRD_CHART, "1.1.9", {}, ())


def test_crds_that_lack_a_stored_version_wait_until_it_is_off_the_list():  # CRD-08
    cluster = with_crds(
        a_cluster("1.1.9", kubernetes="1.31"),
        version="1.0.14",
        stored=("v1beta1", "v1"),
        service=("kube-system", "karpenter"),
    )
    for found in (CHECK, "crds_match_controller"):
        changes = [one.change for one in remedies(found, NEWEST_MINOR, cluster)]
        assert {change.needs for change in changes if isinstance(change, HelmChange)} == {("stored_versions_clean",)}


def test_the_remedy_follows_the_manager_of_the_crds():
    marks = {"helm.toolkit.fluxcd.io/name": "karpenter-crd"}
    cluster = with_crds(a_cluster("1.0.14"), version="1.0.14", stored=("v1beta1", "v1"), labels=marks)
    assert remedies(CHECK, "1.1+", cluster)[0].how == "flux"


def test_where_the_right_service_is_called_a_person_looks_behind_it():
    made = with_crds(a_cluster("1.0.14"), version="1.0.14", service=("kube-system", "karpenter")).without("endpoints")
    (only,) = remedies(CHECK, "1.1+", made)
    assert only.text.splitlines()[1:] == [
        "kubectl -n kube-system describe service karpenter",
        "kubectl -n kube-system describe pods -l app.kubernetes.io/name=karpenter",
    ]


def test_where_the_right_service_refuses_the_controller_is_restarted():
    case = case_at("1.0", a_cluster(namespace="karpenter"))
    part = Seen((), "karpenter.sh/v1beta1", other_version=OtherVersion("karpenter.sh/v1", "conversion_failed", "x509"))
    case = replace(case, inventory=replace(case.inventory, nodepools=part))
    (only,) = check.remedies(case, check.ask(case))
    assert only.text.splitlines()[1:] == ["kubectl -n karpenter rollout restart deployment karpenter"]
