"""The preferred tool over REST: kept by `me`, and its fixes come first in every answer that has fixes."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.checks.base import Remedy
from migrations_app.models.account import ToolChoice
from migrations_app.readiness.outputs.preferred_tool import TOOLS, by_tool, plan_by_tool, report_by_tool, tools_of
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot

FIXES = (Remedy(how="kubectl", text="kubectl delete it"), Remedy(how="helm", text="it: false"))
FORMS = tuple(Remedy(how="iam", text=text) for text in ("aws iam", "{}", "Resources:"))


def hows(remedies: Any) -> list[str]:
    return [one["how"] if isinstance(one, dict) else one.how for one in remedies]


@pytest.fixture
def shop(db: None) -> Any:
    """The newest snapshot of a cluster whose one open finding is fixed by kubectl, or by Helm."""
    checks = (a_finding(remedies=FIXES),)
    return a_snapshot(a_cluster("shop"), a_report("shop", checks=checks))


def test_it_is_set_read_changed_and_taken_back(api: Tool, ada: User) -> None:
    assert api("GET", "me").json()["tool"] == ""
    for said in ("terraform", "cloudformation", "cloudformation"):
        told = api("PATCH", "me", {"tool": said})
        assert (told.status_code, told.json()["tool"], told.json()["name"]) == (200, said, ada.username)
        assert api("GET", "me").json() == told.json()
    assert ToolChoice.objects.count() == 1
    assert api("PATCH", "me", {"tool": ""}).json()["tool"] == ""
    assert ToolChoice.objects.count() == 0


def test_it_is_that_of_the_page(api: Tool, ada: User, client: Client) -> None:
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    client.post("/settings/tool", {"tool": "flux"})
    assert api("GET", "me").json()["tool"] == "flux"
    api("PATCH", "me", {"tool": "argocd"})
    assert b'value="argocd" checked' in b" ".join(client.get("/settings/tool").content.split())


@pytest.mark.parametrize("body", [{"tool": "magic"}, {}, {"tool": None}, {"tool": "helm", "name": "root"}])
def test_what_is_no_tool_is_refused_and_the_choice_stays(api: Tool, body: dict[str, object]) -> None:
    api("PATCH", "me", {"tool": "helm"})
    assert api("PATCH", "me", body).status_code == 400
    assert api("GET", "me").json()["tool"] == "helm"


def test_it_takes_the_scope_of_what_is_ones_own(ada: User, ben: User) -> None:
    reader = Tool(ada, "read")
    assert reader("PATCH", "me", {"tool": "helm"}).status_code == 403
    assert Tool(ben)("PATCH", "me", {"tool": "helm"}).status_code == 200  # ben may only look
    assert (reader("GET", "me").json()["tool"], Tool(ben)("GET", "me").json()["tool"]) == ("", "helm")


def test_its_fixes_come_first_in_findings_and_reports(api: Tool, shop: Any) -> None:
    findings = f"snapshots/{shop.pk}/findings"

    def first(query: str = "") -> list[str]:
        return hows(api("GET", findings + query).json()["results"][0]["remedies"])

    assert (first(), first("?tool=helm")) == (["kubectl", "helm"], ["helm", "kubectl"])
    table = f"snapshots/{shop.pk}/export?form=table"
    assert "fix (kubectl): kubectl delete it" in api("GET", table).content.decode()
    tag = api("GET", table)["ETag"]
    api("PATCH", "me", {"tool": "helm"})
    assert (first(), first("?tool=kubectl"), first("?tool=flux")) == (["helm", "kubectl"], *[["kubectl", "helm"]] * 2)
    told = api("GET", table, if_none_match=tag)
    assert (told.status_code, "fix (helm): it: false" in told.content.decode()) == (200, True)
    # the report itself is what was found, for everybody
    assert hows(api("GET", f"snapshots/{shop.pk}").json()["checks"][0]["remedies"]) == ["kubectl", "helm"]


def test_its_commands_are_those_of_the_plan(api: Tool, shop: Any) -> None:
    plan = f"clusters/{shop.cluster_id}/plan"
    api("PATCH", "me", {"tool": "helm"})
    mine, other = (api("GET", f"{plan}?format=markdown{more}").content.decode() for more in ("", "&tool=kubectl"))
    assert ("it: false" in mine, "kubectl delete it" in mine) == (True, False)
    assert ("it: false" in other, "kubectl delete it" in other) == (False, True)
    steps = [step for hop in api("GET", plan).json()["hops"] for step in hop["steps"]]
    assert ["helm", "kubectl"] in [hows(step["remedies"]) for step in steps]


@pytest.mark.parametrize("address", ["snapshots/{}/findings?tool=magic", "snapshots/{}/export?form=table&tool="])
def test_a_tool_that_is_none_is_refused(api: Tool, shop: Any, address: str) -> None:
    assert api("GET", address.format(shop.pk)).status_code == 400


@pytest.mark.parametrize(
    ("remedies", "tools"),
    [
        (FIXES, ("kubectl", "helm")),
        (FORMS, ("aws-cli", "json", "cloudformation")),
        (FORMS[:2], ("", "")),
        ((Remedy(how="action", text="x", action="y"), *FORMS, FIXES[0]), ("", *TOOLS[-3:], "kubectl")),
    ],
)
def test_the_tool_of_each_fix(remedies: tuple[Remedy, ...], tools: tuple[str, ...]) -> None:
    assert tools_of(remedies) == tools
    for tool in filter(None, tools):
        assert by_tool(remedies, tool)[0] == remedies[tools.index(tool)]
        assert sorted(by_tool(remedies, tool), key=str) == sorted(remedies, key=str)


def test_without_a_tool_all_is_as_it_was_found() -> None:
    report = a_report()
    assert report_by_tool(report, "") is report
    assert by_tool(FIXES, "") == by_tool(FIXES, "terraform") == FIXES
    from migrations_app.readiness.runbook.runbook import runbook

    plan = runbook(report)
    assert plan_by_tool(plan, "") is plan
    assert plan_by_tool(plan, "terraform") == plan
