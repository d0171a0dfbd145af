"""Requests of every kind: nothing that is sent makes the twin crash, and what it answers is never half done."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import ServerFailed
from migrations_app.twin.ports.controllers import TwinChanges, TwinControllers
from migrations_app.twin.server import Twin
from tests.twin.gadgets import definition, gadget, path
from tests.twin.moments import NOON, at

PODS, BUDGETS = "/api/v1/namespaces/default/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SPACE = "/api/v1/namespaces/default/configmaps"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def twin() -> Twin:
    return Twin(at(NOON))


def pod(name: str, **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "web", "image": "web:1"}], "nodeName": "node"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "status", "name", "labels", "kind", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
_objects = st.dictionaries(st.sampled_from(["spec", "status", "data", "apiVersion", "kind"]), _json, max_size=3)
_metadata = st.dictionaries(
    st.sampled_from(["labels", "finalizers", "ownerReferences", "annotations", "uid"]), _json, max_size=2
)
_bodies = _json | st.builds(lambda body, one: body | {"metadata": {"name": "one"} | one}, _objects, _metadata)
_paths = st.sampled_from(
    [
        *(SPACE, f"{SPACE}/one", PODS, f"{PODS}/one", f"{PODS}/one/eviction", f"{PODS}/one/binding"),
        *(f"{PODS}/one/status", DEFINITIONS, f"{DEFINITIONS}/gadgets.twin.example", path(), path("one"), BUDGETS),
        *("/api/v1/namespaces/default", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/api/v1/nodes"),
        *("/apis", "/version", "/odd", "/", "", "/api/v1/nodes/one/x/y"),
    ]
)
_types = st.sampled_from([MERGE, APPLY, "application/json-patch+json", "application/json", "text/plain"])
_queries = st.dictionaries(
    st.sampled_from(
        ["limit", "continue", "labelSelector", "fieldSelector", "dryRun", "fieldManager", "watch", "force"]
    ),
    st.sampled_from(["All", "1", "true", "a=b", "a in (", "!", "x"]) | st.text(max_size=4),
    max_size=3,
)
_methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])


@given(st.lists(st.tuples(_methods, _paths, _bodies, _types, _queries), max_size=6))
def test_nothing_that_is_sent_makes_it_crash(requests):
    twin = Twin(at(NOON))
    twin.request("POST", DEFINITIONS, body=definition())
    twin.request("POST", SPACE, body={"metadata": {"name": "one"}})
    twin.request("POST", PODS, body=pod("one"))
    for method, where, body, content_type, query in requests:
        answer = twin.request(method, where, body=body, content_type=content_type, query=query)
        assert 200 <= answer.status <= 500
        assert answer.status < 400 or answer.document["kind"] == "Status"
    assert twin.request("GET", SPACE).status == 200


def test_a_budget_lets_go_as_many_pods_as_it_allows(twin):
    for name in ("one", "two", "three"):
        twin.request("POST", PODS, body=pod(name, app="web"))
        twin.request("PATCH", f"{PODS}/{name}/status", body={"status": {"phase": "Running"}}, content_type=MERGE)
    body = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    twin.request("POST", BUDGETS, body=body)
    status = {"observedGeneration": 1, "disruptionsAllowed": 2, "desiredHealthy": 1, "currentHealthy": 3}
    twin.request("PATCH", f"{BUDGETS}/web/status", body={"status": status}, content_type=MERGE)
    client = TwinControllers(twin)
    assert [client.evict(one) for one in client.items(PODS) or ()] == [True, True, False]
    left = twin.request("GET", f"{BUDGETS}/web").document["status"]
    assert (left["disruptionsAllowed"], sorted(left["disruptedPods"])) == (0, ["one", "three"])


def test_of_two_budgets_for_one_pod_neither_is_asked(twin):
    twin.request("POST", PODS, body=pod("one", app="web"))
    twin.request("PATCH", f"{PODS}/one/status", body={"status": {"phase": "Running"}}, content_type=MERGE)
    for name in ("first", "second"):
        body = {"metadata": {"name": name}, "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "web"}}}}
        twin.request("POST", BUDGETS, body=body)
    answer = twin.request("POST", f"{PODS}/one/eviction", body={"metadata": {"name": "one"}})
    assert answer.status == 500


@pytest.mark.parametrize(("version", "status"), [("v1", 429), ("v1beta1", 201)])
def test_an_empty_selector_holds_every_pod_in_v1_and_none_in_v1beta1(version, status):
    twin = Twin(at(NOON), minor=24 if version == "v1" else 20)
    twin.request("POST", PODS, body=pod("one", app="web"))
    twin.request("PATCH", f"{PODS}/one/status", body={"status": {"phase": "Running"}}, content_type=MERGE)
    where = f"/apis/policy/{version}/namespaces/default/poddisruptionbudgets"
    twin.request("POST", where, body={"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {}}})
    assert twin.request("POST", f"{PODS}/one/eviction", body={"metadata": {"name": "one"}}).status == status


def test_a_pod_on_a_node_has_its_grace_period(twin):
    made = twin.request("POST", PODS, body=pod("one")).document
    gone = twin.request("DELETE", f"{PODS}/one").document["metadata"]
    assert (gone["deletionTimestamp"], gone["deletionGracePeriodSeconds"]) == ("2026-10-01T12:00:30Z", 30)
    client = TwinControllers(twin)
    assert client.delete(f"{PODS}/one", uid=made["metadata"]["uid"], more={"gracePeriodSeconds": 0})
    assert client.items(PODS) == []


def test_a_namespace_that_ends_takes_nothing_new(twin):
    twin.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "shop"}})
    twin.request("DELETE", "/api/v1/namespaces/shop")
    answer = twin.request("POST", "/api/v1/namespaces/shop/configmaps", body={"metadata": {"name": "late"}})
    assert (answer.status, answer.document["reason"]) == (403, "Forbidden")
    assert twin.request("GET", "/api/v1/namespaces/shop").document["status"] == {"phase": "Terminating"}


def test_the_time_is_that_of_the_clock():
    clock = at(NOON)
    twin = Twin(clock)
    clock.passes(3600)
    made = twin.request("POST", SPACE, body={"metadata": {"name": "one"}}).document["metadata"]
    assert made["creationTimestamp"] == "2026-10-01T13:00:00Z"
    clock.passes(-7200)
    again = twin.request("POST", SPACE, body={"metadata": {"name": "two"}}).document["metadata"]
    assert again["creationTimestamp"] == "2026-10-01T11:00:00Z", "time that runs back is told as it is"


def test_the_same_requests_make_the_same_objects():
    first, second = (Twin(at(NOON), seed="a") for _ in range(2))
    told = [one.request("POST", SPACE, body={"metadata": {"generateName": "x-"}}).document for one in (first, second)]
    assert told[0] == told[1]
    assert Twin(at(NOON), seed="b").request("POST", SPACE, body={"metadata": {"name": "x"}}).document != told[0]


def test_controllers_take_a_lost_race_for_no_error(twin):
    client = TwinControllers(twin)
    made = client.create(SPACE, {"metadata": {"name": "one"}})
    assert made is not None
    assert client.create(SPACE, {"metadata": {"name": "one"}}) is None
    assert client.patch(f"{SPACE}/two", {"data": {"a": "b"}}) is None
    assert not client.delete(f"{SPACE}/one", uid="another")
    assert client.items("/apis/odd.example/v1/odds") is None
    assert client.writes == 1
    with pytest.raises(ServerFailed, match="422"):
        client.create(SPACE, {"metadata": {"name": "Bad_Name"}})


def test_the_last_finalizer_takes_the_object_with_it(twin):
    client = TwinControllers(twin)
    client.create(SPACE, {"metadata": {"name": "one", "finalizers": ["test.example/a", "test.example/b"]}})
    (made,) = client.items(SPACE) or ()
    assert client.delete(f"{SPACE}/one", uid=made["metadata"]["uid"])
    for finalizer, left in (("test.example/a", ["test.example/b"]), ("test.example/b", None)):
        (held,) = client.items(SPACE) or ()
        assert client.drop_finalizer(f"{SPACE}/one", held, finalizer=finalizer)
        found = twin.request("GET", f"{SPACE}/one")
        assert found.document["metadata"].get("finalizers") == left
    assert found.status == 404
    assert not client.drop_finalizer(f"{SPACE}/one", held, finalizer="test.example/b")


def test_controllers_may_change_what_they_were_given(twin):
    client = TwinControllers(twin)
    client.create(PODS, pod("one"))
    (found,) = client.items(PODS) or ()
    found["spec"]["nodeName"] = "other"
    found["metadata"]["labels"] = {}
    found["status"] = {}
    stored = twin.request("GET", f"{PODS}/one").document
    assert (stored["spec"]["nodeName"], stored["status"]["phase"]) == ("node", "Pending")


def test_changes_are_told_once_and_of_several_the_last(twin):
    twin.request("POST", SPACE, body={"metadata": {"name": "old"}})
    changes = TwinChanges(twin)
    assert [(one.document["metadata"]["name"], one.gone) for one in changes.read([SPACE])] == [("old", False)]
    for value in ("1", "2"):
        twin.request("PATCH", f"{SPACE}/old", body={"data": {"a": value}}, content_type=MERGE)
    twin.request("POST", SPACE, body={"metadata": {"name": "new"}})
    twin.request("DELETE", f"{SPACE}/new")
    told = [(one.document["metadata"]["name"], one.document.get("data"), one.gone) for one in changes.read([SPACE])]
    assert told == [("old", {"a": "2"}, False), ("new", None, True)]
    assert [*changes.read([SPACE])] == []
    assert [*changes.read([path()])] == []
    assert changes.unserved == {path()}
    twin.request("POST", DEFINITIONS, body=definition())
    twin.request("POST", path(), body=gadget("one"))
    assert [one.document["metadata"]["name"] for one in changes.read([path()])] == ["one"]
    assert changes.unserved == set()
    changes.restart()
    assert [one.document["metadata"]["name"] for one in changes.read([SPACE])] == ["old"]


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_the_pages_of_a_list_show_the_state_of_the_first(twin, pages):
    for number in range(6):
        twin.request("POST", SPACE, body={"metadata": {"name": f"n{number}"}})
    names: list[str] = []
    query = {"limit": str(6 // pages)}
    while True:
        document = twin.request("GET", SPACE, query=query).document
        names += [one["metadata"]["name"] for one in document["items"]]
        twin.request("DELETE", f"{SPACE}/n5")
        twin.request("POST", SPACE, body={"metadata": {"name": f"late{len(names)}"}})
        if "continue" not in document["metadata"]:
            break
        query["continue"] = document["metadata"]["continue"]
    assert names == [f"n{number}" for number in range(6)]


def test_a_continue_token_of_another_list_is_refused(twin):
    for number in range(3):
        twin.request("POST", SPACE, body={"metadata": {"name": f"n{number}"}})
    token = twin.request("GET", SPACE, query={"limit": "1"}).document["metadata"]["continue"]
    assert twin.request("GET", PODS, query={"limit": "1", "continue": token}).status == 410
    assert twin.request("GET", SPACE, query={"limit": "1", "continue": "x"}).status == 400
