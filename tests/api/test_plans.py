"""plans over REST: asked for, read, frozen; never approved (A11, A42, T13, T14)."""

import dataclasses
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Approval, Rollout
from tests.api.conftest import Tool
from tests.builders.rollouts import a_rollout, an_approval, entitled, remove
from tests.builders.rows import a_cluster


@pytest.fixture
def shop(db: None) -> Cluster:
    return a_cluster("shop", environment="production")


@pytest.fixture
def olga(db: None) -> User:
    """Operates, and nothing else."""
    return entitled(User.objects.create_user("olga"), "operate_rollout")


@pytest.fixture
def plans(olga: User) -> Tool:
    return Tool(olga, "read", "plan")


def body(shop: Cluster, **more: Any) -> dict[str, Any]:
    return {"cluster": str(shop.pk), "action": "taint_and_drift", "parameters": {"provisioners": ["default"]}} | more


def test_a_plan_is_asked_for_and_a_worker_woken(
    plans: Tool, shop: Cluster, house: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = plans("POST", "plans", body(shop, ticket="OPS-1"), idempotency_key="k")
    row, said = Rollout.objects.get(), answer.json()
    assert (answer.status_code, answer["Location"].endswith(f"/api/v1/plans/{row.pk}"), answer["ETag"]) == (
        202, True, '"v1"',
    )  # fmt: skip
    assert (said["state"], said["plan"], said["author"], said["ticket"], house) == (
        "draft", None, "olga", "OPS-1", [row.pk],
    )  # fmt: skip


def test_a_plan_needs_a_key(plans: Tool, shop: Cluster) -> None:
    answer = plans("POST", "plans", body(shop))
    assert (answer.status_code, answer.json()["code"], Rollout.objects.count()) == (400, "key_needed", 0)


def test_sent_twice_it_is_one_plan(plans: Tool, shop: Cluster) -> None:
    first, second = (plans("POST", "plans", body(shop), idempotency_key="k") for _ in range(2))
    assert (second.content, second["Idempotency-Replayed"], Rollout.objects.count()) == (first.content, "true", 1)


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"action": "no_such"}, 400, "unknown_action"),
        ({"parameters": {"what": 1}}, 400, "unknown_parameter"),
        ({"parameters": {"seconds": 1.5}}, 400, "bad_parameter"),
        ({"parameters": {"provisioners": [{"a": 1}]}}, 400, "bad_parameter"),
        ({"action": "roll_back"}, 400, "bad_input"),
        ({"cluster": "00000000-0000-0000-0000-000000000001"}, 404, "not_found"),
        ({"what": 1}, 400, "invalid"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    plans: Tool, shop: Cluster, changed: dict[str, Any], status: int, code: str
) -> None:
    answer = plans("POST", "plans", body(shop, **changed), idempotency_key="k")
    assert (answer.status_code, answer.json()["code"], Rollout.objects.count()) == (status, code, 0)


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"what/now": 1}, "#/parameters/what~1now"),
        ({"provisioners": "default"}, "#/parameters/provisioners"),
        ({"seconds": True}, "#/parameters/seconds"),
    ],
)
def test_a_wrong_parameter_is_pointed_at(plans: Tool, shop: Cluster, parameters: dict[str, Any], pointer: str) -> None:
    answer = plans("POST", "plans", body(shop, parameters=parameters), idempotency_key="k")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("source", ["sample", "bundle"])
def test_a_cluster_that_is_only_looked_at_is_refused_at_once(plans: Tool, source: str) -> None:
    said = plans("POST", "plans", body(a_cluster("x", source=source)), idempotency_key="k")
    assert (said.status_code, said.json()["code"], Rollout.objects.exists()) == (409, "read_only", False)


def test_an_installation_that_only_looks_refuses_at_once(plans: Tool, shop: Cluster, settings: Any) -> None:
    settings.ENV = dataclasses.replace(settings.ENV, action_slots=0)
    said = plans("POST", "plans", body(shop), idempotency_key="k")
    assert (said.status_code, said.json()["code"], Rollout.objects.exists()) == (409, "read_only", False)
    assert said.json()["detail"].startswith("This installation only looks")


