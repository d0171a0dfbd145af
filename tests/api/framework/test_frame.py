"""What holds for every endpoint: headers, strict parameters, limits, problems."""

import io
import json
import uuid

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from migrations_app.api.clusters.views import ClustersView
from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool

LISTS = ("clusters", "snapshots", "findings", "checks", "tokens")


def test_the_headers_of_every_answer(api: Tool) -> None:
    said = api("GET", "clusters")
    assert (said["API-Version"], said["Cache-Control"], said["Content-Type"]) == ("1", "no-store", "application/json")
    assert len(said["X-Request-ID"]) == 32
    assert (said["RateLimit-Limit"], int(said["RateLimit-Remaining"]) < 200) == ("200", True)


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2:3_4", True), ("a b", False), ("x" * 65, False), ("", False)])
def test_a_request_id_is_taken_over_if_it_is_one(api: Tool, given: str, kept: bool) -> None:
    said = api("GET", f"clusters/{uuid.uuid4()}", x_request_id=given)
    assert (said["X-Request-ID"] == given, said["X-Request-ID"] == said.json()["request_id"]) == (kept, True)


def test_a_problem_is_whole(api: Tool) -> None:
    path = f"/api/v1/scans/{uuid.uuid4()}"
    said = api("GET", path.removeprefix("/api/v1/"), x_request_id="r1")
    assert (said.status_code, said["Content-Type"]) == (404, "application/problem+json")
    assert said.json() == {
        "type": "/api/v1/problems/not_found", "title": "Not found", "status": 404, "detail": "no such scan",
        "code": "not_found", "instance": path, "request_id": "r1",
    }  # fmt: skip


@pytest.mark.parametrize("path", [*LISTS, "fleet/summary"])
def test_an_unknown_parameter_is_refused(api: Tool, path: str) -> None:
    said = api("GET", f"{path}?sort=name")
    assert (said.status_code, said.json()["errors"]) == (
        400, [{"pointer": "#/sort", "detail": "Unknown field.", "code": "unknown_field"}],
    )  # fmt: skip


def test_a_parameter_that_is_given_twice_is_refused(api: Tool) -> None:
    said = api("GET", "clusters?limit=1&limit=2")
    assert (said.status_code, said.json()["errors"]) == (
        400, [{"pointer": "#/limit", "detail": "Given more than once.", "code": "repeated"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b'{"name": "a", "name": "a"}', "name"),
        (b'{"name": "a", "n\\u0061me": "b"}', "name"),
        (b'{"labels": {"team": "shop"}, "labels": {}}', "labels"),
        (b'{"clusters": [{"id": 1, "x\\n": 2, "x\\n": 3}]}', "x\\n"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/clusters/batch-labels", "/api/v1/tokens"])
def test_a_field_of_a_body_that_is_given_twice_is_refused(  # T12
    api: Tool, client: Client, path: str, content: bytes, name: str
) -> None:
    headers = {"Authorization": f"Bearer {api.secret}"}
    said = client.post(path, content, content_type="application/json", headers=headers)
    problem = json.loads(said.content)
    assert (said.status_code, problem["code"], problem["detail"]) == (
        400, "malformed", f"the field '{name}' is repeated in one object",
    )  # fmt: skip


def test_a_field_of_a_form_that_is_given_twice_is_refused(api: Tool) -> None:
    said = api.upload("clusters", {"name": ["a", "b"], "bundle": io.BytesIO(b"{}")})
    assert (said.status_code, said.json()["errors"]) == (
        400, [{"pointer": "#/name", "detail": "Given more than once.", "code": "repeated"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "pointer", "detail"),
    [
        ("clusters/batch-labels", [], "#", "Not an object."),
        ("clusters/batch-labels", None, "#", "This field may not be null."),
        ("clusters/batch-labels", {"labels": {"a": "b"}, "clusters": "x"}, "#/clusters", "Not a list."),
        ("clusters/batch-labels", {"labels": ["x"], "clusters": [str(uuid.uuid4())]}, "#/labels", "Not an object."),
        ("clusters", {"name": "x", "source": ["y"]}, "#/source", "Not one of the values that the schema lists."),
        ("clusters", {"name": "x", "source": "y" * 10**6}, "#/source", "Not one of the values that the schema lists."),
    ],
)  # fmt: skip
def test_a_problem_names_no_type_of_python_and_repeats_no_value(
    api: Tool, path: str, body: object, pointer: str, detail: str
) -> None:
    content = json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {api.secret}"}
    said = Client().post(f"/api/v1/{path}", content, content_type="application/json", headers=headers)
    told = [(error["pointer"], error["detail"]) for error in said.json()["errors"]]
    assert (said.status_code, told) == (400, [(pointer, detail)])


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "stage=none", "q=%00", "cursor=abc", "cursor=a:b"]
)
def test_a_parameter_out_of_bounds_is_refused(api: Tool, query: str) -> None:
    assert api("GET", f"clusters?{query}").status_code == 400


def test_a_cursor_belongs_to_its_list(api: Tool) -> None:
    Cluster.objects.bulk_create(Cluster(name=f"c{number}", source="sample") for number in range(2))
    cursor = api("GET", "clusters?limit=1").json()["next"].partition("cursor=")[2].partition("&")[0]
    assert api("GET", f"clusters?limit=1&cursor={cursor}").status_code == 200
    assert api("GET", f"snapshots?limit=1&cursor={cursor}").json()["code"] == "bad_cursor"
    assert api("GET", f"clusters?limit=1&cursor=x{cursor}").json()["code"] == "bad_cursor"


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "malformed"),
        (b"[" * 200_000, "application/json", 400, "malformed"),
        (b'{"name": "\\ud800"}', "application/json", 400, "malformed"),
        (b'{"name": NaN}', "application/json", 400, "malformed"),
        (b"\xff", "application/json", 400, "malformed"),
        (b"name=a", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b"name: a", "application/yaml", 415, "unsupported_media_type"),
        (b'"' + b"x" * (1024 * 1024) + b'"', "application/json", 413, "too_large"),
    ],
)
def test_bodies_that_are_none(api: Tool, client: Client, content: bytes, kind: str, status: int, code: str) -> None:
    headers = {"Authorization": f"Bearer {api.secret}"}
    said = client.post("/api/v1/tokens", content, content_type=kind, headers=headers)
    assert (said.status_code, json.loads(said.content)["code"]) == (status, code)


