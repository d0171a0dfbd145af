"""Which parts a bundle was asked for: a part that was not is NotCollected, never empty."""

import json

import pytest

from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.files import BundleLimits, Source
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.errors import Forbidden, InvalidBundle, ReadError, TimedOut
from migrations_app.inventory.objects.karpenter import ServedResource
from tests.clients.bundle.objects import Doc, as_json, crd, listed, node, pod, pool

PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
POOLS = Resource("karpenter.sh", "v1", "nodepools")
PDBS = Resource("policy", "v1", "poddisruptionbudgets")


def names(api: Bundle, resource: Resource) -> list[str]:
    return [json.loads(bytes(item))["metadata"]["name"] for page in api.pages(resource) for item in page.items]


def files(*docs: Doc, **more: bytes) -> dict[str, bytes]:
    return {"objects.json": as_json(listed(*docs))} | {name.replace("__", "."): body for name, body in more.items()}


def refusal(source: Source, limits: BundleLimits | None = None) -> tuple[str, str]:
    with pytest.raises(InvalidBundle) as caught:
        open_bundle(source, limits=limits)
    return caught.value.code, caught.value.where


def reason(api: Bundle, resource: Resource) -> str:
    try:
        return f"{len(names(api, resource))} seen"
    except ReadError as why:
        return f"{type(why).__name__} {why.code}"


def test_a_dump_with_nodes_and_pods_is_the_whole_cluster() -> None:
    api = open_bundle(files(node(), pod()))
    provisioners = Resource("karpenter.sh", "v1alpha5", "provisioners")
    assert [reason(api, each) for each in (PODS, PDBS, POOLS, provisioners)] == [
        "1 seen",
        "0 seen",
        "NotCollected not_asked",
        "NotCollected not_asked",
    ]


ALWAYS_SOME = [Resource("", "v1", "services"), Resource("", "v1", "endpoints"), Resource("apps", "v1", "deployments")]


@pytest.mark.parametrize("resource", ALWAYS_SOME, ids=lambda one: one.plural)
def test_what_every_cluster_has_was_left_out_of_a_dump_without_any(resource) -> None:
    assert reason(open_bundle(files(node(), pod())), resource) == "NotCollected not_asked"


def test_karpenters_kinds_are_dumped_together_or_not_at_all() -> None:
    nodepools = crd("NodePool", "nodepools", "karpenter.sh", "v1beta1", "v1")
    machines = crd("Machine", "machines", "karpenter.sh", "v1alpha5")
    asked = (
        POOLS,
        Resource("karpenter.sh", "v1alpha5", "machines"),
        Resource("karpenter.sh", "v1alpha5", "provisioners"),
    )
    none = open_bundle(files(node(), pod(), nodepools, machines))
    assert [reason(none, each) for each in asked] == ["NotCollected not_asked"] * 3
    some = open_bundle(files(node(), pod(), nodepools, machines, pool()))
    assert [reason(some, each) for each in asked] == ["1 seen", "0 seen", "NotServed not_served"]
    undescribed = open_bundle(files(node(), pod(), pool()))
    assert [reason(undescribed, each) for each in asked] == [
        "1 seen",
        "NotCollected not_asked",
        "NotCollected not_asked",
    ]


def test_a_crd_in_a_whole_dump_shows_that_its_kind_is_served() -> None:
    api = open_bundle(files(node(), pod(), crd("NodePool", "nodepools", "karpenter.sh", "v1beta1", "v1")))
    assert [(each.plural, each.version) for each in api.served().resources if each.group == "karpenter.sh"] == [
        ("nodepools", "v1"),
        ("nodepools", "v1beta1"),
    ]


def test_a_crd_that_was_not_accepted_serves_nothing() -> None:
    refused = crd("NodePool", "nodepools", "karpenter.sh", "v1") | {
        "status": {
            "conditions": [
                {"type": "NamesAccepted", "status": "False", "reason": "PluralConflict"},
                {"type": "Established", "status": "False", "reason": "NotAccepted"},
            ]
        }
    }
    api = open_bundle(files(node(), pod(), refused))
    assert [each.plural for each in api.served().resources if each.group == "karpenter.sh"] == []


def test_secrets_are_not_taken_for_absent_because_a_dump_left_them_out() -> None:
    api = open_bundle(files(node(), pod()))
    assert reason(api, Resource("", "v1", "secrets", "karpenter", "owner=helm")) == "NotCollected not_asked"


@pytest.mark.parametrize("docs", [[pool()], [pod(), pool()], [node(), pool()]])
def test_a_folder_of_some_manifests_tells_only_of_their_kinds(docs: list[Doc]) -> None:
    api = open_bundle(files(*docs))
    assert reason(api, POOLS) == "1 seen"
    assert reason(api, PDBS) == "NotCollected not_asked"


def test_an_empty_typed_list_was_asked_for() -> None:
    api = open_bundle(
        files(pool(), pdbs__json=as_json(listed(kind="PodDisruptionBudgetList", api_version="policy/v1")))
    )
    assert reason(api, PDBS) == "0 seen"
    assert reason(api, PODS) == "NotCollected not_asked"


