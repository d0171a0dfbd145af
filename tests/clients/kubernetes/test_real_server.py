"""The client against a real kube-apiserver: lists, RBAC, 410, conversion failures, identities, the scan of a bundle."""

import io
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.api import ClusterApi, Resource
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.errors import AddressRefused, Expired, Forbidden, NotServed, ReadError, TlsRefused, Unauthorized
from tests.clients.recorded_bundle import write_bundle
from tests.fakes.certificates import Authority
from tests.servers.apiserver import ApiServer

HERE = OutboundPolicy(allow_loopback=True)
CONFIG_MAPS = Resource("", "v1", "configmaps", "default", page_size=7)
POOLS = Resource("karpenter.sh", "v1beta1", "nodepools")


@contextmanager
def live(kubeconfig: str) -> Iterator[LiveApi]:
    api = open_live(read_kubeconfig(kubeconfig.encode()), reach=HERE)
    yield api
    api.close()


@pytest.fixture
def server(clean_apiserver: ApiServer) -> ApiServer:
    return clean_apiserver


@contextmanager
def as_admin(server: ApiServer) -> Iterator[LiveApi]:
    with live(server.kubeconfig(server.admin_token)) as api:
        yield api


def config_map(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"a": "b"},
    }


def fill(server: ApiServer, count: int) -> list[str]:
    names = [f"m{number:03}" for number in range(count)]
    for name in names:
        server.admin.create(config_map(name))
    return names


def names(api: ClusterApi, resource: Resource) -> list[str]:
    return [json.loads(bytes(item))["metadata"]["name"] for page in api.pages(resource) for item in page.items]


def test_version_discovery_and_lists(server: ApiServer) -> None:
    wanted = fill(server, 30)
    with as_admin(server) as api:
        assert json.loads(api.get("/version"))["gitVersion"].startswith("v1.")
        pages = list(api.pages(CONFIG_MAPS))
        found = [json.loads(bytes(item))["metadata"]["name"] for page in pages for item in page.items]
        served = api.served()
    assert [name for name in found if name in wanted] == wanted
    assert len(pages) >= 5
    assert len({page.resource_version for page in pages}) == 1
    assert {("", "v1", "pods"), ("apps", "v1", "deployments")} <= {
        (r.group, r.version, r.plural) for r in served.resources
    }
    assert served.failed == {}


def test_ages_come_from_the_servers_clock(server: ApiServer) -> None:
    with as_admin(server) as api:
        api.get("/version")
        clock = api.clock()
    assert clock.server_date is not None
    assert clock.server_date.startswith(time.strftime("%Y-%m-%d", time.gmtime()))


def test_selectors_are_passed_on(server: ApiServer) -> None:
    fill(server, 3)
    with as_admin(server) as api:
        assert names(api, Resource("", "v1", "configmaps", "default", field_selector="metadata.name=m001")) == ["m001"]
        assert names(api, Resource("", "v1", "configmaps", "default", label_selector="a=b")) == []


def test_a_forgotten_version_expires_the_list_and_a_new_start_is_whole(server: ApiServer) -> None:  # R14
    wanted = fill(server, 30)
    with as_admin(server) as api:
        pages = api.pages(CONFIG_MAPS)
        next(pages)
        server.admin.create(config_map("later"))
        server.compact()
        with pytest.raises(Expired):
            list(pages)
        assert [name for name in names(api, CONFIG_MAPS) if name in [*wanted, "later"]] == ["later", *wanted]


def test_a_missing_right_is_named(server: ApiServer) -> None:  # R15
    token = server.make_user("reader", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}])
    with live(server.kubeconfig(token)) as api:
        assert names(api, Resource("", "v1", "configmaps")) is not None
        with pytest.raises(Forbidden) as caught:
            names(api, Resource("", "v1", "secrets", "kube-system"))
        assert api.access_review("list", group="", plural="configmaps") is True
        assert api.access_review("list", group="", plural="secrets") is False
        assert api.access_review("list", group="", plural="configmaps", namespace="default") is True
    rule = '{apiGroups: [""], resources: ["secrets"], verbs: ["list"]}'
    assert caught.value.message == f"may not list secrets in kube-system; missing rule: {rule}"


def test_an_unknown_token_is_unauthorized(server: ApiServer) -> None:
    with live(server.kubeconfig("not-a-token")) as api, pytest.raises(Unauthorized):
        names(api, CONFIG_MAPS)


