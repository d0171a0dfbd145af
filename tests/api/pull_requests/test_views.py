"""Pull requests over REST: preview, state, opening by people alone; the hosts are stand-ins."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.models.pull_request import PullRequest
from migrations_app.use_cases.pull_requests.preview import PreviewRequest
from tests.api.conftest import Tool
from tests.builders.rollouts import entitled
from tests.fakes.git_hosts import FakeGitHub, FakeHost
from tests.readiness.pull_requests.test_conversion import BETA
from tests.use_cases.pull_requests.stage import CHECK, FILE, FILES, HOP, a_delivered_cluster, registered, running

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> FakeHost:
    return FakeGitHub(files=dict(FILES))


@pytest.fixture
def asked(host, settings, monkeypatch, tmp_path, admin_user):
    from migrations_app.queries.visibility import ALL, visibility_scope

    with running(host, settings, monkeypatch, tmp_path) as address:
        with visibility_scope(ALL):
            cluster, repository = a_delivered_cluster(address), registered(host, address)
        yield PreviewRequest(cluster=cluster.pk, check=CHECK, hop=HOP, repository=repository, path="clusters/shop")


@pytest.fixture
def olga(db: None) -> User:
    return entitled(User.objects.create_user("olga"), "operate_rollout")


@pytest.fixture
def tool(olga: User) -> Tool:
    return Tool(olga, "read", "plan", "act")


def previewed(tool: Tool, asked: PreviewRequest, *, key: str = "k1", **changed: Any) -> Any:
    body = {"check": asked.check, "hop": asked.hop, "repository": str(asked.repository), "path": asked.path} | changed
    body = {name: value for name, value in body.items() if value is not None}
    return tool("POST", f"clusters/{asked.cluster}/pull-requests", body, idempotency_key=key)


def sent(client: Client, path: str, body: dict[str, Any], *, key: str) -> Any:
    headers = {"Idempotency-Key": key}
    return client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def test_a_preview_shows_the_difference_and_writes_nothing(host, asked, tool):
    answer = previewed(tool, asked)
    told = answer.json()
    assert (answer.status_code, answer["Location"]) == (201, f"http://testserver/api/v1/pull-requests/{told['id']}")
    assert (told["check"], told["hop"], told["state"], told["number"], told["link"]) == (
        CHECK,
        HOP,
        "previewed",
        None,
        "",
    )
    (file,) = told["proposal"]["files"]
    assert file["path"] == FILE
    assert '-    consolidateAfter: 0s  # too eager\n+    consolidateAfter: "1m"  # too eager\n' in file["diff"]
    assert host.written() == []
    assert tool("GET", f"pull-requests/{told['id']}").json() == told
    listed = tool("GET", f"clusters/{asked.cluster}/pull-requests").json()["results"]
    assert listed == [{name: value for name, value in told.items() if name != "proposal"}]
    again = previewed(tool, asked)
    assert (again.json(), again["Idempotency-Replayed"]) == (told, "true")


def test_a_program_never_opens_one(host, asked, tool):  # A42
    told = previewed(tool, asked).json()
    refused = tool("POST", f"pull-requests/{told['id']}/open", {"digest": told["digest"]}, idempotency_key="k2")
    assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")
    assert (host.written(), PullRequest.objects.get().state) == ([], "previewed")


def test_a_person_opens_it_and_its_state_is_asked_for(host, asked, tool, olga, client):
    told = previewed(tool, asked).json()
    client.force_login(olga)
    stale = sent(client, f"pull-requests/{told['id']}/open", {"digest": "0" * 64}, key="k2")
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    opened = sent(client, f"pull-requests/{told['id']}/open", {"digest": told["digest"]}, key="k3").json()
    assert (opened["state"], opened["number"], opened["approved_by"]) == ("open", 1, "olga")
    assert previewed(tool, asked, key="k4").json()["id"] == told["id"]

    host.requests[0] |= {"state": "closed", "merged": True, "merged_at": "2026-11-23T00:00:00Z"}
    after = tool("POST", f"pull-requests/{told['id']}/refresh", {}, idempotency_key="k5")
    assert (after.status_code, after.json()["state"]) == (200, "merged")


def test_manifests_are_converted(host, asked, tool):
    host.push("main", {"clusters/shop/pool.yaml": BETA})
    told = previewed(tool, asked, check=None, hop=None, convert_to="v1").json()
    assert (told["check"], told["hop"], told["state"]) == ("conversion", "v1", "previewed")
    assert "-apiVersion: karpenter.sh/v1beta1\n+apiVersion: karpenter.sh/v1\n" in told["proposal"]["files"][0]["diff"]


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"check": "other_check"}, 404, "not_found"),
        ({"repository": str(uuid.UUID(int=1))}, 404, "not_found"),
        ({"path": "README.md"}, 400, "not_in_files"),
        ({"path": "../x"}, 400, "bad_path"),
        ({"convert_to": "v1"}, 400, "invalid"),
        ({"check": None, "hop": None}, 400, "invalid"),
        ({"check": None, "hop": None, "convert_to": "v2"}, 400, "invalid"),
        ({"extra": 1}, 400, "invalid"),
    ],
)
def test_what_cannot_be_previewed_says_why(host, asked, tool, changed, status, code):
    refused = previewed(tool, asked, **changed)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert (host.written(), PullRequest.objects.count()) == ([], 0)


def test_a_token_that_the_host_refuses_is_told(host, asked, tool):
    host.token = "another"
    refused = previewed(tool, asked)
    assert (refused.status_code, refused.json()["code"]) == (409, "refused_by_host")


def test_repositories_are_listed_without_their_credential(asked, tool, ben):
    (row,) = tool("GET", "repositories").json()["results"]
    assert (row["id"], set(row)) == (str(asked.repository), {"id", "kind", "address", "app", "group", "group_name"})
    assert Tool(ben, "read")("GET", "repositories").status_code == 403
