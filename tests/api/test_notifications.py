"""Channels and deliveries over REST: addresses and secrets are written, and never read."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import route_events
from tests.api.conftest import Tool


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Channels that a worker was woken for."""
    found: list[uuid.UUID] = []
    monkeypatch.setattr("migrations_app.api.notifications.enqueue_channel", found.append)
    return found


def body(**given: Any) -> dict[str, Any]:
    usual = {
        "name": "ops",
        "kind": "webhook",
        "target": "https://hooks.example/x?key=canary",
        "events": ["scan.failed"],
    }
    return usual | given


def test_a_channel_is_made_shown_without_its_address_changed_and_forgotten(api: Tool) -> None:
    group = ClusterGroup.objects.create(name="prod")
    made = api("POST", "channels", body(groups=[str(group.pk)]))
    first = made.json()
    assert (made.status_code, first["place"], first.pop("secret")[:4]) == (201, "https://hooks.example/…", "kdw_")
    assert first["groups"] == [{"id": str(group.pk), "name": "prod"}]
    shown = api("GET", made["Location"])
    assert (shown.json(), "canary" in shown.content.decode(), shown["ETag"]) == (first, False, made["ETag"])
    assert api("GET", "channels").json() == {"results": [first], "next": None}
    change = {"enabled": False, "groups": []}
    assert api("PATCH", made["Location"], change).status_code == 428
    changed = api("PATCH", made["Location"], change, if_match=made["ETag"])
    assert changed.json() == first | {"enabled": False, "groups": [], "everywhere": True}
    assert api("PATCH", made["Location"], change, if_match=made["ETag"]).status_code == 412
    assert api("DELETE", made["Location"], if_match=made["ETag"]).status_code == 412
    gone = api("DELETE", made["Location"], if_match=changed["ETag"])
    assert (gone.status_code, Channel.objects.count()) == (204, 0)
    assert api("DELETE", made["Location"], if_match="*").status_code == 404


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"target": "http://hooks.example"}, "#/target"),
        ({"kind": "fax"}, "#/kind"),
        ({"kind": "people"}, "#/kind"),
        ({"events": ["no.such"]}, "#/events/0"),
        ({"events": []}, "#/events"),
        ({"groups": [str(uuid.uuid4())]}, "#/groups"),
        ({"secret": "mine"}, "#/secret"),
        ({"enabled": False}, "#/enabled"),
    ],
)
def test_what_is_wrong_is_pointed_at_and_not_repeated(api: Tool, given: dict[str, Any], pointer: str) -> None:
    answer = api("POST", "channels", body(**given))
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"], "canary" in answer.content.decode()) == (400, pointer, False)


def test_a_name_is_given_once(api: Tool) -> None:
    assert api("POST", "channels", body()).status_code == 201
    answer = api("POST", "channels", body())
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")


def test_a_secret_is_turned_and_a_test_is_sent(
    api: Tool, told: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    made = api("POST", "channels", body())
    key = made.json()["id"]
    turned = api("POST", f"channels/{key}/secret", {})
    assert (turned.status_code, turned.json()["secret"] != made.json()["secret"]) == (201, True)
    with django_capture_on_commit_callbacks(execute=True):
        sent = api("POST", f"channels/{key}/test", {})
    shown = api("GET", sent["Location"]).json()
    assert (sent.status_code, shown["topic"], shown["state"], told) == (
        202, "karpdash.test", "waiting", [uuid.UUID(key)],
    )  # fmt: skip
    for path in ("secret", "test"):
        assert api("POST", f"channels/{uuid.uuid4()}/{path}", {}).status_code == 404


def test_deliveries_are_listed_narrowed_and_sent_again(
    api: Tool, told: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    key = api("POST", "channels", body(events=["rollout.paused"])).json()["id"]
    for number in range(3):
        publish_event("rollout.paused", f"shop-{number}")
    route_events(timezone.now())
    tried = [{"at": timezone.now().isoformat(), "code": "sink_500"}]
    Delivery.objects.filter(body__subject="shop-1").update(state="failed", attempts=1, last_error="sink_500", log=tried)
    page = api("GET", "deliveries?limit=2").json()
    rest = api("GET", page["next"]).json()
    assert sorted(row["subject"] for row in page["results"] + rest["results"]) == ["shop-0", "shop-1", "shop-2"]
    (failed,) = api("GET", f"deliveries?state=failed&channel={key}").json()["results"]
    assert ([one["code"] for one in failed["log"]], failed["last_error"]) == (["sink_500"], "sink_500")
    with django_capture_on_commit_callbacks(execute=True):
        again = api("POST", f"deliveries/{failed['id']}/resend", {})
    assert (again.status_code, again.json()["state"], told) == (202, "waiting", [uuid.UUID(key)])
    assert api("POST", f"deliveries/{uuid.uuid4()}/resend", {}).status_code == 404


@pytest.mark.parametrize("scopes", [["read"], ["scan", "plan", "act"]])
def test_it_takes_the_scope_admin(ada: User, scopes: list[str]) -> None:
    tool = Tool(ada, *scopes)
    assert [tool("GET", path).status_code for path in ("channels", "deliveries")] == [403, 403]
    assert tool("POST", "channels", body()).status_code == 403


def test_it_takes_the_right_to_change_policies(cleo: User) -> None:
    tool = Tool(cleo, "read", "admin")
    answers = [tool("GET", "channels"), tool("POST", "channels", body()), tool("GET", "deliveries")]
    assert ([one.status_code for one in answers], Channel.objects.count()) == ([403] * 3, 0)


def test_a_channel_of_a_service_has_a_key_that_is_never_read(api: Tool) -> None:
    given = {"kind": "pagerduty", "target": "https://events.pagerduty.com/v2/enqueue"}
    assert api("POST", "channels", body(**given)).json()["errors"][0]["pointer"] == "#/key"
    made = api("POST", "channels", body(**given, key="canary-key"))
    assert (made.status_code, made.json()["kind"], "canary" in made.content.decode()) == (201, "pagerduty", False)
    moved = {"target": "https://elsewhere.example/"}
    refused = api("PATCH", made["Location"], moved, if_match=made["ETag"])
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "#/key")
    assert api("PATCH", made["Location"], moved | {"key": "canary-2"}, if_match=made["ETag"]).status_code == 200
    assert "canary" not in api("GET", made["Location"]).content.decode()