def test_a_form_may_be_larger_than_json_but_not_without_end(api: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n" + b"# comment\n" * 110_000
    assert api.upload("clusters", {"name": "dump", "bundle": io.BytesIO(text)}).status_code == 201
    monkeypatch.setattr(ClustersView, "upload_limit", 1024 * 1024)
    assert api.upload("clusters", {"name": "other", "bundle": io.BytesIO(text)}).json()["code"] == "too_large"


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_a_method_that_is_not_served(api: Tool, method: str) -> None:
    said = api(method, "findings")
    assert (said.status_code, said.json()["code"], said["Allow"]) == (405, "method_not_allowed", "GET, HEAD")


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"])
def test_no_header_changes_the_method(api: Tool, header: str) -> None:
    row = Cluster.objects.create(name="blue", source="sample")
    api("GET", f"clusters/{row.pk}", **{header: "DELETE"})
    api("POST", f"clusters/{row.pk}/scans?_method=DELETE", **{header: "DELETE", "if_match": "*"})
    assert Cluster.objects.count() == 1


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "application/json", "*/*"])
def test_there_is_one_form_of_answer(api: Tool, accept: str) -> None:
    assert api("GET", "checks", accept=accept)["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["nothing", "clusters/abc", "clusters/abc/scans", "users"])
def test_other_addresses_are_problems_too(api: Tool, client: Client, path: str) -> None:
    assert (api("GET", path).status_code, api("GET", path)["Content-Type"]) == (404, "application/problem+json")
    assert client.get(f"/api/v1/{path}").status_code == 401


@pytest.mark.parametrize("path", LISTS)
def test_a_final_slash_does_no_harm(api: Tool, path: str) -> None:
    assert api("GET", f"{path}/").json() == api("GET", path).json()


def test_head_is_get_without_the_body(api: Tool) -> None:
    said = api("HEAD", "checks")
    assert (said.status_code, said.content) == (200, b"")


def test_a_noisy_client_waits_and_others_do_not(  # T29
    api: Tool, ben: object, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_BURST = 3
    # on a slow machine the first requests do not leave the window meanwhile
    monkeypatch.setattr("migrations_app.api.framework.throttling.WINDOW_SECONDS", 300)
    other = Tool(ben)  # type: ignore[arg-type]  # a user
    answers = [api("GET", "fleet/summary") for _ in range(8)]
    last = answers[-1]
    assert (answers[0].status_code, last.status_code, last.json()["code"]) == (200, 429, "throttled")
    assert (int(last["Retry-After"]) >= 1, last["RateLimit-Remaining"]) == (True, "0")
    assert other("GET", "fleet/summary").status_code == 200


def test_a_database_that_is_gone_is_503(api: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise OperationalError("the connection with password=hunter2 is lost")

    monkeypatch.setattr("migrations_app.api.fleet.summary.fleet_page", gone)
    monkeypatch.setattr(api, "_client", Client(raise_request_exception=False))
    said = api("GET", "fleet/summary")
    assert (said.status_code, said["Retry-After"], "hunter2" in said.content.decode()) == (503, "5", False)


def test_a_fault_of_ours_is_a_problem_without_its_text(
    api: Tool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("hunter2")

    monkeypatch.setattr("migrations_app.api.fleet.summary.fleet_page", broken)
    monkeypatch.setattr(api, "_client", Client(raise_request_exception=False))
    said = api("GET", "fleet/summary", x_request_id="r7")
    assert (said.status_code, said.json()["code"], "hunter2" in said.content.decode()) == (500, "failed", False)
    assert [record.request_id for record in caplog.records if record.name.endswith("problems")] == ["r7"]  # type: ignore[attr-defined]  # set by us
