"""conversions: what the command does, over REST."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.conftest import Tool
from tests.web.clusters.conversions import BETA, BROKEN, POOL, TEMPLATE, as_text

# A conversion stores nothing.
pytestmark = pytest.mark.one_database
SECRET = "canary-in-user-data"


def convert(api: Tool, *bodies: dict[str, Any], **options: Any) -> Any:
    return api("POST", "conversions", {"manifests": as_text(*bodies)} | options)


def named(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["kind"], one["metadata"]["name"]) for one in found]


def test_objects_and_yaml_are_the_same_results(api: Tool) -> None:
    told = convert(api, POOL, BETA)
    assert (told.status_code, told["Content-Type"]) == (200, "application/json")
    body = told.json()
    assert named(body["objects"]) == [("NodePool", "default"), ("NodePool", "beta")]
    assert list(yaml.safe_load_all(body["yaml"])) == body["objects"]
    assert [one["apiVersion"] for one in body["objects"]] == ["karpenter.sh/v1beta1", "karpenter.sh/v1"]
    assert (body["exit_code"], body["meaning"]) == (0, "everything is converted; nothing is left for a person")


def test_a_finding_is_whole(api: Tool) -> None:
    body = convert(api, POOL, TEMPLATE).json()
    assert body["exit_code"] == 1
    (found,) = [one for one in body["findings"] if one["severity"] == "action"]
    what = found.pop("what")
    assert found == {
        "severity": "action",
        "code": "node-role-placeholder",
        "object": {"kind": "AWSNodeTemplate", "name": "nodes"},
        "path": "spec.instanceProfile",
        "why": "v1beta1 needs the name of the node role; the old object names an instance profile at most.",
        "source": found["source"],
        "proposal": {"instanceProfile": "node-profile"},
        "file": "manifests",
        "document": 2,
        "item": None,
        "line": found["line"],
    }
    assert "$KARPENTER_NODE_ROLE" in what
    assert '"instanceProfile"' in as_text(POOL, TEMPLATE).splitlines()[found["line"] - 1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"to": "v1"}, "karpenter.k8s.aws/v1"),
        ({"to": "v1beta1"}, "karpenter.k8s.aws/v1beta1"),
        ({"to": None}, "karpenter.k8s.aws/v1beta1"),
    ],
)
def test_the_target(api: Tool, options: dict[str, Any], expected: str) -> None:
    assert convert(api, TEMPLATE, **options).json()["objects"][0]["apiVersion"] == expected


def test_the_other_switches(api: Tool) -> None:
    plain, bare = convert(api, POOL).json(), convert(api, POOL, ignore_defaults=True).json()
    assert ("kubernetes.io/arch" in plain["yaml"], "kubernetes.io/arch" in bare["yaml"]) == (True, False)
    assert convert(api, TEMPLATE, node_role="mine").json()["objects"][0]["spec"]["role"] == "mine"
    kept = convert(api, TEMPLATE, keep_instance_profile=True).json()
    assert (kept["objects"][0]["spec"]["instanceProfile"], kept["exit_code"]) == ("node-profile", 0)


def test_a_bad_document_hides_no_other(api: Tool) -> None:
    body = convert(api, BROKEN, POOL).json()
    assert (named(body["objects"]), body["exit_code"]) == ([("NodePool", "default")], 1)
    assert [one["code"] for one in body["findings"] if one["severity"] == "error"] == ["bad-duration"]
    assert body["meaning"].startswith("an object has an error")


BAD = {
    "not-yaml": "kind: [",
    "bad-type": as_text({**POOL, "spec": {**POOL["spec"], "labels": 7}}),
    "bad-duration": as_text(BROKEN),
    "duplicate-key": "apiVersion: karpenter.sh/v1\nkind: NodePool\nkind: NodePool\nmetadata: {name: a}\n",
    "launch-template-unsupported": as_text({**TEMPLATE, "spec": {**TEMPLATE["spec"], "launchTemplateName": "x"}}),
    "nothing-to-convert": "kind: ConfigMap\nmetadata: {name: a}\n",
    "name-missing": as_text({**POOL, "metadata": {}}),
}


@pytest.mark.parametrize("code", sorted(BAD))
def test_input_of_which_nothing_comes_is_a_problem(api: Tool, code: str) -> None:
    told = api("POST", "conversions", {"manifests": BAD[code]})
    body = told.json()
    assert (told.status_code, told["Content-Type"], body["code"]) == (400, "application/problem+json", "invalid")
    assert {(one["pointer"], one["code"]) for one in body["errors"]} == {("#/manifests", code)}


def test_a_problem_names_object_document_line_and_field(api: Tool) -> None:
    head = "kind: ConfigMap\n---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\n"
    text = f"{head}metadata: {{name: a}}\nspec: {{weight: x}}\n"
    (error,) = api("POST", "conversions", {"manifests": text}).json()["errors"]
    assert error["detail"].startswith("document 2, line 6: Provisioner/a: spec.weight: ")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/manifests"),
        ({"manifests": ""}, "#/manifests"),
        ({"manifests": 7}, "#/manifests"),
        ({"manifests": "a: 1", "to": "v2"}, "#/to"),
        ({"manifests": "a: 1", "ignore_defaults": "yes"}, "#/ignore_defaults"),
        ({"manifests": "a: 1", "keep_instance_profile": 1}, "#/keep_instance_profile"),
        ({"manifests": "a: 1", "node_role": "a b"}, "#/node_role"),
        ({"manifests": "a: 1", "live": True}, "#/live"),
    ],
)
def test_fields_that_are_wrong(api: Tool, body: dict[str, Any], pointer: str) -> None:
    told = api("POST", "conversions", body)
    assert (told.status_code, [one["pointer"] for one in told.json()["errors"]]) == (400, [pointer])


def test_a_body_that_is_too_large(api: Tool) -> None:
    told = api("POST", "conversions", {"manifests": "#" * 10 * 1024 * 1024})
    assert (told.status_code, told.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "text", ["a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\n" + "".join(
        f"d{i}: &d{i} [*{'c' if i == 0 else f'd{i - 1}'}, *{'c' if i == 0 else f'd{i - 1}'}]\n" for i in range(20)
    ), "[" * 5000, '{"a":' * 5000, "? {a: b}\n: c\n"],
)  # fmt: skip
def test_hostile_texts_are_a_problem_not_a_crash(api: Tool, text: str) -> None:
    told = api("POST", "conversions", {"manifests": text})
    assert (told.status_code, {one["code"] for one in told.json()["errors"]}) == (400, {"not-yaml"})


@pytest.mark.parametrize("number", ["NaN", "1e999", ".inf", '"\\ud800"'])
def test_what_json_cannot_hold_never_reaches_the_answer(api: Tool, number: str) -> None:
    text = json.dumps({**BETA, "spec": {"weight": "HERE"}}).replace('"HERE"', number)
    assert api("POST", "conversions", {"manifests": text}).status_code == 400


def test_who_may_read_may_convert(db: None, ben: User) -> None:
    assert convert(Tool(ben, "read"), POOL).status_code == 200
    assert convert(Tool(ben, "scan"), POOL).status_code == 403


def test_nobody_else_may(client: Any, db: None) -> None:
    assert client.post("/api/v1/conversions", {}, content_type="application/json").status_code == 401


def test_nothing_is_stored_of_it(api: Tool) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert convert(api, {**TEMPLATE, "spec": {**TEMPLATE["spec"], "userData": SECRET}}).status_code == 200
    assert [query["sql"] for query in asked.captured_queries if SECRET in query["sql"]] == []
    assert {
        query["sql"].split('"')[1] for query in asked.captured_queries if query["sql"].startswith("INSERT")
    } == set()


def test_the_same_request_twice(api: Tool) -> None:
    first = api("POST", "conversions", {"manifests": as_text(POOL)}, idempotency_key="k")
    again = api("POST", "conversions", {"manifests": as_text(POOL)}, idempotency_key="k")
    assert (again.json(), again["Idempotency-Replayed"]) == (first.json(), "true")
    assert api("POST", "conversions", {"manifests": as_text(BETA)}, idempotency_key="k").status_code == 422


def test_the_address_with_a_slash_and_other_methods(api: Tool) -> None:
    assert api("POST", "conversions/", {"manifests": as_text(POOL)}).status_code == 200
    assert api("GET", "conversions").status_code == 405


def test_the_example_of_the_page_gives_the_answer_of_the_page(api: Tool) -> None:
    page = (Path(__file__).parents[2] / "docs/convert.md").read_text()
    asked, told = (json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.M | re.S))
    assert api("POST", "conversions", asked).json() == told


def test_a_class_without_a_spec_beside_its_pool(api: Tool) -> None:
    bare = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "nodes"}}
    told = convert(api, BETA, bare)
    assert told.status_code == 200
    assert named(told.json()["objects"]) == [("NodePool", "beta"), ("EC2NodeClass", "nodes")]
