from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Waiver
from tests.api.conftest import Tool

Scanned = Callable[..., Cluster]
CHECK = "legacy_provisioners_gone"
WARNING = "budgets_let_nodes_go"


def body(check: str = CHECK, **told: Any) -> dict[str, Any]:
    ends = (timezone.now() + timedelta(days=30)).isoformat()
    return {"check": check, "reason": "known", "owner": "team shop", "ends_at": ends} | told


def test_a_waiver_is_made_shown_in_the_findings_and_taken_back(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    made = api("POST", "waivers", body(cluster=str(row.pk)))
    told = made.json()
    assert (made.status_code, told["state"], told["blockers"], told["days_left"]) == (201, "active", True, 29)
    assert api("GET", made["Location"]).json() == told
    assert api("GET", "waivers?state=active").json()["results"] == [told]
    shown = api("GET", f"findings?status=waived&cluster={row.pk}").json()["results"]
    assert {one["check"] for one in shown} == {CHECK}
    assert api("DELETE", made["Location"]).status_code == 204
    assert api("GET", f"findings?status=waived&cluster={row.pk}").json()["results"] == []
    assert api("GET", made["Location"]).json()["state"] == "revoked"


def test_the_snapshot_and_its_sarif_tell_the_waiver(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    before = api("GET", f"snapshots/{row.latest_id}")
    api("POST", "waivers", body(cluster=str(row.pk)))
    after = api("GET", f"snapshots/{row.latest_id}")
    assert after["ETag"] != before["ETag"]
    assert {one["status"] for one in after.json()["checks"] if one["id"] == CHECK} >= {"waived"}
    log = api("GET", f"snapshots/{row.latest_id}/sarif")
    words = [one["suppressions"] for one in log.json()["runs"][0]["results"] if "suppressions" in one]
    assert log["Content-Type"] == "application/sarif+json"
    assert {(one[0]["kind"], one[0]["status"]) for one in words} == {("external", "accepted")}
    assert all("accepted by team shop until" in one[0]["justification"] for one in words)
    assert api("GET", f"snapshots/{row.latest_id}/sarif", if_none_match=log["ETag"]).status_code == 304


@pytest.mark.parametrize(
    ("told", "pointer"),
    [
        ({"check": "no_such"}, "#/check"),
        ({"hop": "0.99"}, "#/hop"),
        ({"check": "iam_change_known"}, "#/hop"),
        ({"reason": " "}, "#/reason"),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "#/ends_at"),
        ({"ends_at": "soon"}, "#/ends_at"),
        ({"blockers": True}, "#/blockers"),
        ({"made_by_name": "eve"}, "#/made_by_name"),
        ({"cluster": "x"}, "#/cluster"),
    ],
)
def test_what_is_refused(api: Tool, told: dict[str, Any], pointer: str) -> None:
    answer = api("POST", "waivers", body(**told))
    assert (answer.status_code, [one["pointer"] for one in answer.json()["errors"]]) == (400, [pointer])
    assert Waiver.objects.count() == 0


@pytest.mark.parametrize("scopes", [("read",), ("read", "scan", "plan", "act")])
def test_a_token_without_the_scope_changes_none(api: Tool, ada: User, scopes: tuple[str, ...]) -> None:
    made = api("POST", "waivers", body()).json()["id"]
    other = Tool(ada, *scopes)
    assert (other("POST", "waivers", body(WARNING)).status_code, other("DELETE", f"waivers/{made}").status_code) == (
        403,
        403,
    )
    assert (other("GET", f"waivers/{made}").json()["state"], Waiver.objects.count()) == ("active", 1)


def test_who_changes_clusters_accepts_warnings_and_no_blockers(ben: User, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    tool = Tool(ben)
    assert tool("POST", "waivers", body(WARNING, cluster=str(row.pk))).status_code == 403
    ben.user_permissions.add(Permission.objects.get(codename="change_cluster"))
    assert tool("POST", "waivers", body(WARNING, cluster=str(row.pk))).status_code == 201
    refused = [tool("POST", "waivers", one) for one in (body(cluster=str(row.pk)), body(WARNING))]
    assert [(one.status_code, one.json()["code"]) for one in refused] == [(403, "forbidden")] * 2


def test_the_same_twice_is_a_conflict_and_a_replay_is_not(api: Tool) -> None:
    said = body(hop="0.33+")
    assert api("POST", "waivers", body()).json()["hop"] == ""
    first = api("POST", "waivers", said, idempotency_key="k1")
    again = api("POST", "waivers", said, idempotency_key="k1")
    assert (first.status_code, again.json()) == (201, first.json())
    assert (api("POST", "waivers", said).status_code, Waiver.objects.count()) == (409, 2)


def test_pages_lose_and_repeat_nothing(api: Tool) -> None:
    for check in (CHECK, WARNING, "crds_served"):
        assert api("POST", "waivers", body(check)).status_code == 201
    whole = api("GET", "waivers").json()["results"]
    walked, address = [], "waivers?limit=1"
    while address:
        page = api("GET", address).json()
        walked += page["results"]
        address = page["next"]
    assert ([one["check"] for one in whole], walked) == (["crds_served", WARNING, CHECK], whole)
    assert [one["check"] for one in api("GET", f"waivers?check={CHECK}").json()["results"]] == [CHECK]


def test_what_is_not_there(api: Tool) -> None:
    absent = "waivers/00000000-0000-0000-0000-000000000001"
    assert (api("GET", absent).status_code, api("DELETE", absent).status_code) == (404, 404)
