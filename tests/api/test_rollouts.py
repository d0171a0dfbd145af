"""rollouts over REST: lists, one whole, the acts under If-Match and key, events with ETag, exports, policies."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rollouts.policies import kill_switch_state, policy_row
from migrations_app.use_cases.rollouts.backups import store_backup
from tests.api.conftest import Tool
from tests.builders.rollouts import a_line, a_picture, a_rollout, an_approval, entitled, taint
from tests.builders.rows import a_cluster

ACTS = ("start", "pause", "resume", "abort", "roll_back")
POLICY = {"approvals": {"low": 0, "medium": 1, "high": 2, "destructive": 2}, "actions": ["taint_and_drift"]}


@pytest.fixture
def shop(db: None) -> Cluster:
    return a_cluster("shop", environment="production")


@pytest.fixture
def olga(db: None) -> User:
    return entitled(User.objects.create_user("olga"), "operate_rollout")


@pytest.fixture
def paul(db: None) -> User:
    return entitled(User.objects.create_user("paul"), "approve_rollout")


@pytest.fixture
def acts(olga: User) -> Tool:
    return Tool(olga, "read", "plan", "act")


def sent(tool: Tool, row: Rollout, name: str, **headers: str) -> Any:
    said = {"digest": row.digest} if name == "start" else {}
    given = {"idempotency_key": f"{name}-{row.pk}", "if_match": f'"v{row.version}"'} | headers
    return tool("POST", f"rollouts/{row.pk}/{name}", said, **given)


def test_the_list_is_narrowed_and_paged(acts: Tool, shop: Cluster) -> None:
    other = a_cluster("other")
    for number in range(3):
        a_rollout(shop, state="succeeded", title=f"t{number}")
    a_rollout(other, state="running")
    assert [len(acts("GET", f"rollouts?{query}").json()["results"]) for query in (
        "", "state=under_way", "state=succeeded", f"cluster={shop.pk}", "action=roll_nodes", "state=draft",
    )] == [4, 1, 3, 3, 0, 0]  # fmt: skip
    first = acts("GET", "rollouts?limit=3").json()
    assert [len(first["results"]), len(acts("GET", first["next"]).json()["results"])] == [3, 1]
    assert acts("GET", "rollouts?cluster=00000000-0000-0000-0000-000000000001").status_code == 404
    assert acts("GET", "rollouts?state=nonsense").json()["code"] == "invalid"


def test_one_tells_how_far_it_is_and_what_was_counted(acts: Tool, shop: Cluster) -> None:
    row = a_rollout(shop, taint(), taint(), state="running", picture=a_picture(), waits_for="calm")
    a_line(row, verb="gate", outcome="noop")
    answer = acts("GET", f"rollouts/{row.pk}")
    said = answer.json()
    assert [one["standing"] for one in said["steps"]] == ["done", "todo"]
    assert (said["done"], said["picture"]["legacy_nodes"], said["picture"]["blocked"][0]["pod"], said["waits_for"]) == (
        1, 7, "cart-0", "calm",
    )  # fmt: skip
    assert answer["ETag"] == '"v1"'


def test_the_straight_way(
    acts: Tool, paul: User, shop: Cluster, house: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    row = a_rollout(shop, state="approved")
    an_approval(row, paul)
    with django_capture_on_commit_callbacks(execute=True):
        started = sent(acts, row, "start")
    assert (started.status_code, started.json()["state"], started["ETag"], house) == (202, "running", '"v2"', [row.pk])
    row.refresh_from_db()
    paused = sent(acts, row, "pause")
    assert (paused.status_code, paused.json()["wish"]) == (202, "pause")
    Rollout.objects.filter(pk=row.pk).update(state="paused", stop_request="", version=3)
    row.refresh_from_db()
    resumed = sent(acts, row, "resume")
    assert (resumed.status_code, resumed.json()["state"]) == (202, "running")
    row.refresh_from_db()
    assert sent(acts, row, "abort").json()["wish"] == "abort"


def test_taking_back_makes_a_plan(acts: Tool, shop: Cluster) -> None:  # A35
    row = a_rollout(shop, state="failed")
    a_line(row)
    answer = sent(acts, row, "roll_back")
    made = Rollout.objects.get(rolls_back=row)
    assert (answer.status_code, answer.json()["rolls_back"], answer["Location"].endswith(f"/plans/{made.pk}")) == (
        202, str(row.pk), True,
    )  # fmt: skip


@pytest.mark.parametrize("name", ACTS)
def test_every_act_needs_a_key_and_what_was_read(acts: Tool, shop: Cluster, name: str) -> None:  # A11
    row = a_rollout(shop, state="approved")
    path, said = f"rollouts/{row.pk}/{name}", {"digest": row.digest} if name == "start" else {}
    assert acts("POST", path, said, if_match='"v1"').json()["code"] == "key_needed"
    assert acts("POST", path, said, idempotency_key="a").status_code == 428
    assert acts("POST", path, said, idempotency_key="b", if_match='"v9"').status_code == 412
    row.refresh_from_db()
    assert (row.state, row.version) == ("approved", 1)


@pytest.mark.parametrize("name", ACTS)
def test_every_act_is_refused_without_scope_or_right(ben: User, olga: User, shop: Cluster, name: str) -> None:  # T13
    row = a_rollout(shop, state="running")
    for tool in (Tool(olga, "read"), Tool(ben, "read", "plan", "act")):
        answer = sent(tool, row, name)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_an_approver_may_stop_with_a_token(paul: User, shop: Cluster) -> None:  # A10
    row = a_rollout(shop, state="running")
    assert sent(Tool(paul, "act"), row, "pause").status_code == 202


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"state": "awaiting_approval"}, "moved"),
        ({"state": "approved"}, "approval_missing"),
        ({"state": "approved", "expires_at": timezone.now() - timedelta(days=1)}, "expired"),
        ({"state": "approved", "policy_version": 4}, "policy_moved"),
    ],
)
def test_a_start_that_is_refused_says_so_by_its_code(
    acts: Tool, shop: Cluster, columns: dict[str, Any], code: str
) -> None:
    answer = sent(acts, a_rollout(shop, **columns), "start")
    assert (answer.status_code, answer.json()["code"]) == (409, code)


def test_another_digest_starts_nothing(acts: Tool, paul: User, shop: Cluster) -> None:  # A41
    row = a_rollout(shop, state="approved")
    an_approval(row, paul)
    row.digest = "0" * 64
    assert sent(acts, row, "start").json()["code"] == "digest_moved"


def test_the_winner_is_named_to_the_loser(acts: Tool, paul: User, shop: Cluster) -> None:  # R08
    winner, row = a_rollout(shop, state="running"), a_rollout(shop, state="approved")
    an_approval(row, paul)
    said = sent(acts, row, "start").json()
    assert (said["code"], str(winner.pk) in said["detail"]) == ("busy", True)


def test_events_are_a_304_until_something_moves(acts: Tool, shop: Cluster) -> None:
    row = a_rollout(shop, state="running")
    a_line(row)
    first = acts("GET", f"rollouts/{row.pk}/events")
    again = acts("GET", f"rollouts/{row.pk}/events", if_none_match=first["ETag"])
    assert (first.json()["results"][0]["outcome"], again.status_code, again.content) == ("applied", 304, b"")
    a_line(row, "s002", outcome="")
    moved = acts("GET", f"rollouts/{row.pk}/events?limit=1", if_none_match=first["ETag"]).json()
    assert [line["step"] for line in moved["results"]] == ["s002"]


def test_exports_are_yaml_for_those_who_operate(acts: Tool, ben: User, shop: Cluster) -> None:
    row = a_rollout(shop)
    assert acts("GET", f"rollouts/{row.pk}/exports").status_code == 404
    target = taint().change.target  # type: ignore[union-attr]  # a taint has a request
    store_backup(
        row, target, read={"apiVersion": "v1", "kind": "Provisioner", "metadata": {"name": "default", "uid": "u"}}
    )
    answer = acts("GET", f"rollouts/{row.pk}/exports")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert answer.content == b"apiVersion: v1\nkind: Provisioner\nmetadata:\n  name: default\n"
    assert Tool(ben, "plan")("GET", f"rollouts/{row.pk}/exports").status_code == 403


def test_a_policy_is_replaced_under_if_match(api: Tool, shop: Cluster) -> None:
    for path, cluster in (("policies/default", None), (f"clusters/{shop.pk}/policy", shop.pk)):
        read = api("GET", path)
        assert api("PUT", path, POLICY).status_code == 428
        assert api("PUT", path, POLICY, if_match='"v77"').status_code == 412
        answer = api("PUT", path, POLICY, if_match=read["ETag"])
        assert (answer.status_code, answer.json()["approvals"]["high"]) == (200, 2)
        assert (answer["ETag"] != read["ETag"], policy_row(cluster).actions) == (True, ("taint_and_drift",))
    assert Policy.objects.count() == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"approvals": {"low": 0, "medium": 0, "high": 0, "destructive": 0}},
        {"actions": ["no_such"]},
        {"frozen": True},
        {"windows": [{"days": [1], "from": "10:00", "to": "10:00"}]},
        {"windows": [{"days": [9], "from": "10:00", "to": "11:00"}]},
        {"windows": [{"days": [1], "from": "24:00", "to": "11:00"}]},
        {"batch": 0},
        {"what": 1},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(api: Tool, db: None, changed: dict[str, Any]) -> None:
    answer = api("PUT", "policies/default", POLICY | changed, if_match="*")
    assert (answer.status_code, Policy.objects.count()) == (400, 0)


def test_windows_and_freeze_come_back_as_sent(api: Tool, db: None) -> None:
    night = {"days": [0, 4], "from": "22:00", "to": "04:00"}
    said = POLICY | {"windows": [night], "frozen": True, "frozen_why": "holidays"}
    answer = api("PUT", "policies/default", said, if_match="*").json()
    assert (answer["windows"], answer["frozen"], answer["frozen_why"]) == ([night], True, "holidays")


def test_an_operator_changes_no_policy(olga: User) -> None:
    assert Tool(olga, "admin")("PUT", "policies/default", POLICY, if_match="*").status_code == 403
    assert Policy.objects.count() == 0


def test_the_kill_switch_is_turned_by_a_token_and_lifted_by_none(acts: Tool, ben: User) -> None:  # A36
    assert Tool(ben, "act")("POST", "kill-switch", {"why": "x"}).status_code == 403
    answer = acts("POST", "kill-switch", {"why": "pods are lost"})
    assert (answer.status_code, answer.json()["on"], kill_switch_state().by) == (200, True, "olga")
    assert acts("GET", "kill-switch").json()["why"] == "pods are lost"
    assert acts("DELETE", "kill-switch").status_code == 405
    assert KillSwitch.objects.get().on is True


def test_a_cluster_that_is_held_is_not_forgotten(api: Tool, shop: Cluster) -> None:
    row = a_rollout(shop, state="paused")
    answer = api("DELETE", f"clusters/{shop.pk}", if_match="*")
    assert (answer.status_code, answer.json()["code"], str(row.pk) in answer.json()["detail"]) == (
        409, "rollout_holds", True,
    )  # fmt: skip
