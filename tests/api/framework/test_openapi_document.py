"""The OpenAPI document as generators need it: whole, valid, and true."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from migrations_app import __version__
from migrations_app.api.framework.openapi_document import EXAMPLES, LOCATED, VALUES
from migrations_app.api.framework.openapi_summaries import SUMMARIES, TAGS
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from tests.api.conftest import Tool
from tests.house.measures import ROOT

Scanned = Callable[..., Cluster]
DOCUMENT = yaml.load((ROOT / "docs/schema/openapi-v1.yaml").read_text(), yaml.CSafeLoader)
SCHEMAS = DOCUMENT["components"]["schemas"]


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_the_document_is_valid_and_names_licence_server_and_tags() -> None:
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []
    assert (DOCUMENT["info"]["license"]["identifier"], [each["url"] for each in DOCUMENT["servers"]]) == (
        "Apache-2.0",
        ["/"],
    )
    used = {tag for _, _, operation in operations() for tag in operation["tags"]}
    assert ({tag["name"] for tag in DOCUMENT["tags"]}, set(TAGS)) == (used, used)


def test_every_operation_has_a_summary_of_its_own_a_description_and_described_answers() -> None:
    told = {operation["operationId"]: operation for _, _, operation in operations()}
    assert set(told) == set(SUMMARIES)
    assert len({operation["summary"] for operation in told.values()}) == len(told)
    assert [name for name, operation in told.items() if not operation.get("description")] == []
    empty = [
        (n, s)
        for n, operation in told.items()
        for s, answer in operation["responses"].items()
        if not answer["description"]
    ]
    assert empty == []


def test_no_description_names_a_rule_or_says_each_value_twice() -> None:
    text = json.dumps(DOCUMENT)
    assert ("(T12)" in text, "* `read` - read" in text) == (False, False)


def test_a_bundle_is_a_file_of_a_form() -> None:
    body = DOCUMENT["paths"]["/api/v1/clusters"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    name = body["$ref"].rpartition("/")[2]
    assert SCHEMAS[name]["properties"]["bundle"] == {"type": "string", "format": "binary", "writeOnly": True}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_hold_their_own_schema(name: str) -> None:
    whole = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(SCHEMAS[name]["examples"][0])


def test_values_of_answers_are_those_of_the_models() -> None:
    assert set(VALUES["ScanState", "state"]) == set(Scan.State.values)
    assert set(VALUES["ClusterRow", "source"]) == set(Cluster.Source.values)
    for (name, field), values in VALUES.items():
        assert SCHEMAS[name]["properties"][field]["enum"] == list(values)


def headers_told(path: str, method: str, status: int) -> set[str]:
    return set(DOCUMENT["paths"][path][method]["responses"][str(status)]["headers"])


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/v1/clusters/{id}", "clusters/{row.pk}"),
        ("/api/v1/clusters/{id}/labels", "clusters/{row.pk}/labels"),
        ("/api/v1/clusters/{id}/plan", "clusters/{row.pk}/plan"),
        ("/api/v1/clusters/{id}/values", "clusters/{row.pk}/values"),
        ("/api/v1/clusters/{id}/policy", "clusters/{row.pk}/policy"),
        ("/api/v1/clusters/{id}/scans", "clusters/{row.pk}/scans"),
        ("/api/v1/snapshots/{id}", "snapshots/{row.latest_id}"),
        ("/api/v1/snapshots/{id}/sarif", "snapshots/{row.latest_id}/sarif"),
        ("/api/v1/snapshots/{id}/export", "snapshots/{row.latest_id}/export?form=csv"),
        ("/api/v1/policies/default", "policies/default"),
        ("/api/v1/clusters", "clusters"),
        ("/api/v1/me", "me"),
    ],
)
def test_an_answer_has_the_headers_that_the_document_tells(
    api: Tool, scanned: Scanned, path: str, address: str
) -> None:
    answer = api("GET", address.format(row=scanned()))
    wanted = headers_told(path, "get", 200)
    assert (answer.status_code, wanted - set(answer.headers)) == (200, set())
    assert ("ETag" in answer.headers) == ("ETag" in wanted)


def test_what_is_made_is_located(api: Tool, scanned: Scanned) -> None:
    row = scanned()
    scan = api("POST", f"clusters/{row.pk}/scans")
    token = api("POST", "tokens", {"name": "x", "scopes": ["read"], "days": 1})
    group = api("POST", "groups", {"name": "shop"})
    assert [(each.status_code, "Location" in each.headers) for each in (scan, token, group)] == [
        (202, True), (201, True), (201, True),
    ]  # fmt: skip
    assert {"cluster_scans_create", "tokens_create", "groups_create"} <= LOCATED


def test_the_root_names_collections_that_answer(api: Tool) -> None:
    root = api("GET", "").json()
    assert {"clusters", "findings", "me", "version", "schema", "docs"} <= set(root)
    for name, address in root.items():
        if name != "docs":
            wanted = 403 if name == "audit" else 200  # that one needs a scope of its own
            assert api("GET", address.partition("/api/v1/")[2]).status_code == wanted, name


def test_me_and_version(api: Tool) -> None:
    me = api("GET", "me").json()
    assert (me["name"], me["method"], "read" in me["scopes"], "add_cluster" in me["rights"]) == (
        "ada", "token", True, True,
    )  # fmt: skip
    version = api("GET", "version").json()
    assert (version["version"], version["api"], version["karpenter_release"][:2]) == (__version__, "1", "1.")


@pytest.mark.parametrize(
    ("form", "kind", "starts"),
    [
        ("csv", "text/csv", "cluster,hop,phase,check,"),
        ("junit", "application/xml", "<?xml"),
        ("markdown", "text/markdown", "# Karpenter readiness of "),
        ("sarif", "application/sarif+json", "{"),
    ],
)
def test_a_snapshot_in_every_form(api: Tool, scanned: Scanned, form: str, kind: str, starts: str) -> None:
    path = f"snapshots/{scanned().latest_id}/export?form={form}"
    answer = api("GET", path)
    assert (answer.status_code, answer["Content-Type"], answer.content.decode()[: len(starts)]) == (200, kind, starts)
    assert api("GET", path, if_none_match=answer["ETag"]).status_code == 304


@pytest.mark.parametrize("query", ["", "?form=pdf", "?form=csv&x=1"])
def test_a_form_that_is_none(api: Tool, scanned: Scanned, query: str) -> None:
    assert api("GET", f"snapshots/{scanned().latest_id}/export{query}").status_code == 400