@pytest.mark.parametrize("scopes", [("read",), ("read", "act"), ("read", "scan", "admin", "audit")])
def test_the_scope_is_needed(olga: User, shop: Cluster, scopes: tuple[str, ...]) -> None:
    answer = Tool(olga, *scopes)("POST", "plans", body(shop), idempotency_key="k")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_the_right_is_needed_too(ben: User, shop: Cluster) -> None:
    assert Tool(ben, "read", "plan")("POST", "plans", body(shop), idempotency_key="k").status_code == 403
    assert Rollout.objects.count() == 0


def test_a_plan_is_read_with_every_request_it_would_send(plans: Tool, olga: User, shop: Cluster) -> None:
    row = a_rollout(shop, remove(), author=olga, provable={"s001": "not provable: a webhook"})
    said = plans("GET", f"plans/{row.pk}").json()
    step = said["plan"]["steps"][0]
    assert (step["id"], step["change"]["verb"], step["change"]["target"]["name"]) == ("s001", "delete", "ip-10-0-0-1")
    assert (said["digest"], said["needed"], said["agreed"], said["doubts"]) == (
        row.digest, 1, [], {"s001": "not provable: a webhook"},
    )  # fmt: skip


def test_asking_needs_what_was_read(plans: Tool, olga: User, shop: Cluster) -> None:
    row = a_rollout(shop, author=olga)
    path = f"plans/{row.pk}/ask"
    assert plans("POST", path, {}, idempotency_key="a").json()["code"] == "if_match_needed"
    assert plans("POST", path, {}, idempotency_key="b", if_match='"v7"').json()["code"] == "stale"
    assert plans("POST", path, {}, idempotency_key="c", if_match="v1").status_code == 400
    answer = plans("POST", path, {}, idempotency_key="d", if_match='"v1"')
    assert (answer.status_code, answer.json()["state"], answer["ETag"]) == (200, "awaiting_approval", '"v2"')


def test_the_name_is_typed_where_the_action_wants_it(plans: Tool, olga: User, shop: Cluster) -> None:
    row = a_rollout(shop, author=olga, action="forced_deletion")
    headers = {"if_match": '"v1"'}
    refused = plans("POST", f"plans/{row.pk}/ask", {}, idempotency_key="a", **headers)
    taken = plans("POST", f"plans/{row.pk}/ask", {"typed": "shop"}, idempotency_key="b", **headers)
    assert (refused.json()["code"], taken.status_code) == ("name_not_typed", 200)


@pytest.mark.parametrize("scopes", [("read",), ("read", "scan", "plan", "act", "admin", "audit")])
def test_no_token_approves(ada: User, shop: Cluster, scopes: tuple[str, ...]) -> None:  # A42, T14
    row = a_rollout(shop, state="awaiting_approval")
    answer = Tool(ada, *scopes)("POST", f"plans/{row.pk}/approve", {"digest": row.digest, "nonce": row.nonce})
    assert (answer.status_code, answer.json()["code"], Approval.objects.count()) == (403, "person_needed", 0)
    assert f"/rollouts/{row.pk}/" in answer.json()["detail"]


def test_a_session_approves_in_the_browser_only(ada: User, shop: Cluster) -> None:  # A42
    row, client = a_rollout(shop, state="awaiting_approval"), Client()
    client.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(f"/api/v1/plans/{row.pk}/approve", "{}", content_type="application/json")
    assert (answer.status_code, answer.json()["code"], Approval.objects.count()) == (403, "person_needed", 0)


def test_the_owner_of_the_starting_token_is_no_approver(shop: Cluster) -> None:  # A42
    eve = entitled(User.objects.create_user("eve"), "operate_rollout", "approve_rollout")
    row = a_rollout(shop, state="approved")
    an_approval(row, eve)
    answer = Tool(eve, "act")(
        "POST", f"rollouts/{row.pk}/start", {"digest": row.digest}, idempotency_key="k", if_match='"v1"'
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "approval_missing")
