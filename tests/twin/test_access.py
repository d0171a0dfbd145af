"""Who may do what on a twin, told in advance by a review and enforced at the request."""

import pytest

from migrations_app.actions.changes import RbacNeed
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.twin.server import Twin
from tests.twin.moments import NOON, at

REVIEWS = "/apis/authorization.k8s.io/v1"
SPACE = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def twin() -> Twin:
    found = Twin(at(NOON))
    found.request("POST", SPACE, body={"metadata": {"name": "mine"}})
    found.request("POST", SPACE, body={"metadata": {"name": "other"}})
    return found


def test_a_user_without_rules_may_do_nothing(twin):
    answer = twin.request("GET", f"{SPACE}/mine", user="eve")
    assert (answer.status, answer.document["reason"]) == (403, "Forbidden")
    assert answer.document["message"] == (
        'configmaps "mine" is forbidden: User "eve" cannot get resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


@pytest.mark.parametrize(
    ("rule", "verb", "name", "subresource", "allowed"),
    [
        ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}, "get", "", "", True),
        ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}, "patch", "", "", False),
        ({"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}, "get", "", "", False),
        ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, "delete", "mine", "", True),
        ({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}, "patch", "", "status", False),
        ({"apiGroups": [""], "resources": ["*/status"], "verbs": ["*"]}, "patch", "", "status", True),
        (
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["mine"]},
            "get",
            "mine",
            "",
            True,
        ),
        (
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["mine"]},
            "get",
            "",
            "",
            False,
        ),
    ],
)
def test_a_review_tells_what_the_rules_allow(twin, rule, verb, name, subresource, allowed):
    twin.grant("ada", [rule])
    need = RbacNeed(verb=verb, group="", plural="configmaps", subresource=subresource)
    assert TwinWriter(twin, user="ada").may(need, name=name) is allowed


def test_named_objects_only(twin):
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "delete"], "resourceNames": ["mine"]}
    twin.grant("ada", [rule])
    told = [twin.request(verb, f"{SPACE}/{name}", user="ada").status for name in ("mine", "other") for verb in ("GET",)]
    assert told == [200, 403]
    assert twin.request("DELETE", f"{SPACE}/other", user="ada").status == 403
    assert twin.request("DELETE", f"{SPACE}/mine", user="ada").status == 200


def test_apply_that_creates_needs_the_right_to_create(twin):
    twin.grant("ada", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}])
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
    how = {"content_type": "application/apply-patch+yaml", "query": {"fieldManager": "ada"}, "user": "ada"}
    assert twin.request("PATCH", f"{SPACE}/new", body=body, **how).status == 403
    twin.grant("ada", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}])
    assert twin.request("PATCH", f"{SPACE}/new", body=body, **how).status == 201


def test_a_review_of_rules_lists_them(twin):
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    path = {"nonResourceURLs": ["/version"], "verbs": ["get"]}
    twin.grant("ada", [rule, path])
    body = {"spec": {"namespace": "default"}}
    status = twin.request("POST", f"{REVIEWS}/selfsubjectrulesreviews", body=body, user="ada").document["status"]
    assert status == {"resourceRules": [rule], "nonResourceRules": [path], "incomplete": False}


@pytest.mark.parametrize(("path", "allowed"), [("/version", True), ("/metrics", False)])
def test_a_review_of_a_path(twin, path, allowed):
    twin.grant("ada", [{"nonResourceURLs": ["/version"], "verbs": ["get"]}])
    body = {"spec": {"nonResourceAttributes": {"path": path, "verb": "get"}}}
    told = twin.request("POST", f"{REVIEWS}/selfsubjectaccessreviews", body=body, user="ada").document
    assert told["status"]["allowed"] is allowed


def test_a_review_without_a_spec_is_refused(twin):
    assert twin.request("POST", f"{REVIEWS}/selfsubjectaccessreviews", body={}).status == 400
    assert twin.request("POST", f"{REVIEWS}/odd", body={}).status == 404
