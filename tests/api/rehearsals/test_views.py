"""Rehearsals over REST: asked for, read with what came of them, refused with a code (A11, T12, T13)."""

import uuid
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User

from migrations_app.models.cluster import Cluster
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.rehearsals.play import Failure
from tests.api.conftest import Tool
from tests.builders.rehearsals import a_rehearsal, played
from tests.builders.rollouts import a_rollout, entitled
from tests.builders.rows import a_cluster

FAILURES = (Failure("full_zone"), Failure("webhook_down"))


@pytest.fixture
def row(db: None) -> Rollout:
    return a_rollout(a_cluster("shop"))


@pytest.fixture
def tool(row: Rollout) -> Tool:
    return Tool(entitled(User.objects.create_user("olga"), "operate_rollout"), "read", "plan")


def post(tool: Tool, row: Rollout, body: Any = None, key: str = "k") -> Any:
    return tool("POST", f"plans/{row.pk}/rehearsals", body or {}, idempotency_key=key)


def test_it_is_asked_for_and_a_worker_woken(
    tool: Tool, row: Rollout, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    woken: list[uuid.UUID] = []
    monkeypatch.setattr("migrations_app.api.rehearsals.views.enqueue_rehearsal", woken.append)
    failures = [{"scenario": "full_zone", "zone": "eu-1a"}, {"scenario": "webhook_down", "zone": "ignored"}]
    with django_capture_on_commit_callbacks(execute=True):
        answer = post(tool, row, {"failures": failures, "seed": 4})
    made, said = Rehearsal.objects.get(), answer.json()
    assert (answer.status_code, answer["Location"].endswith(f"/api/v1/plans/{row.pk}/rehearsals"), woken) == (
        202, True, [made.pk],
    )  # fmt: skip
    assert (said["state"], said["seed"], said["digest"], said["current"], said["result"], said["requested_by"]) == (
        "queued", 4, row.digest, True, None, "olga",
    )  # fmt: skip
    assert made.failures == [["full_zone", "eu-1a"], ["webhook_down", ""]]


def test_the_same_request_twice_asks_once(tool: Tool, row: Rollout) -> None:  # A11
    assert post(tool, row).json() == post(tool, row).json()
    assert Rehearsal.objects.count() == 1


def test_the_result_is_the_one_that_was_stored(tool: Tool, row: Rollout) -> None:
    a_rehearsal(row, state="failed")
    a_rehearsal(row, *FAILURES)
    (newest,) = tool("GET", f"plans/{row.pk}/rehearsals").json()["results"]
    assert newest["result"]["plays"] == msgspec.json.decode(msgspec.json.encode(played(*FAILURES)))
    both = tool("GET", f"plans/{row.pk}/rehearsals?limit=5").json()["results"]
    assert [(one["state"], one["error_code"]) for one in both] == [("finished", ""), ("failed", "worker_lost")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"failures": [{"scenario": "none"}]}, 400),
        ({"failures": [{"scenario": "webhook_down"}] * 2}, 400),
        ({"seed": -1}, 400),
        ({"odd": 1}, 400),
    ],
)
def test_odd_requests_are_refused(tool: Tool, row: Rollout, body: dict[str, Any], status: int) -> None:  # T12
    assert (post(tool, row, body).status_code, Rehearsal.objects.count()) == (status, 0)


def test_a_plan_that_was_started_is_not_rehearsed(tool: Tool, row: Rollout) -> None:
    answer = post(tool, a_rollout(row.cluster, state="running"))
    assert (answer.status_code, answer.json()["code"]) == (409, "moved")


def test_a_demanded_rehearsal_is_told_by_its_code(row: Rollout) -> None:  # A46
    from migrations_app.models.policy import Policy

    Policy.objects.create(rehearsals=["medium"], approvals={"low": 0, "medium": 0, "high": 1, "destructive": 1})
    tool = Tool(entitled(User.objects.create_user("otto"), "operate_rollout"), "read", "plan", "act")
    answer = tool("POST", f"plans/{row.pk}/ask", {}, idempotency_key="a", if_match='"v1"')
    assert (answer.status_code, answer.json()["code"]) == (409, "rehearsal_missing")
    shown = tool("GET", f"clusters/{Cluster.objects.get().pk}/policy").json()
    assert shown["rehearsals"] == ["medium"]
