"""aws-organizations over REST: made, looked at, its clusters registered, forgotten."""

import uuid
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from migrations_app.api import organizations
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.organizations import queue
from migrations_app.use_cases.organizations.account_listing import run_claimed_listing
from tests.api.conftest import Tool
from tests.fakes.aws_server import AwsServer
from tests.use_cases.clusters import eks
from tests.use_cases.organizations.organization_server import (
    BANK,
    HERE,
    HUB,
    HUB_ACCOUNT,
    SHOP,
    THERE,
    arn,
    open_roles,
    running,
)

PATH = "aws-organizations"
NEW = {"name": "acme", "account": HUB_ACCOUNT, "regions": [HERE, THERE]}


@pytest.fixture
def aws(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsServer]:
    """The fake AWS; a look that is asked for runs at once."""

    def look(organization_id: uuid.UUID) -> None:
        claim = queue.claim(organization_id)
        assert claim is not None
        run_claimed_listing(claim)

    monkeypatch.setattr(organizations, "enqueue_listing", look)
    monkeypatch.setattr(organizations, "enqueue_scan", lambda _scan: True)
    with running() as server:
        eks.at(settings, server)
        yield server


def made(api: Tool, aws: AwsServer) -> str:
    """The address of an organization whose roles are there, after a look."""
    answer = api("POST", PATH, NEW)
    assert answer.status_code == 201, answer.content
    whole = answer.json()
    assert answer["Location"].endswith(f"/{PATH}/{whole['id']}")
    open_roles(aws, whole["external_id"])
    place = f"{PATH}/{whole['id']}"
    assert api("POST", f"{place}/look").status_code == 202
    return place


@pytest.mark.django_db(transaction=True)
def test_the_whole_way(api: Tool, aws: AwsServer) -> None:
    place = made(api, aws)
    whole = api("GET", place).json()
    assert (whole["looking"], whole["error_code"], whole["drift"]) == (False, "", {"new": 2, "gone": [], "unread": []})
    assert [(account["name"], account["code"]) for account in whole["accounts"]] == [
        ("bank", ""),
        ("old", "account_not_active"),
        ("shop", ""),
    ]
    listed = api("GET", f"{place}/clusters?limit=1").json()
    assert [(one["arn"], one["account_name"], one["cluster_id"]) for one in listed["results"]] == [
        (arn(SHOP, "web"), "shop", None)
    ]
    second = api("GET", listed["next"].partition("/api/v1/")[2]).json()
    assert ([one["suggested"] for one in second["results"]], second["next"]) == (["core"], None)
    chosen = [{"arn": arn(BANK, "core", THERE), "name": "core"}, {"arn": arn(SHOP, "web"), "name": "web"}]
    answer = api("POST", f"{place}/clusters", {"clusters": chosen, "environment": "prod"})
    assert answer.status_code == 201, answer.content
    told = answer.json()["clusters"]
    assert [one["arn"] for one in told] == [one["arn"] for one in chosen]
    assert {str(scan.pk) for scan in Scan.objects.all()} == {one["scan"] for one in told}
    assert set(Cluster.objects.values_list("name", "environment")) == {("core", "prod"), ("web", "prod")}
    assert api("GET", place).json()["clusters"] == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_refused_leaves_nothing_behind(api: Tool, aws: AwsServer) -> None:
    place = made(api, aws)
    one = {"arn": arn(SHOP, "web"), "name": "web"}
    for clusters, status, code in (
        ([one, {"arn": arn(SHOP, "gone"), "name": "gone"}], 400, "bad_input"),
        ([one, one], 400, "bad_input"),
        ([], 400, "invalid"),
    ):
        answer = api("POST", f"{place}/clusters", {"clusters": clusters})
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    assert not Cluster.objects.exists()
    assert not Scan.objects.exists()


@pytest.mark.django_db
def test_a_wrong_entry_names_its_field(api: Tool, aws: AwsServer) -> None:
    answer = api("POST", PATH, NEW | {"regions": [HERE, "cn-north-1"]})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert api("POST", PATH, NEW).status_code == 201
    assert api("POST", PATH, NEW).json()["code"] == "name_taken"
    assert [row["hub_role_arn"] for row in api("GET", PATH).json()["results"]] == [HUB]


@pytest.mark.django_db
def test_it_is_forgotten_by_its_name(api: Tool, aws: AwsServer) -> None:
    place = f"{PATH}/{api('POST', PATH, NEW).json()['id']}"
    assert api("DELETE", f"{place}?name=other").json()["code"] == "name_not_typed"
    assert api("DELETE", f"{place}?name=acme").status_code == 204
    assert api("GET", place).status_code == 404
