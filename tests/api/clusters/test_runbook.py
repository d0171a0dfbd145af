"""clusters/{id}/plan: the runbook as JSON and as Markdown."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.readiness.outputs import runbook_markdown
from migrations_app.readiness.outputs.json_schema import plan_definitions
from migrations_app.readiness.published_fields import published_plan
from migrations_app.readiness.runbook.runbook import runbook
from tests.api.conftest import Tool
from tests.builders.rows import NOW, a_cluster, a_report, a_snapshot

PLAN = runbook(a_report(scanned_at="2026-11-21T12:00:00Z"))
SCHEMA = {"$ref": "#/$defs/Runbook", "$defs": plan_definitions()}


def planned() -> str:
    cluster = a_cluster()
    a_snapshot(cluster, a_report())
    return f"clusters/{cluster.pk}/plan"


def test_the_plan_is_the_runbook_of_the_newest_snapshot(api: Tool) -> None:
    told = api("GET", planned())
    assert (told.status_code, told.json()) == (200, json.loads(msgspec.json.encode(published_plan(PLAN))))
    assert [hop["lands"]["hop"] for hop in told.json()["hops"]] == ["0.32", "0.33+"]
    assert told["Content-Type"] == "application/json; charset=utf-8"
    assert told["Last-Modified"] == NOW.strftime("%a, %d %b %Y %H:%M:%S GMT")
    jsonschema.Draft202012Validator(SCHEMA).validate(told.json())


def test_it_is_not_sent_twice(api: Tool) -> None:
    address = planned()
    told = api("GET", address)
    again = api("GET", address, if_none_match=told["ETag"])
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        ("", "*/*", "application/json"),
        ("", "text/markdown", "text/markdown"),
        ("", "text/markdown, application/json;q=0.9", "application/json"),
        ("?format=markdown", "application/json", "text/markdown"),
        ("?format=json", "text/markdown", "application/json"),
    ],
)
def test_markdown_for_those_who_ask_for_it(client: Client, ada: User, query: str, accept: str, kind: str) -> None:
    client.force_login(ada)
    told = client.get(f"/api/v1/{planned()}{query}", headers={"Accept": accept})
    assert (told.status_code, told["Content-Type"]) == (200, f"{kind}; charset=utf-8")
    if kind == "text/markdown":
        assert told.content.decode() == runbook_markdown.render(PLAN)


def test_one_hop_alone(api: Tool) -> None:
    told = api("GET", f"{planned()}?hop=0.33%2B").json()
    assert [hop["lands"]["hop"] for hop in told["hops"]] == ["0.33+"]


@pytest.mark.parametrize(
    ("query", "pointer", "code"),
    [
        ("hop=1.9", "#/hop", "unknown_hop"),
        ("format=pdf", "#/format", "invalid_choice"),
        ("at=1", "#/at", "unknown_field"),
    ],
)
def test_what_is_asked_wrong_is_said(api: Tool, query: str, pointer: str, code: str) -> None:
    told = api("GET", f"{planned()}?{query}")
    assert (told.status_code, [(one["pointer"], one["code"]) for one in told.json()["errors"]]) == (
        400,
        [(pointer, code)],
    )


def test_no_plan_without_a_scan_and_none_for_nobody(api: Tool) -> None:
    for key in (a_cluster("never").pk, "00000000-0000-0000-0000-000000000001"):
        assert api("GET", f"clusters/{key}/plan").status_code == 404


def test_who_may_look_may_read_it(ben: User) -> None:
    address = planned()
    assert Tool(ben, "read")("GET", address).status_code == 200
    assert Tool(ben, "scan")("GET", address).status_code == 403


def test_a_scan_makes_a_plan_with_commands(api: Tool, scanned: Any) -> None:
    told = api("GET", f"clusters/{scanned('beta_037').pk}/plan?hop=1.0").json()
    commands = [one["text"] for stage in told["hops"][0]["stages"] for one in stage["commands"] if one["how"] == "helm"]
    assert ["--version 1.0.14 --namespace kube-system" in one for one in commands] == [True, True]


def test_values_are_told_hop_by_hop(api: Tool, scanned: Any) -> None:
    row = scanned("alpha_030")
    told = api("GET", f"clusters/{row.pk}/values").json()["results"]
    assert [(one["starts"], one["lands"]) for one in told[:3]] == [
        ("0.30.0", "0.31.5"), ("0.31.5", "0.32.10"), ("0.32.10", "0.37.8"),
    ]  # fmt: skip
    (moved,) = (one for one in told[2]["rows"] if one["key"] == "settings.aws.clusterName")
    assert moved == {
        "key": "settings.aws.clusterName",
        "kind": "renamed",
        "old": '"shop-prod"',
        "new": '"shop-prod"',
        "new_key": "settings.clusterName",
        "why": "settings.clusterName takes over",
        "loss": "",
        "secret": False,
    }
    assert "settings.clusterName" in [one["key"] for one in told[3]["rows"] if one["kind"] == "kept"]
    assert "values" not in api("GET", f"clusters/{row.pk}/plan").json()["hops"][0]


def test_values_of_nobody(api: Tool) -> None:
    for key in (a_cluster("never").pk, "00000000-0000-0000-0000-000000000001"):
        assert api("GET", f"clusters/{key}/values").status_code == 404
