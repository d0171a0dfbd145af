"""Kinds that CustomResourceDefinitions bring: versions, conversion, stored versions, defaults, and their end."""

import json
from typing import Any

import pytest

from migrations_app.twin.server import Twin
from tests.twin.gadgets import NAME, definition, gadget, path
from tests.twin.moments import NOON, at

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {"service": {"namespace": "gadgets", "name": "hook"}},
        "conversionReviewVersions": ["v1"],
    },
}


@pytest.fixture
def twin() -> Twin:
    found = Twin(at(NOON))
    assert found.request("POST", DEFINITIONS, body=definition()).status == 201
    return found


def patched(twin: Twin, where: str, body: Any, status: int = 200) -> dict[str, Any]:
    answer = twin.request("PATCH", where, body=body, content_type=MERGE)
    assert answer.status == status, answer.document
    return answer.document


def stored_as(twin: Twin, version: str, *, conversion: Any = None) -> dict[str, Any]:
    return patched(twin, f"{DEFINITIONS}/{NAME}", {"spec": definition(storage=version, conversion=conversion)["spec"]})


def swapped(document: dict[str, Any], wanted: str) -> dict[str, Any]:
    """A conversion that says which way it went."""
    name = {"twin.example/v1": "stable", "twin.example/v1beta1": "beta"}[wanted]
    return document | {"apiVersion": wanted, "spec": document["spec"] | {"name": name}}


def test_a_new_kind_is_established_and_told_by_discovery(twin):
    status = twin.request("GET", f"{DEFINITIONS}/{NAME}").document["status"]
    assert status["storedVersions"] == ["v1"]
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    group = twin.request("GET", "/apis/twin.example").document
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta1"]
    listed = twin.request("GET", "/apis/twin.example/v1beta1").document["resources"]
    assert [one["name"] for one in listed] == ["gadgets", "gadgets/status"]


def test_a_change_of_the_storage_version_adds_it_to_the_stored_ones(twin):
    assert stored_as(twin, "v1beta1")["status"]["storedVersions"] == ["v1", "v1beta1"]
    trimmed = patched(twin, f"{DEFINITIONS}/{NAME}/status", {"status": {"storedVersions": ["v1beta1"]}})
    assert trimmed["status"]["storedVersions"] == ["v1beta1"]


def test_a_version_that_objects_are_stored_in_cannot_be_dropped(twin):
    versions = [one for one in definition(storage="v1beta1")["spec"]["versions"] if one["name"] == "v1beta1"]
    refused = patched(twin, f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}, 422)
    assert [one["field"] for one in refused["details"]["causes"]] == ["status.storedVersions[0]"]


def test_every_served_version_shows_every_object(twin):
    twin.request("POST", path(), body=gadget("one"))
    twin.request("POST", path(version="v1beta1"), body=gadget("two", version="v1beta1"))
    for version in ("v1", "v1beta1"):
        items = twin.request("GET", path(version=version)).document["items"]
        told = [(one["metadata"]["name"], one["apiVersion"]) for one in items]
        assert told == [("one", f"twin.example/{version}"), ("two", f"twin.example/{version}")]


def test_a_webhook_converts_objects_when_they_are_read_in_another_version(twin):
    twin.request("POST", path(), body=gadget("one"))
    stored_as(twin, "v1", conversion=WEBHOOK)
    twin.converters[NAME] = swapped
    assert twin.request("GET", path("one", version="v1beta1")).document["spec"]["name"] == "beta"
    assert "name" not in twin.request("GET", path("one")).document["spec"]


def test_a_webhook_that_is_down_fails_what_it_has_to_convert_and_nothing_else(twin):
    twin.request("POST", path(), body=gadget("one"))
    stored_as(twin, "v1", conversion=WEBHOOK)
    twin.converters[NAME] = swapped
    twin.request("GET", path("one", version="v1beta1"))
    twin.down.add("gadgets/hook")
    for where in (path("one", version="v1beta1"), path(version="v1beta1")):
        answer = twin.request("GET", where)
        assert (answer.status, "conversion webhook" in answer.document["message"]) == (500, True)
    assert twin.request("GET", path("one")).status == 200


