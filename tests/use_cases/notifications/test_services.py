"""News to Teams, PagerDuty, Opsgenie and Jira by real HTTPS servers: sealed keys, and no issue that is made twice."""

import base64
import dataclasses
import json
import logging

import pytest
from django.utils import timezone
from jsonschema import Draft202012Validator

from migrations_app.errors import InvalidInput
from migrations_app.models.audit import AuditEvent
from migrations_app.models.notification import Channel, Delivery
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.publish import publish_event
from tests.clients.test_notification_services import KEY, SCHEMAS
from tests.servers.receiver import hangs_up
from tests.use_cases.notifications.news import add, ripen, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sends_to_loopback")]
WITHOUT_KEY = "teams"
SERVICES = ("teams", "pagerduty", "opsgenie", "jira")


def service(receiver, kind, **told):
    """A channel of that kind to the receiver."""
    root = receiver.url.partition("/hook")[0]
    url = f"{root}/base/?project=OPS&type=Bug" if kind == "jira" else f"{root}/canary-path"
    return add(url, kind=kind, key="" if kind == WITHOUT_KEY else KEY, **told)


def sent(receiver):
    return [json.loads(body) for _, body in receiver.got]


@pytest.mark.parametrize("kind", SERVICES)
def test_a_message_arrives_as_the_service_wants_it(receiver, kind):
    service(receiver, kind)
    publish_event("rollout.failed", "shop", why="a <b> [x](https://evil.example)")
    publish_event("scan.recovered", "till")
    assert send() == 2
    ((headers, body),) = receiver.got
    assert [one.message for one in Draft202012Validator(SCHEMAS[kind]).iter_errors(json.loads(body))] == []
    assert (headers["Content-Type"], b"Rollout failed: shop" in body, b"Scans recovered: till" in body) == (
        "application/json", True, True,
    )  # fmt: skip
    path = {"jira": "/base/rest/api/2/issue"}.get(kind, "/canary-path")
    key = {"opsgenie": f"GenieKey {KEY}", "jira": f"Bearer {KEY}"}.get(kind)
    assert (receiver.asked, headers.get("Authorization")) == ([f"POST {path}"], key)


@pytest.mark.parametrize(
    ("events", "severity"),
    [
        (["scan.recovered"], "info"),
        (["scan.recovered", "check.new_blocker"], "warning"),
        (["check.new_blocker", "rollout.paused"], "error"),
        (["rollout.paused", "kill_switch.on"], "critical"),
    ],
)
def test_the_worst_event_says_how_bad_it_is(receiver, events, severity):
    service(receiver, "pagerduty")
    for event in events:
        publish_event(event, "shop")
    send()
    assert sent(receiver)[0]["payload"]["severity"] == severity


@pytest.mark.parametrize(("kind", "place"), [("pagerduty", "dedup_key"), ("opsgenie", "alias")])
def test_an_attempt_whose_answer_got_lost_makes_no_second_incident(receiver, kind, place):  # R07
    service(receiver, kind)
    receiver.answer = hangs_up
    publish_event("rollout.failed", "shop")
    assert send() == 0
    publish_event("rollout.failed", "till")  # the service may have the first message: this is none of it
    receiver.answer = 202
    assert (send(), send()) == (1, 1)
    first, second, third = sent(receiver)
    assert first == second
    assert first[place] == str(Delivery.objects.order_by("made_at").first().event_id) != third[place]
    assert ["till" in json.dumps(one) for one in (first, second, third)] == [False, False, True]
    publish_event("rollout.failed", "shop")
    send()
    assert sent(receiver)[3][place] not in (first[place], third[place])


def search(*, issues):
    return 200, json.dumps({"issues": issues}).encode()


@pytest.mark.parametrize("path", ["/base/rest/api/2/search/jql", "/base/rest/api/2/search"])
def test_jira_is_asked_before_a_second_attempt(receiver, path):
    service(receiver, "jira")
    receiver.answer = hangs_up
    publish_event("rollout.failed", "shop")
    assert (send(), [one.partition("?")[0] for one in receiver.asked]) == (0, ["POST /base/rest/api/2/issue"])
    receiver.answer, receiver.found = 201, {path: search(issues=[{"key": "OPS-1"}])}
    assert (send(), len(receiver.got)) == (1, 1)
    label = sent(receiver)[0]["fields"]["labels"][1]
    assert (receiver.asked[-1].partition("?")[0], label in receiver.asked[-1]) == (f"GET {path}", True)