MANIFEST = {
    "schema": "karpdash/bundle/v1",
    "made_at": "2026-01-02T03:04:05Z",
    "asked": [
        {"group": "", "plural": "pods", "count": 2},
        {"group": "karpenter.sh", "plural": "nodepools", "seen": False, "why": "forbidden", "detail": "may not list"},
        {"group": "policy", "plural": "poddisruptionbudgets", "seen": False, "why": "timeout"},
        {"group": "", "plural": "nodes", "seen": False, "why": "not_served"},
        {"group": "apps", "plural": "deployments", "seen": False, "why": "made_up"},
        {"group": "", "plural": "configmaps", "namespace": "kube-system", "field_selector": "metadata.name=a"},
        {"group": "", "plural": "secrets", "seen": False, "why": "forbidden", "namespace": "a"},
        {"group": "", "plural": "secrets", "label_selector": "owner=helm", "namespace": "b"},
    ],
}


def test_a_manifest_tells_what_was_seen_and_why_not() -> None:
    api = open_bundle(files(node(), pod(), manifest__json=as_json(MANIFEST)))
    machines = Resource("karpenter.sh", "v1alpha5", "machines")
    asked = [PODS, POOLS, PDBS, NODES, Resource("apps", "v1", "deployments"), machines]
    assert [reason(api, each) for each in asked] == [
        "1 seen",
        "Forbidden forbidden",
        "TimedOut timeout",
        "NotServed not_served",
        "ReadError made_up",
        "NotCollected not_asked",
    ]
    assert api.clock().server_date == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("resource", "answer"),
    [
        (Resource("", "v1", "configmaps", "kube-system", field_selector="metadata.name=a"), "0 seen"),
        (Resource("", "v1", "configmaps", "kube-system"), "NotCollected not_asked"),
        (Resource("", "v1", "configmaps", "other", field_selector="metadata.name=a"), "NotCollected not_asked"),
        (Resource("", "v1", "pods", "kube-system", "a=b", "c=d"), "0 seen"),
        (Resource("", "v1", "secrets", "a", "owner=helm"), "Forbidden forbidden"),
        (Resource("", "v1", "secrets", "b", "owner=helm"), "0 seen"),
        (Resource("", "v1", "secrets", "b"), "NotCollected not_asked"),
        (Resource("", "v1", "secrets"), "NotCollected not_asked"),
    ],
)
def test_a_list_is_told_from_a_wider_one_never_from_a_narrower_one(resource: Resource, answer: str) -> None:
    assert reason(open_bundle(files(manifest__json=as_json(MANIFEST))), resource) == answer


def test_a_manifest_may_speak_of_the_whole_cluster_with_exceptions() -> None:
    whole = MANIFEST | {"whole": True, "asked": MANIFEST["asked"][1:2]}
    api = open_bundle(files(node(), manifest__json=as_json(whole)))
    asked = (PODS, POOLS, Resource("", "v1", "secrets", "x"))
    assert [reason(api, each) for each in asked] == ["0 seen", "Forbidden forbidden", "0 seen"]


def test_a_manifest_tells_discovery() -> None:
    row = ServedResource(group="g", version="v1", plural="xs", kind="X", namespaced=True)
    said = {"group": "g", "version": "v1", "plural": "xs", "kind": "X", "namespaced": True}
    told = MANIFEST | {"served": [said], "failed": {"m/v1": "server_failed"}}
    served = open_bundle(files(manifest__json=as_json(told))).served()
    assert (served.resources, served.failed) == ((row,), {"m/v1": "server_failed"})


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"{", b'{"schema": "karpdash/bundle/v9"}', b'{"schema": 5}', b"[" * 200_000]
)
def test_a_manifest_that_is_none_is_refused(body: bytes) -> None:
    assert refusal(files(manifest__json=body)) == ("bad_manifest_file", "manifest.json")


def test_errors_of_a_bundle_are_those_of_a_cluster() -> None:
    api = open_bundle(files(manifest__json=as_json(MANIFEST)))
    with pytest.raises(Forbidden) as caught:
        names(api, POOLS)
    assert caught.value.message == "may not list"
    with pytest.raises(TimedOut) as late:
        names(api, PDBS)
    assert late.value.message == "could not be read when the bundle was made"


@pytest.mark.parametrize(
    ("beats", "told"),
    [
        (("2026-09-28T10:00:00Z", "2026-09-28T10:04:00Z", None), "2026-09-28T10:04:00Z"),
        ((None,), None),
        (("soon", "9999"), None),
    ],
)
def test_without_a_manifest_the_last_sign_of_life_of_the_nodes_tells_the_time(beats, told) -> None:
    nodes = []
    for place, beat in enumerate(beats):
        made = node(f"node-{place}")
        made["status"] = {"conditions": [{"type": "Ready", "lastHeartbeatTime": beat}]}
        nodes.append(made)
    odd = node("odd") | {"status": {"conditions": 3}}
    assert open_bundle(files(*nodes, odd, pod())).clock().server_date == told