def test_a_webhook_that_cannot_read_the_object_fails_the_request(twin):
    def confused(document, api_version):
        return json.loads("{")

    twin.request("POST", path(), body=gadget("one"))
    stored_as(twin, "v1", conversion=WEBHOOK)
    twin.converters[NAME] = confused
    answer = twin.request("GET", path("one", version="v1beta1"))
    assert (answer.status, "conversion webhook" in answer.document["message"]) == (500, True)


def test_an_empty_patch_stores_an_object_anew_in_the_storage_version(twin):
    before = twin.request("POST", path(), body=gadget("one")).document["metadata"]["resourceVersion"]
    unchanged = patched(twin, path("one"), {})["metadata"]["resourceVersion"]
    stored_as(twin, "v1beta1", conversion=WEBHOOK)
    twin.converters[NAME] = swapped
    moved = patched(twin, path("one"), {})["metadata"]["resourceVersion"]
    assert unchanged == before
    assert moved != before
    twin.down.add("gadgets/hook")
    assert twin.request("GET", path("one", version="v1beta1")).status == 200
    assert twin.request("GET", path("one")).status == 500


def test_new_defaults_show_on_objects_that_were_stored_before(twin):
    twin.request("POST", path(), body=gadget("one"))
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, "grade": {"type": "string", "default": "b"}}}
    wanted = definition(schema={"type": "object", "properties": {"spec": spec}})
    patched(twin, f"{DEFINITIONS}/{NAME}", {"spec": wanted["spec"]})
    assert twin.request("GET", path("one")).document["spec"] == {"size": 1, "grade": "b"}


def test_the_generation_counts_the_spec_only(twin):
    made = twin.request("POST", path(), body=gadget("one")).document
    told = [
        patched(twin, path("one"), {"metadata": {"labels": {"a": "b"}}}),
        patched(twin, path("one", version="v1") + "/status", {"status": {"phase": "Ready"}}),
        patched(twin, path("one"), {"spec": {"size": 2}}),
        patched(twin, path("one"), {"spec": {"size": 2}}),
    ]
    assert [one["metadata"]["generation"] for one in (made, *told)] == [1, 1, 1, 2, 2]
    assert told[2]["status"] == {"phase": "Ready"}


def test_a_definition_goes_with_its_objects(twin):
    twin.request("POST", path(), body=gadget("one"))
    answer = twin.request("DELETE", f"{DEFINITIONS}/{NAME}")
    assert answer.document["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert twin.request("GET", f"{DEFINITIONS}/{NAME}").status == 404
    assert twin.request("GET", path()).status == 404


def test_a_definition_waits_for_objects_that_a_finalizer_holds(twin):
    held = gadget("one")
    held["metadata"]["finalizers"] = ["test.example/hold"]
    twin.request("POST", path(), body=held)
    twin.request("DELETE", f"{DEFINITIONS}/{NAME}")
    assert "deletionTimestamp" in twin.request("GET", path("one")).document["metadata"]
    assert twin.request("POST", path(), body=gadget("two")).status == 405
    patched(twin, path("one"), {"metadata": {"finalizers": None}})
    assert twin.request("GET", f"{DEFINITIONS}/{NAME}").status == 404
    assert twin.request("POST", DEFINITIONS, body=definition()).status == 201
    assert twin.request("GET", path()).document["items"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "other.example"}, "metadata.name"),
        ({"versions": [{"name": "v1", "served": True, "storage": False}]}, "spec.versions"),
        ({"names": {"plural": "gadgets"}}, "spec.names.kind"),
    ],
)
def test_a_definition_that_says_nothing_sensible_is_refused(change, field):
    body = definition()
    answer = Twin(at(NOON)).request("POST", DEFINITIONS, body=body | {"spec": body["spec"] | change})
    assert answer.status == 422
    assert field in [one["field"] for one in answer.document["details"]["causes"]]
