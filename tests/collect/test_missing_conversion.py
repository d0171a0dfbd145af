"""A real API server whose CRDs cannot convert: what is stored is read in its own version, and said so."""

import io
from collections.abc import Iterator
from typing import Any

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.collect.collect import collect
from migrations_app.inventory.parts import NOT_CONVERTED, Seen, Unseen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult
from migrations_app.samples.installation import Install, controller
from tests import upstream
from tests.servers.api_client import Document
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules

NONE = {"strategy": "None"}
POOL: Document = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "batch"},
    "spec": {
        "template": {
            "spec": {
                "kubelet": {"maxPods": 42},
                "nodeClassRef": {"name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }
        },
        "disruption": {"consolidationPolicy": "WhenUnderutilized"},
    },
}
CLASS: Document = {
    "apiVersion": "karpenter.k8s.aws/v1beta1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "amiFamily": "AL2",
        "role": "nodes",
        "subnetSelectorTerms": [{"tags": {"a": "b"}}],
        "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
    },
}

NEWER: Document = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "newer"},
    "spec": {
        "template": {
            "spec": {
                "expireAfter": "48h",
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            }
        }
    },
}


@pytest.fixture
def server(clean_apiserver: ApiServer) -> ApiServer:
    return clean_apiserver


@pytest.fixture
def api(server: ApiServer) -> Iterator[LiveApi]:
    connection = read_kubeconfig(server.kubeconfig(server.admin_token).encode())
    found = open_live(connection, reach=OutboundPolicy(allow_loopback=True))
    yield found
    found.close()


def load(server: ApiServer, release: str, *, conversion: Document | None = None) -> None:
    """The CRDs of that release as upstream ships them, with another conversion where one is given."""
    found = [without_rules(crd) for crd in upstream.crds(release) if crd["spec"]["group"].startswith("karpenter")]
    for crd in found:
        crd["spec"] |= {"conversion": conversion} if conversion else {}
    server.load_documents(found)


def store(server: ApiServer, *documents: Document) -> None:
    for document in documents:
        server.admin.create(document)


def as_written(one: Document) -> Document:
    """The object as somebody writes it: without what the server adds."""
    added = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
    metadata = {key: part for key, part in one["metadata"].items() if key not in added}
    return {key: part for key, part in one.items() if key != "status"} | {"metadata": metadata}


def scan(api: LiveApi) -> CollectResult:
    return collect(api, cluster="real")


def line(found: CollectResult, name: str) -> Any:
    return next(one for one in found.parts if one.name == name)


def test_with_a_dead_webhook_the_stored_version_is_read(server: ApiServer, api: LiveApi) -> None:  # D5
    load(server, "v0.37.8", conversion=NONE)
    store(server, POOL, CLASS)
    load(server, "v0.37.8")  # the webhook that they name is not there
    found = scan(api)
    pools, classes = found.inventory.nodepools, found.inventory.ec2nodeclasses
    assert isinstance(pools, Seen)
    assert isinstance(classes, Seen)
    assert (pools.served, [one.api_version for one in pools.items]) == (
        "karpenter.sh/v1beta1",
        ["karpenter.sh/v1beta1"],
    )
    assert pools.items[0].get("spec.template.spec.kubelet") == {"maxPods": 42}
    assert pools.other_version is not None
    assert (pools.other_version.wanted, pools.other_version.why) == ("karpenter.sh/v1", "conversion_failed")
    assert "conversion webhook for karpenter.sh/v1beta1, Kind=NodePool failed" in pools.other_version.detail
    assert line(found, "nodepools").read_as.startswith(
        "karpenter.sh/v1beta1, because karpenter.sh/v1 fails: conversion_failed ("
    )
    assert classes.served == "karpenter.k8s.aws/v1beta1"
    # Nothing of this kind is stored, so nothing had to be converted.
    assert (found.inventory.nodeclaims.count, line(found, "nodeclaims").seen) == (0, True)
    assert not isinstance(found.inventory.nodeclaims, Unseen)


def test_what_is_stored_in_both_versions_stays_unseen(server: ApiServer, api: LiveApi) -> None:
    load(server, "v0.37.8", conversion=NONE)
    store(server, POOL)
    load(server, "v1.0.14", conversion=NONE)
    newer = POOL | {"metadata": {"name": "newer"}}
    store(server, newer)
    load(server, "v1.0.14")
    assert isinstance(scan(api).inventory.nodepools, Unseen)