def test_what_happened_since_a_lost_answer_becomes_an_issue_of_its_own(receiver):
    service(receiver, "jira")
    receiver.answer = hangs_up
    publish_event("rollout.failed", "shop")
    publish_event("rollout.failed", "till")
    send()
    publish_event("kill_switch.on", "")
    receiver.answer, receiver.found = 201, {"/base/rest/api/2/search/jql": search(issues=[{"key": "OPS-1"}])}
    assert (send(), len(receiver.got), send(), len(receiver.got)) == (2, 1, 1, 2)
    assert ["All changes" in one["fields"]["summary"] for one in sent(receiver)] == [False, True]


def test_a_key_is_for_services_only(receiver, settings):
    settings.ENV = dataclasses.replace(settings.ENV, email=object())
    for kind, target in (("email", "ops@work.example"), ("webhook", receiver.url), ("teams", receiver.url)):
        with pytest.raises(InvalidInput, match="is only for PagerDuty"):
            add(target, kind=kind, key=KEY)
    assert Channel.objects.count() == 0


@pytest.mark.parametrize(
    ("found", "posts", "code"),
    [
        (search(issues=[]), 2, ""),
        ((500, b""), 1, "sink_500"),
        ((401, b""), 1, "sink_401"),
        ((200, b"<html>canary"), 1, "garbled"),
        ((200, b"x" * 300_000), 1, "too_large"),
    ],
)
def test_jira_gets_the_issue_only_where_it_is_known_to_lack_it(receiver, found, posts, code):
    service(receiver, "jira")
    receiver.answer = hangs_up
    publish_event("rollout.failed", "shop")
    send()
    receiver.answer, receiver.found = 201, {"/base/rest/api/2/search/jql": found}
    send()
    row = Delivery.objects.get()
    assert (len(receiver.got), row.last_error, "canary" in json.dumps(row.log)) == (posts, code, False)


def test_mail_and_token_of_jira_cloud_are_sent_as_basic(receiver):
    root = receiver.url.partition("/hook")[0]
    add(f"{root}/?project=OPS", kind="jira", key="ops@work.example:canary")
    publish_event("rollout.failed", "shop")
    assert send() == 1
    ((headers, body),) = receiver.got
    assert headers["Authorization"] == f"Basic {base64.b64encode(b'ops@work.example:canary').decode()}"
    assert json.loads(body)["fields"]["issuetype"] == {"name": "Task"}


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize("status", [302, 400, 403, 429, 500])
def test_a_refusal_is_tried_again_and_no_redirect_followed(receiver, kind, status):
    service(receiver, kind)
    receiver.answer = status
    publish_event("rollout.failed", "shop")
    assert (send(), len(receiver.got), Delivery.objects.get().last_error) == (0, 1, f"sink_{status}")


@pytest.mark.parametrize("kind", SERVICES)
def test_keys_and_addresses_are_sealed_and_in_no_log(receiver, kind, caplog):  # T22, T23
    caplog.set_level(logging.DEBUG)
    made = service(receiver, kind)
    receiver.answer = 500
    channels.send_test(made.id, by="ada", now=timezone.now())
    send()
    row = Channel.objects.get()
    told = [caplog.text, str(row.place), repr(made), *AuditEvent.objects.values_list("detail", flat=True)]
    told += [json.dumps(one) for one in Delivery.objects.values_list("log", flat=True)]
    assert [word for word in (KEY, "canary-path", "project=OPS") if word in " ".join(told)] == []
    assert (KEY.encode() in bytes(row.sealed), b"canary" in bytes(row.sealed)) == (False, False)
    kept = channels.unsealed_channel(row)
    assert (kept.key, made.secret.reveal()) == ("" if kind == WITHOUT_KEY else KEY, "")


def test_a_test_message_wakes_nobody(receiver):
    made = service(receiver, "opsgenie")
    channels.send_test(made.id, by="ada", now=timezone.now())
    ripen()
    assert [delivery.deliver(key) for key in delivery.due(timezone.now())] == [1]
    assert (sent(receiver)[0]["priority"], sent(receiver)[0]["message"]) == ("P5", "A test of this channel: ops 0")


def test_another_address_needs_the_key_again(receiver):
    made = service(receiver, "opsgenie")
    other = "https://attacker.example/v2/alerts"
    with pytest.raises(InvalidInput, match="enter its key again"):
        channels.change_channel(made.id, channels.ChannelUpdate(target=other))
    assert "attacker" not in channels.unsealed_channel(Channel.objects.get()).target
    channels.change_channel(made.id, channels.ChannelUpdate(target=other, key="another-key"))
    kept = channels.unsealed_channel(Channel.objects.get())
    assert (kept.target, kept.key) == (other, "another-key")
    channels.change_channel(made.id, channels.ChannelUpdate(key="a-third-key"))
    assert channels.unsealed_channel(Channel.objects.get()).key == "a-third-key"
