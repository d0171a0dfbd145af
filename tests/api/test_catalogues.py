"""checks, fleet/summary, problems, schema, docs."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from pytest_django import Settings

from migrations_app.api.framework.problem_codes import CODES
from migrations_app.api.framework.views import Endpoint
from migrations_app.checks.registry import all_checks
from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool

PUBLISHED = Path(__file__).parents[2] / "docs/schema/openapi-v1.yaml"
Scanned = Callable[..., Cluster]


def test_every_check_is_listed(api: Tool) -> None:
    told = api("GET", "checks").json()["results"]
    assert [row["id"] for row in told] == [check.id for check in all_checks()]
    one = api("GET", f"checks/{told[0]['id']}").json()
    assert one == told[0]


def test_a_check_says_how_and_what_it_answers(api: Tool) -> None:
    one = api("GET", "checks/spot_role_present").json()
    check = next(check for check in all_checks() if check.id == "spot_role_present")
    assert (one["how"], one["since"], one["introduced_by"]) == (check.how, "0.1.0", "0.32")
    assert ([row["id"] for row in one["covers"]], "iam" in one["remedies"]) == (
        ["spot-service-linked-role", "CONV-02"],
        True,
    )
    assert api("GET", "checks").json()["retired"] == []


def test_a_check_that_is_none(api: Tool) -> None:
    assert api("GET", "checks/none").json()["code"] == "not_found"


def test_the_fleet_in_numbers(api: Tool, scanned: Scanned) -> None:
    scanned("beta_037")
    scanned("alpha_030", environment="prod")
    told = api("GET", "fleet/summary").json()
    assert (told["clusters"], told["stages"]["alpha"], told["buckets"]["ready"]) == (2, 1, 1)
    assert told["environments"] == ["prod", "test"]
    assert api("GET", "fleet/summary?environment=prod").json()["clusters"] == 1


@pytest.mark.one_database
@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_page(api: Tool, code: str) -> None:
    told = api("GET", f"problems/{code}").json()
    assert (told["code"], told["status"]) == (code, CODES[code].status)


def test_the_schema_validates_without_a_warning_and_is_the_published_one(tmp_path: Path) -> None:
    """`manage.py spectacular --file docs/schema/openapi-v1.yaml` publishes it anew."""
    fresh = tmp_path / "openapi.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(fresh))
    assert PUBLISHED.read_text() == fresh.read_text()


def test_every_endpoint_declares_what_the_schema_says_of_its_methods() -> None:
    """A method that is not declared would be left out of the schema without a word."""
    import_module("migrations_app.api.urls")
    ours = [kind for kind in Endpoint.__subclasses__() if kind.__module__.startswith("migrations_app.")]
    silent = {kind.__name__ for kind in ours if kind.needs.keys() != kind.operations.keys()}
    assert silent == {"SchemaView", "DocsView", "NoSuchPageView", "ApiRootView"}
    assert len(ours) > 50


def test_the_schema_is_served_and_lists_every_operation_once(api: Tool) -> None:
    schema = yaml.load(api("GET", "schema/").content, yaml.CSafeLoader)
    assert (schema["openapi"], schema["info"]["title"]) == ("3.1.0", "karpdash")
    names = [operation["operationId"] for path in schema["paths"].values() for operation in path.values()]
    assert (len(names), [path for path in schema["paths"] if path.endswith("/")]) == (len(set(names)), [])
    assert api("GET", "schema/?format=json").json()["paths"] == schema["paths"]


def test_the_docs_use_nothing_from_outside(ada: object, client: Client) -> None:
    client.force_login(ada)  # type: ignore[arg-type]  # a user
    page = client.get("/api/v1/docs/")
    text = page.content.decode()
    assert (page.status_code, "/static/drf_spectacular_sidecar/" in text) == (200, True)
    assert ("//cdn" in text, "<script>" in text) == (False, False)
    assert client.get("/api/v1/docs").status_code == 200
    script = client.get("/api/v1/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")


def test_the_schema_is_the_published_file_and_nothing_is_generated(
    ada: object, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(ada)  # type: ignore[arg-type]  # a user
    made: list[str] = []
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *_args, **_more: made.append("once"))
    as_yaml, as_json = (client.get(f"/api/v1/schema/{query}") for query in ("", "?format=json"))
    assert [form["Content-Type"].partition(";")[0] for form in (as_yaml, as_json)] == [
        "application/vnd.oai.openapi", "application/vnd.oai.openapi+json",
    ]  # fmt: skip
    assert (as_yaml.content, made) == (PUBLISHED.read_bytes(), [])
    assert as_json.json() == yaml.load(as_yaml.content, yaml.CSafeLoader)


def test_the_schema_names_the_cookie_of_this_installation(api: Tool, settings: Settings) -> None:
    settings.SESSION_COOKIE_NAME = "__Host-sessionid"
    served = api("GET", "schema/?format=json").json()["components"]["securitySchemes"]["session"]
    generated = SchemaGenerator().get_schema(request=None, public=True)["components"]["securitySchemes"]["session"]
    assert (served, served["name"]) == (generated, "__Host-sessionid")


def test_the_docs_send_strangers_to_the_sign_in(client: Client, db: None) -> None:
    for address in ("/api/v1/docs", "/api/v1/docs/"):
        assert client.get(address)["Location"] == f"/login?next={address}"
    assert client.get("/api/v1/schema/").status_code == 401


def test_how_far_the_known_changes_are_covered(api: Tool) -> None:
    told = api("GET", "checks").json()["coverage"]
    assert [row["extent"] for row in told["changes"]] == ["judged", "partly", "person", "not_looked"]
    assert (sum(row["entries"] for row in told["changes"]), sum(row["entries"] for row in told["pains"])) == (154, 85)
    covers = api("GET", "checks/sources_outside_current").json()["covers"]
    assert {row["extent"] for row in covers} == {"person", "partly"}
    assert all(row["proven"] for row in covers)
