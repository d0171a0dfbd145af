"""What goes with its owner, by the rules of the garbage collector: no API server of the tests has one."""

from typing import Any

import pytest

from migrations_app.twin.server import Twin
from tests.twin.moments import NOON, at

SPACE = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def twin() -> Twin:
    return Twin(at(NOON))


def made(twin: Twin, name: str, *owners: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """A ConfigMap with these owners."""
    body = {"metadata": {"name": name, "ownerReferences": list(owners)} | metadata}
    answer = twin.request("POST", SPACE, body=body)
    assert answer.status == 201, answer.document
    return answer.document


def owner(one: dict[str, Any], *, blocks: bool = True, kind: str = "ConfigMap", api: str = "v1") -> dict[str, Any]:
    metadata = one["metadata"]
    return {
        "apiVersion": api,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
    }


def deleted(twin: Twin, name: str, policy: str = "Background") -> None:
    answer = twin.request("DELETE", f"{SPACE}/{name}", body={"propagationPolicy": policy})
    assert answer.status == 200, answer.document


def names(twin: Twin) -> list[str]:
    return [one["metadata"]["name"] for one in twin.request("GET", SPACE).document["items"]]


def test_dependents_go_with_their_owner_and_theirs_with_them(twin):
    first = made(twin, "first")
    second = made(twin, "second", owner(first))
    made(twin, "third", owner(second))
    made(twin, "other")
    deleted(twin, "first")
    assert names(twin) == ["other"]


def test_an_object_with_another_owner_stays_and_forgets_the_absent_one(twin):
    first, second = made(twin, "first"), made(twin, "second")
    made(twin, "shared", owner(first), owner(second))
    deleted(twin, "first")
    left = twin.request("GET", f"{SPACE}/shared").document
    assert left["metadata"]["ownerReferences"] == [owner(second)]
    deleted(twin, "second")
    assert names(twin) == []


def test_an_owner_in_the_foreground_waits_for_dependents_that_block_it(twin):
    first = made(twin, "first")
    made(twin, "held", owner(first), finalizers=["test.example/hold"])
    deleted(twin, "first", "Foreground")
    waiting = twin.request("GET", f"{SPACE}/first").document["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in twin.request("GET", f"{SPACE}/held").document["metadata"]
    patch = {"metadata": {"finalizers": None}}
    twin.request("PATCH", f"{SPACE}/held", body=patch, content_type="application/merge-patch+json")
    assert names(twin) == []


def test_an_owner_in_the_foreground_waits_for_nobody_else(twin):
    first = made(twin, "first")
    made(twin, "held", owner(first, blocks=False), finalizers=["test.example/hold"])
    deleted(twin, "first", "Foreground")
    assert names(twin) == ["held"]


def test_orphans_lose_the_reference_and_stay(twin):
    first = made(twin, "first")
    made(twin, "second", owner(first))
    deleted(twin, "first", "Orphan")
    assert names(twin) == ["second"]
    assert "ownerReferences" not in twin.request("GET", f"{SPACE}/second").document["metadata"]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_owners_in_a_circle_end(twin, policy):
    first = made(twin, "first")
    second = made(twin, "second", owner(first))
    patch = {"metadata": {"ownerReferences": [owner(second)]}}
    twin.request("PATCH", f"{SPACE}/first", body=patch, content_type="application/merge-patch+json")
    deleted(twin, "first", policy)
    assert names(twin) == []


def test_an_object_whose_owner_was_made_again_under_the_name_goes(twin):
    first = made(twin, "first")
    deleted(twin, "first")
    made(twin, "first")
    made(twin, "late", owner(first))
    assert names(twin) == ["first"]


def test_owners_of_a_kind_that_was_never_read_are_not_taken_for_absent(twin):
    made(twin, "one", owner({"metadata": {"name": "set", "uid": "u"}}, kind="ReplicaSet", api="apps/v1"))
    made(twin, "two", owner({"metadata": {"name": "odd", "uid": "u"}}, kind="Odd", api="odd.example/v1"))
    assert names(twin) == ["one", "two"]


def test_without_a_collector_nothing_goes(twin):
    twin = Twin(at(NOON), collects=False)
    first = made(twin, "first")
    made(twin, "second", owner(first))
    deleted(twin, "first")
    assert names(twin) == ["second"]


def test_a_dependent_that_a_webhook_holds_goes_when_the_webhook_answers(twin):
    first = made(twin, "first")
    made(twin, "second", owner(first))
    twin.request("POST", WEBHOOKS, body=configuration("DELETE"))
    twin.down.add("guard/guard")
    answer = twin.request("DELETE", f"{SPACE}/first")
    assert (answer.status, answer.document["reason"]) == (500, "InternalError")
    twin.down.clear()
    deleted(twin, "first")
    assert names(twin) == []


WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def configuration(*operations: str, policy: str = "Fail") -> dict[str, Any]:
    """A webhook that has to admit these operations on ConfigMaps."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": list(operations)}
    client = {"service": {"name": "guard", "namespace": "guard"}}
    webhook = {"name": "guard.test.example", "clientConfig": client, "rules": [rule], "failurePolicy": policy}
    return {"metadata": {"name": "guard"}, "webhooks": [webhook]}


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
def test_a_webhook_that_is_down_refuses_as_configured(twin, policy, status):
    twin.request("POST", WEBHOOKS, body=configuration("CREATE", policy=policy))
    twin.down.add("guard/guard")
    answer = twin.request("POST", SPACE, body={"metadata": {"name": "new"}})
    assert answer.status == status
    assert twin.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "shop"}}).status == 201
