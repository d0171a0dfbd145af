"""K10-K12: lists page by page, under one version, with an end."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from migrations_app.clients.kubernetes.api import ListPage, Resource
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.reader import LiveApi, open_live
from migrations_app.errors import (
    Expired,
    Forbidden,
    InvalidResponse,
    NotServed,
    ReadError,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.inventory.parse import read_items
from tests.clients.kubernetes.rig import FAST, HERE, PATIENT, connection
from tests.fakes.evilk8s import EvilServer, Request, Script, Wire
from tests.servers.waiting import AT_ONCE

PODS = Resource("", "v1", "pods", page_size=2)


@contextmanager
def live(script: Script, *, limits: ClientLimits = PATIENT) -> Iterator[tuple[LiveApi, EvilServer]]:
    with EvilServer(script) as evil:
        api = open_live(connection(evil), reach=HERE, limits=limits)
        yield api, evil
        api.close()


def page(*names: str, token: str = "", version: str = "7", **more: Any) -> bytes:
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    items = [{"metadata": {"name": name}} for name in names]
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items} | more).encode()


def book(*pages: bytes) -> Script:
    """Serves the pages by their number, which is their continue token too."""

    def script(request: Request, wire: Wire) -> None:
        wire.answer(pages[int(request.query.get("continue", "0"))])

    return script


def names(pages: Iterator[ListPage]) -> list[str]:
    return [json.loads(bytes(item))["metadata"]["name"] for page in pages for item in page.items]


def how_it_ends(
    script: Script, *, limits: ClientLimits = FAST, resource: Resource = PODS
) -> tuple[type[ReadError], str]:
    started = time.monotonic()
    with live(script, limits=limits) as (api, _), pytest.raises(ReadError) as caught:
        list(api.pages(resource))
    assert time.monotonic() - started < limits.scan_seconds + AT_ONCE
    return type(caught.value), caught.value.code


def test_all_pages_are_read_in_order() -> None:
    with live(book(page("a", "b", token="1"), page("c", "d", token="2"), page("e"))) as (api, evil):
        found = list(api.pages(PODS))
    assert names(iter(found)) == ["a", "b", "c", "d", "e"]
    assert [(each.resource_version, each.kind) for each in found] == [("7", "PodList")] * 3
    assert [request.query for request in evil.requests] == [
        {"limit": "2"},
        {"limit": "2", "continue": "1"},
        {"limit": "2", "continue": "2"},
    ]


def test_a_list_is_asked_for_in_500s_and_never_from_a_cache() -> None:  # K10
    with live(book(page())) as (api, evil):
        assert names(api.pages(Resource("", "v1", "pods", "shop", "a=b", "c=d"))) == []
    assert evil.requests[0].path == "/api/v1/namespaces/shop/pods"
    assert evil.requests[0].query == {"limit": "500", "labelSelector": "a=b", "fieldSelector": "c=d"}


def test_null_items_are_an_empty_list() -> None:
    with live(book(b'{"kind": "PodList", "items": null}')) as (api, _):
        assert [found.items for found in api.pages(PODS)] == [[]]


def test_a_repeated_token_ends_the_list() -> None:  # K10
    assert how_it_ends(book(page("a", token="0"), page("b"))) == (InvalidResponse, "endless_list")


@pytest.mark.parametrize(
    "told",
    [{"kind": "NodeList"}, {"kind": "Pod"}, {"apiVersion": "v2"}, {"metadata": {"remainingItemCount": 3}}],
    ids=["another kind", "one object", "another version", "more remain"],
)
def test_what_is_not_the_whole_list_that_was_asked_for_is_no_list(told: dict[str, Any]) -> None:  # K18
    assert how_it_ends(book(page("a", **told))) == (InvalidResponse, "garbled")


@pytest.mark.parametrize("second", [("a", "b"), ("b", "c"), ("c", "a")], ids=["a page", "its end", "its beginning"])
def test_objects_that_come_again_end_the_list(second: tuple[str, ...]) -> None:  # K10
    assert how_it_ends(book(page("a", "b", token="1"), page(*second))) == (InvalidResponse, "listed_twice")


def test_what_came_before_it_was_asked_for_is_no_answer() -> None:
    def whole(body: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def script(_: Request, wire: Wire) -> None:
        first = len(evil.requests) == 1
        wire.raw(whole(page("first")) + whole(page("forged" * 9)) * 40 if first else whole(page("second")))

    with live(script) as (api, evil):
        assert [names(api.pages(PODS)) for _ in range(2)] == [["first"], ["second"]]


def test_ever_new_tokens_end_after_so_many_pages() -> None:  # K10, T06
    def script(request: Request, wire: Wire) -> None:
        number = int(request.query.get("continue", "0"))
        wire.answer(page(f"a-{number}", token=str(number + 1)))

    limits = ClientLimits(pages=50)
    with live(script, limits=limits) as (api, evil), pytest.raises(InvalidResponse) as caught:
        list(api.pages(PODS))
    assert (caught.value.code, len(evil.requests)) == ("endless_list", 50)


def test_a_version_that_changes_between_pages_expires_the_list() -> None:  # K11
    assert how_it_ends(book(page("a", token="1"), page("b", version="8"))) == (Expired, "expired")


def test_a_token_that_the_server_forgot_expires_the_list() -> None:  # K11, R14
    def script(request: Request, wire: Wire) -> None:
        if "continue" in request.query:
            body = {"kind": "Status", "code": 410, "metadata": {"continue": "inconsistent"}}
            wire.answer(json.dumps(body).encode(), status="410 Gone")
        else:
            wire.answer(page("a", token="1"))

    assert how_it_ends(script) == (Expired, "expired")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"items": {}}',
        b'{"items": [',
        b'{"kind": "Status"}',
        b'{"items": [1], "metadata": {"continue": 5}}',
        b"\x00\x01\x02",
        b'{"items": [' + b"[" * 200_000,
        b"[" * 200_000,
        b"\xff\xfe{}",
        b"<html></html>",
    ],
    ids=lambda body: str(body[:24]),
)
def test_a_body_that_is_no_list_is_garbled(body: bytes) -> None:  # K18
    assert how_it_ends(book(body)) == (InvalidResponse, "garbled")


@pytest.mark.parametrize(
    "item",
    [
        b"1",
        b"null",
        b'"text"',
        b'{"metadata": 5}',
        b'{"metadata": {"name": "a\\u0000b"}}',
        b'{"metadata": {"name": "\\ud800"}}',
        b'{"metadata": {"name": "' + b"x" * 5_000_000 + b'"}}',
        b'{"a": 1e999}',
        b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a": "]}, \\"\\\\", "b": "\\udfff"}',
        b'{"metadata": {"name": "\xff"}}',
    ],
    ids=lambda item: str(item[:24]),
)
def test_an_odd_object_comes_through_with_the_others(item: bytes) -> None:  # K12
    body = b'{"kind": "PodList", "items": [{"metadata": {"name": "a"}}, ' + item + b"]}"
    with live(book(body)) as (api, _):
        found = [bytes(each) for page in api.pages(PODS) for each in page.items]
    assert found == [b'{"metadata": {"name": "a"}}', item]


def test_an_object_nested_too_deep_is_set_aside_alone() -> None:  # K12
    deep = b'{"metadata": {"name": "deep"}, "spec": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    body = b'{"kind": "PodList", "items": [' + deep + b', {"metadata": {"name": "good"}}]}'
    with live(book(body)) as (api, _):
        (found,) = api.pages(PODS)
    good, bad = read_items(found.items, NodePool)
    assert ([each.name for each in good], [each.kind for each in bad]) == (["good"], ["NodePool"])


@pytest.mark.parametrize(
    ("status", "kind"),
    [("403 No", Forbidden), ("404 No", NotServed), ("500 No", ServerFailed), ("504 No", TimedOut)],
)
def test_a_refused_list_says_why(status: str, kind: type[ReadError]) -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.answer(b"{}", status=status)

    assert how_it_ends(script)[0] is kind


def test_the_rule_in_a_refusal_is_that_of_a_list() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.answer(b"{}", status="403 No")

    with live(script) as (api, _), pytest.raises(Forbidden) as caught:
        list(api.pages(Resource("karpenter.sh", "v1beta1", "nodepools")))
    rule = '{apiGroups: ["karpenter.sh"], resources: ["nodepools"], verbs: ["list"]}'
    assert caught.value.message == f"may not list nodepools.karpenter.sh; missing rule: {rule}"


def test_a_server_that_dies_in_a_list_is_unreachable() -> None:
    def script(request: Request, wire: Wire) -> None:
        if "continue" in request.query:
            wire.cut()
        else:
            wire.answer(page("a", token="1"))

    assert how_it_ends(script) == (Unreachable, "cut")


def test_the_clock_tells_what_was_read() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.answer(page("a"), Date="Fri, 02 Jan 2026 04:04:05 +0100")

    with live(script) as (api, _):
        list(api.pages(PODS))
        clock = api.clock()
    assert (clock.server_date, clock.requests, clock.bytes_read) == ("2026-01-02T03:04:05Z", 1, len(page("a")))


@pytest.mark.parametrize("date", ["", "yesterday", "Fri, 99 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 999999 03:04:05 GMT"])
def test_a_date_that_is_none_is_ignored(date: str) -> None:  # K18
    with live(lambda _, wire: wire.answer(page("a"), Date=date)) as (api, _):
        list(api.pages(PODS))
        assert api.clock().server_date is None


# Access reviews.


@pytest.mark.parametrize(("answer", "allowed"), [(b'{"status": {"allowed": true}}', True), (b"{}", False)])
def test_an_access_review_is_asked_of_the_server(answer: bytes, allowed: bool) -> None:
    with live(lambda _, wire: wire.answer(answer, status="201 Created")) as (api, evil):
        assert api.access_review("list", group="karpenter.sh", plural="nodepools") is allowed
    sent = json.loads(evil.requests[0].body)
    assert evil.requests[0].path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert sent["spec"] == {"resourceAttributes": {"verb": "list", "group": "karpenter.sh", "resource": "nodepools"}}


def test_an_access_review_that_is_none_is_garbled() -> None:
    with live(lambda _, wire: wire.answer(b"[]")) as (api, _), pytest.raises(InvalidResponse):
        api.access_review("list", group="", plural="pods", namespace="shop")


# Discovery.


def discovery(**bodies: Any) -> Script:
    """Serves JSON by path, with __ for a slash; a number is a status."""
    by_path = {"/" + path.replace("__", "/").replace("_k8s_io", ".k8s.io"): body for path, body in bodies.items()}

    def script(request: Request, wire: Wire) -> None:
        found = by_path.get(request.path, 404)
        if isinstance(found, int):
            wire.answer(b"{}", status=f"{found} No")
        else:
            wire.answer(json.dumps(found).encode())

    return script


def resources(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIResourceList", "resources": list(rows)}


def row(name: str, kind: str, *, verbs: tuple[str, ...] = ("get", "list"), namespaced: bool = False) -> dict[str, Any]:
    return {"name": name, "kind": kind, "namespaced": namespaced, "verbs": list(verbs)}


OLD = {
    "apis": {
        "kind": "APIGroupList",
        "groups": [
            {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]},
            {"name": "metrics.k8s.io", "versions": [{"groupVersion": "metrics.k8s.io/v1beta1", "version": "v1beta1"}]},
        ],
    },
    "api__v1": resources(row("nodes", "Node"), row("pods", "Pod", namespaced=True), row("pods/log", "Pod")),
    "apis__apps__v1": resources(row("deployments", "Deployment", namespaced=True), row("x", "X", verbs=("create",))),
    "apis__metrics_k8s_io__v1beta1": 503,
}


def test_discovery_of_an_old_server_goes_group_by_group() -> None:
    with live(discovery(**OLD)) as (api, _):
        found = api.served()
    assert [(each.group, each.version, each.plural, each.kind, each.namespaced) for each in found.resources] == [
        ("", "v1", "nodes", "Node", False),
        ("", "v1", "pods", "Pod", True),
        ("apps", "v1", "deployments", "Deployment", True),
    ]
    assert found.failed == {"metrics.k8s.io/v1beta1": "server_failed"}  # R16


def new(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(groups)}


def group(name: str, version: str, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "versions": [{"version": version, "resources": list(rows)} | more]}


def new_row(plural: str, kind: str, *, scope: str = "Cluster") -> dict[str, Any]:
    said = {"group": "", "version": "", "kind": kind}
    return {"resource": plural, "responseKind": said, "scope": scope, "verbs": ["get", "list"]}


def test_discovery_of_a_new_server_takes_two_questions() -> None:
    bodies = {
        "api": new(group("", "v1", new_row("pods", "Pod", scope="Namespaced"))),
        "apis": new(
            group("karpenter.sh", "v1", new_row("nodepools", "NodePool")),
            group("metrics.k8s.io", "v1beta1", freshness="Stale"),
        ),
    }
    with live(discovery(**bodies)) as (api, evil):
        found = api.served()
    assert [(each.group, each.version, each.plural, each.kind, each.namespaced) for each in found.resources] == [
        ("", "v1", "pods", "Pod", True),
        ("karpenter.sh", "v1", "nodepools", "NodePool", False),
    ]
    assert found.failed == {"metrics.k8s.io/v1beta1": "server_failed"}
    assert [request.path for request in evil.requests] == ["/apis", "/api"]


def test_discovery_that_is_refused_says_why() -> None:
    with live(discovery(apis=403)) as (api, _), pytest.raises(Forbidden):
        api.served()


@pytest.mark.parametrize("body", ["text", [], {"groups": 5}, {"groups": [{"versions": [{"version": 5}]}]}])
def test_discovery_that_is_none_is_garbled(body: object) -> None:
    with live(discovery(apis=body)) as (api, _), pytest.raises(InvalidResponse):
        api.served()


def test_more_groups_than_there_can_be_are_garbled() -> None:  # T06
    many = {"kind": "APIGroupList", "groups": [{"name": f"g{n}", "versions": [{"version": "v1"}]} for n in range(1001)]}
    with live(discovery(apis=many)) as (api, evil), pytest.raises(InvalidResponse):
        api.served()
    assert len(evil.requests) == 1


def test_a_hostile_group_name_sends_no_request() -> None:  # K13
    named = {"kind": "APIGroupList", "groups": [{"name": "../../api/v1/secrets", "versions": [{"version": "v1"}]}]}
    with live(discovery(apis=named, api__v1=resources())) as (api, evil):
        found = api.served()
    assert found.failed == {"../../api/v1/secrets/v1": "bad_path"}
    assert [request.path for request in evil.requests] == ["/apis", "/api/v1"]