def test_a_client_certificate_signs_in(server: ApiServer) -> None:  # K03
    pair = server.client_cert("carla", ["system:masters"])
    fill(server, 1)
    with live(server.kubeconfig(certificate=pair)) as api:
        assert "m000" in names(api, CONFIG_MAPS)


def test_a_kind_that_nobody_serves_is_told_from_an_absent_object(server: ApiServer) -> None:  # R16
    with as_admin(server) as api:
        with pytest.raises(NotServed) as kind:
            names(api, POOLS)
        with pytest.raises(NotServed) as thing:
            api.get("/api/v1/namespaces/default/configmaps/nothing")
    assert (kind.value.code, thing.value.code) == ("not_served", "absent")


def test_crds_are_served_as_soon_as_they_are_there(server: ApiServer) -> None:
    server.load_crds("alpha_and_beta")
    pool = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}
    server.admin.create(pool)
    with as_admin(server) as api:
        assert names(api, POOLS) == ["default"]
        karpenter = [r for r in api.served().resources if r.group == "karpenter.sh"]
    assert {(r.plural, r.version) for r in karpenter} == {
        ("provisioners", "v1alpha5"),
        ("machines", "v1alpha5"),
        ("nodepools", "v1beta1"),
        ("nodeclaims", "v1beta1"),
    }


def test_a_conversion_that_fails_is_told_as_such(server: ApiServer) -> None:  # R16
    server.load_crds("beta_with_v1", conversion_webhook=True)
    pool = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}
    server.admin.create(pool)
    with as_admin(server) as api, pytest.raises(ReadError) as caught:
        names(api, Resource("karpenter.sh", "v1", "nodepools"))
    assert caught.value.code == "conversion_failed"
    assert "conversion webhook for karpenter.sh/v1beta1, Kind=NodePool failed" in caught.value.message


def test_four_lists_at_once_are_whole(server: ApiServer) -> None:
    wanted = fill(server, 40)
    with as_admin(server) as api, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: names(api, CONFIG_MAPS), range(12)))
    assert [[name for name in each if name in wanted] for each in found] == [wanted] * 12


def test_another_authority_is_refused(server: ApiServer) -> None:
    other = server.kubeconfig(server.admin_token)
    connection = read_kubeconfig(other.encode())
    wrong = type(connection)(server=connection.server, ca_pem=Authority().pem, token=connection.token)
    api = open_live(wrong, reach=HERE)
    with pytest.raises(TlsRefused) as caught:
        api.get("/version")
    api.close()
    assert caught.value.code == "tls_untrusted"


def test_loopback_is_refused_unless_it_is_allowed(server: ApiServer) -> None:
    with pytest.raises(AddressRefused):
        open_live(read_kubeconfig(server.kubeconfig(server.admin_token).encode()), reach=OutboundPolicy())


def test_a_scan_only_reads(server: ApiServer) -> None:
    server.load_crds("beta")
    mark = server.audit_mark()
    token = server.make_user("karpdash", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}])
    with live(server.kubeconfig(token)) as api:
        api.served()
        names(api, POOLS)
    ours = [event for event in server.audit_events(mark) if event.get("userAgent", "").startswith("karpdash/")]
    assert {event["verb"] for event in ours} == {"get", "list"}
    assert {event["userAgent"].split(" ", 1)[1] for event in ours} == {"scan attempt=1"}  # K16


def test_a_bundle_of_a_real_cluster_tells_the_same(server: ApiServer) -> None:
    server.load_crds("beta")
    server.admin.create(
        {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {}}
    )
    server.admin.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"providerID": "aws:///a/i-1"}}
    )
    asked = [POOLS, Resource("", "v1", "nodes"), Resource("karpenter.sh", "v1alpha5", "provisioners")]
    out = io.BytesIO()
    with as_admin(server) as api:
        manifest = write_bundle(api, asked, out=out, made_at="2026-01-02T03:04:05Z", made_by="tests")
        served = api.served()
    bundle = open_bundle(out.getvalue())
    assert [(part.plural, part.seen, part.why, part.count) for part in manifest.asked] == [
        ("nodepools", True, "", 1),
        ("nodes", True, "", 1),
        ("provisioners", False, "not_served", 0),
    ]
    assert [names(bundle, each) for each in asked[:2]] == [["a"], ["n1"]]
    assert bundle.served() == served
