"""Groups, labels, saved views and burndowns over the API."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.cluster import Cluster, ClusterGroup, ClusterLabel, SavedView
from migrations_app.models.scan import LegacyDay
from migrations_app.readiness.progress.curve import COLUMNS
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster

Scanned = Callable[..., Cluster]


def made(api: Tool, name: str = "shop", **told: Any) -> Any:
    return api("POST", "groups", {"name": name} | told)


def test_a_group_from_its_beginning_to_its_end(api: Tool) -> None:
    first, second = a_cluster("a"), a_cluster("b", environment="prod")
    answer = made(api, interval_seconds=600)
    told = answer.json()
    assert (answer.status_code, told["name"], told["interval_seconds"], told["clusters"]) == (201, "shop", 600, 0)
    place = answer["Location"]
    moved = api("POST", f"{place}/clusters", {"add": [str(first.pk), str(second.pk)]}).json()
    assert [(one["name"], one["environment"]) for one in moved["clusters"]] == [("a", ""), ("b", "prod")]
    left = api("POST", f"{place}/clusters", {"remove": [str(first.pk)]})
    assert left.json() == api("GET", f"{place}/clusters").json()
    assert [one["name"] for one in left.json()["clusters"]] == ["b"]
    changed = api("PATCH", place, {"name": "team"}, if_match=left["ETag"]).json()
    assert (changed["name"], changed["interval_seconds"], changed["clusters"]) == ("team", 600, 1)
    assert [one["name"] for one in api("GET", "groups").json()["results"]] == ["team"]
    assert [one["name"] for one in api("GET", f"clusters?group={told['id']}").json()["results"]] == ["b"]
    assert api("GET", f"fleet/summary?group={told['id']}").json()["clusters"] == 1
    assert api("DELETE", place, if_match=api("GET", place)["ETag"]).status_code == 204
    assert (api("GET", place).status_code, Cluster.objects.count()) == (404, 2)


@pytest.mark.parametrize(
    ("told", "status"),
    [({"name": ""}, 400), ({"name": "a", "interval_seconds": 5}, 400), ({"name": "a", "more": 1}, 400),
     ({"name": "taken"}, 409), ({}, 400)],
)  # fmt: skip
def test_what_is_no_group(api: Tool, told: dict[str, Any], status: int) -> None:
    made(api, "taken")
    assert (api("POST", "groups", told).status_code, ClusterGroup.objects.count()) == (status, 1)


def test_a_group_that_was_changed_meanwhile(api: Tool) -> None:
    place = made(api)["Location"]
    old = api("GET", place)["ETag"]
    api("PATCH", place, {"name": "b"}, if_match=old)
    assert api("PATCH", place, {"name": "c"}, if_match=old).status_code == 412
    assert (api("DELETE", place).status_code, ClusterGroup.objects.get().name) == (428, "b")


def test_an_absent_cluster_is_put_into_nothing(api: Tool) -> None:
    place = made(api)["Location"]
    assert api("POST", f"{place}/clusters", {"add": [str(uuid.uuid4())]}).status_code == 404
    assert ClusterGroup.objects.get().clusters.count() == 0


@pytest.mark.parametrize("who", ["ben", "cleo"])
def test_who_may_not_administer_changes_no_group(api: Tool, who: str, request: pytest.FixtureRequest) -> None:
    cluster = a_cluster()
    place = made(api)["Location"]
    other = Tool(request.getfixturevalue(who))
    tries = [
        other("POST", "groups", {"name": "mine"}),
        other("PATCH", place, {"name": "mine"}, if_match="*"),
        other("POST", f"{place}/clusters", {"add": [str(cluster.pk)]}),
        other("DELETE", place, if_match="*"),
        other("PATCH", f"clusters/{cluster.pk}/labels", {"labels": {"team": "mine"}}, if_match="*"),
    ]
    assert [one.status_code for one in tries] == [403] * 5
    row = ClusterGroup.objects.get()
    assert (row.name, row.clusters.count(), ClusterLabel.objects.count()) == ("shop", 0, 0)


def test_labels_are_set_read_and_asked_for(api: Tool) -> None:
    row = a_cluster("a", eks_arn="arn:aws:eks:eu-west-1:123456789012:cluster/a")
    a_cluster("b")
    place = f"clusters/{row.pk}/labels"
    tag = api("GET", place)["ETag"]
    said = {"labels": {"team": "shop", "environment": "prod", "never": None}}
    told = api("PATCH", place, said, if_match=tag)
    assert told.json()["labels"] == [
        {"key": "account", "value": "123456789012", "derived": True},
        {"key": "environment", "value": "prod", "derived": False},
        {"key": "region", "value": "eu-west-1", "derived": True},
        {"key": "team", "value": "shop", "derived": False},
    ]
    listed = api("GET", "clusters?label=team:shop,region:eu-west-1").json()["results"]
    assert [(one["name"], one["labels"]) for one in listed] == [("a", told.json()["labels"])]
    assert api("GET", "clusters?label=team:other").json()["results"] == []
    assert api("PATCH", place, said, if_match=tag).status_code == 412
    refused = api("PATCH", place, {"labels": {"region": "mars"}}, if_match=told["ETag"])
    assert (refused.status_code, refused.json()["code"]) == (409, "derived")


@pytest.mark.parametrize("labels", [{}, {"Team": "a"}, {"team": 5}, {"team": "a,b"}, [], {"team": "x" * 121}])
def test_what_can_be_no_label(api: Tool, labels: Any) -> None:
    row = a_cluster()
    answer = api("PATCH", f"clusters/{row.pk}/labels", {"labels": labels}, if_match="*")
    assert (answer.status_code, ClusterLabel.objects.count()) == (400, 0)


@pytest.mark.parametrize("query", ["group=x", "label=shop", "label=:a", "label=team:a,b", "check=" + "x" * 81])
def test_filters_that_mean_nothing_are_refused(api: Tool, query: str) -> None:
    assert api("GET", f"clusters?{query}").status_code == 400


def test_the_clusters_that_a_check_stands_in_the_way_of(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    a_cluster("dark", source="sample")
    check = "legacy_provisioners_gone"
    hops = {one["hop"] for one in api("GET", f"findings?check={check}&status=fail").json()["results"]}
    found = api("GET", f"clusters?check={check}&hop={sorted(hops)[0].replace('+', '%2B')}").json()["results"]
    assert [one["id"] for one in found] == [str(row.pk)]
    assert api("GET", f"fleet/summary?check={check}").json()["clusters"] == 1


def test_a_waiver_of_a_group(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    group = made(api).json()["id"]
    api("POST", f"groups/{group}/clusters", {"add": [str(row.pk)]})
    said = {"check": "legacy_provisioners_gone", "reason": "known", "owner": "us", "group": group}
    told = api("POST", "waivers", said | {"ends_at": ends()})
    assert (told.status_code, told.json()["group"], told.json()["group_name"]) == (201, group, "shop")
    shown = api("GET", f"findings?status=waived&cluster={row.pk}").json()["results"]
    assert {one["check"] for one in shown} == {"legacy_provisioners_gone"}
    for query in (f"cluster={row.pk}", f"group={group}", "state=active"):
        assert [one["id"] for one in api("GET", f"waivers?{query}").json()["results"]] == [told.json()["id"]]
    assert api("GET", f"waivers?group={uuid.uuid4()}").json()["results"] == []
    again = api("POST", "waivers", said | {"ends_at": ends()})
    both = api("POST", "waivers", said | {"ends_at": ends(), "cluster": str(row.pk)})
    assert (again.status_code, both.status_code) == (409, 400)


def ends() -> str:
    return (timezone.now() + timedelta(days=30)).isoformat()


def test_views_are_kept_shared_and_forgotten(api: Tool, ben: User) -> None:
    other = Tool(ben, "read", "admin")
    mine = api("POST", "fleet/views", {"name": "mine", "query": "?view=flat&label=team:shop"})
    shared = api("POST", "fleet/views", {"name": "all", "query": "bucket=blocked", "shared": True})
    assert (mine.status_code, mine.json()["query"], mine.json()["own"]) == (201, "view=flat&label=team:shop", True)
    assert [one["name"] for one in api("GET", "fleet/views").json()["results"]] == ["all", "mine"]
    seen = other("GET", "fleet/views").json()["results"]
    assert [(one["name"], one["own"], one["owner"]) for one in seen] == [("all", False, "ada")]
    assert (other("GET", mine["Location"]).status_code, other("DELETE", shared["Location"]).status_code) == (404, 404)
    assert api("POST", "fleet/views", {"name": "mine", "query": ""}).json()["id"] == mine.json()["id"]
    assert (api("DELETE", mine["Location"]).status_code, SavedView.objects.get().name) == (204, "all")


def test_the_burndown_of_a_cluster_a_group_and_the_fleet(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    a_cluster("dark", source="sample")
    group = made(api).json()["id"]
    api("POST", f"groups/{group}/clusters", {"add": [str(row.pk)]})
    fleet = api("GET", "fleet/burndown").json()
    mine = api("GET", f"fleet/burndown?cluster={row.pk}").json()
    assert api("GET", f"fleet/burndown?group={group}").json() == mine
    assert (fleet["clusters"], mine["clusters"]) == (2, 1)
    assert [one["objects"]["points"][-1]["certainty"] for one in (fleet, mine)] == ["at_least", "exact"]
    assert mine["objects"]["points"][-1]["count"] > 0
    assert mine["objects"]["projection"] == {
        "outcome": "too_little", "ends_on": None, "per_week": 0.0, "certainty": "exact",
    }  # fmt: skip
    nothing = api("GET", f"fleet/burndown?cluster={uuid.uuid4()}").json()
    assert (nothing["clusters"], nothing["nodes"]["points"]) == (0, [])
    assert (nothing["way"]["done"], nothing["way"]["end"]["outcome"], nothing["falls"]) == (
        {"percent": None, "bound": "unknown"}, "unknown", [],
    )  # fmt: skip


def test_the_burndown_tells_the_way_and_why_it_fell(api: Tool) -> None:
    shop, today = a_cluster("shop"), timezone.now().date()
    for back, machines in ((2, 10), (1, 10), (0, 15)):
        counts = dict.fromkeys(COLUMNS, 0) | {"machines": machines, "objects_total": 20}
        LegacyDay.objects.create(cluster=shop, day=today - timedelta(days=back), **counts)
    told = api("GET", f"fleet/burndown?cluster={shop.pk}").json()
    # a quarter of the first half is done, and nothing is to do in the second
    assert told["way"] == {
        "done": {"percent": 62, "bound": "exact"},
        "end": {"outcome": "too_little", "on": None, "certainty": "exact", "lacks": {"scans": 1, "days": 5}},
    }
    assert told["falls"] == [{"day": str(today), "measure": "objects", "cause": "more_left", "number": 5}]