def test_objects_of_a_version_that_the_crd_lacks_are_told_as_such(server: ApiServer, api: LiveApi) -> None:  # CRD-10
    """v1beta1 was taken off the list of stored versions by hand, and the CRDs of 1.1 do not have it."""
    load(server, "v0.37.8", conversion=NONE)
    store(server, POOL)
    for name in ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"):
        server.store_versions(name, ["v1"])
    load(server, "v1.1.9")
    pools = scan(api).inventory.nodepools
    assert isinstance(pools, Unseen)
    assert pools.why == "stored_version_gone"
    assert "karpenter.sh/v1beta1" in pools.detail


@pytest.mark.parametrize("release", ["v0.37.8", "v1.0.14"])
def test_without_conversion_objects_are_what_their_content_shows(  # D12
    server: ApiServer, api: LiveApi, release: str
) -> None:
    load(server, "v0.37.8", conversion=NONE)
    store(server, POOL, CLASS)
    load(server, release, conversion=NONE)
    found = scan(api)
    pools, classes = found.inventory.nodepools, found.inventory.ec2nodeclasses
    assert isinstance(pools, Seen)
    assert isinstance(classes, Seen)
    (pool,), (node_class,) = pools.items, classes.items
    assert pool.api_version == "karpenter.sh/v1beta1"
    assert pool.get("spec.template.spec.kubelet") == {"maxPods": 42}
    assert pool.get("spec.disruption.expireAfter") == "720h"
    assert node_class.api_version == "karpenter.k8s.aws/v1beta1"
    assert pools.other_version is not None
    assert pools.other_version.why == NOT_CONVERTED
    told = "v1beta1 where the content shows it: 1 of 1 objects labelled v1 contain v1beta1: their CRD has no conversion"
    assert line(found, "nodepools").read_as == told


def test_v1_content_beside_it_stays_v1(server: ApiServer, api: LiveApi) -> None:
    load(server, "v1.0.14", conversion=NONE)
    store(server, POOL, NEWER)
    pools = scan(api).inventory.nodepools
    assert isinstance(pools, Seen)
    assert {one.name: one.api_version for one in pools.items} == {
        "batch": "karpenter.sh/v1beta1",
        "newer": "karpenter.sh/v1",
    }
    assert {one.name: one.get("spec.template.spec.expireAfter") for one in pools.items} == {
        "batch": None,
        "newer": "48h",
    }


@pytest.mark.parametrize(("release", "conversion"), [("v0.37.8", None), ("v1.0.14", NONE)])
def test_a_bundle_tells_the_same(server: ApiServer, api: LiveApi, release: str, conversion: Document | None) -> None:
    load(server, "v1.0.14" if conversion else "v0.37.8", conversion=NONE)
    store(server, POOL, CLASS, *((NEWER,) if conversion else ()))
    load(server, release, conversion=conversion)
    recording, packed = Recording(api), io.BytesIO()
    live = collect(recording, cluster="real")
    recording.write(packed, made_at=live.inventory.taken_at, made_by="tests")
    bundled = collect(open_bundle(packed.getvalue()), cluster="real")
    for part in ("nodepools", "ec2nodeclasses", "nodeclaims"):
        here, there = live.inventory.part(part), bundled.inventory.part(part)
        assert isinstance(here, Seen)
        assert isinstance(there, Seen)
        assert (there.served, there.other_version) == (here.served, here.other_version)
        assert there.items == here.items
    assert evaluate(bundled).report.checks == evaluate(live).report.checks


def test_the_findings_name_the_lists_and_judge_the_objects(server: ApiServer, api: LiveApi) -> None:
    load(server, "v0.37.8", conversion=NONE)
    store(server, POOL, CLASS)
    load(server, "v0.37.8")
    installed = Install(cluster="real", version="0.37.8")
    for one in controller(installed, ["n1"]):
        if one["kind"] in ("Deployment", "Service", "ServiceAccount"):
            server.admin.create(as_written(one))
    report = evaluate(scan(api), target="1.0").report
    answers = {one.id: one for one in report.checks if one.hop == "1.0"}
    lists = answers["karpenter_lists_answer"]
    assert (lists.status, {row.name for row in lists.evidence}) == (
        "fail",
        {"nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"},
    )
    assert "read as karpenter.sh/v1beta1" in next(row.seen for row in lists.evidence if row.kind == "NodePool")
    assert answers["conversion_webhook_resolves"].status == "fail"
    assert answers["kubelet_settings_in_classes"].status not in ("unknown", "not_applicable")
