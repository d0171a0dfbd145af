"""News on its way: signed, in one message, tried again, given up and sent again; whatever a receiver does."""

import dataclasses
import json
import re
import time
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app import tasks
from migrations_app.clients import webhooks
from migrations_app.errors import AddressRefused, InvalidInput
from migrations_app.models.audit import AuditEvent
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.rollout import Outbox
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import PEOPLE, route_events
from migrations_app.use_cases.runtime.connections import network_policy
from tests.house.measures import ROOT
from tests.servers import receiver as bad
from tests.servers.waiting import AT_ONCE
from tests.use_cases.notifications.news import add, ripen, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sends_to_loopback")]
PAGE = ROOT / "docs/notifications.md"
SHOP = uuid.UUID(int=7)


def example():
    """The receiver's function of the page."""
    code = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL).group(1)
    found = {}
    exec(code, found)
    return found["is_ours"]


def test_a_signed_batch_of_cloud_events_arrives_and_the_example_verifies_it(receiver):
    secret = add(receiver.url).secret.reveal()
    publish_event("scan.failed", "shop", cluster=SHOP, code="unreachable")
    publish_event("waiver.ended", "all clusters", check="a")
    assert send() == 2
    ((headers, body),) = receiver.got
    first, second = json.loads(body)
    told = {name: first[name] for name in ("specversion", "source", "type", "subject", "datacontenttype", "data")}
    assert told == {
        "specversion": "1.0",
        "source": "karpdash",
        "type": "scan.failed",
        "subject": "shop",
        "datacontenttype": "application/json",
        "data": {"code": "unreachable", "cluster": str(SHOP), "url": f"/clusters/{SHOP}"},
    }
    assert (second["type"], headers["Content-Type"], first["id"] != second["id"]) == (
        "waiver.ended",
        delivery.BATCH_TYPE,
        True,
    )
    is_ours = example()
    stale = headers | {"Karpdash-Timestamp": str(int(headers["Karpdash-Timestamp"]) - 400)}
    asked = [(headers, body, secret), (headers, body + b" ", secret), (headers, body, "other"), (stale, body, secret)]
    assert [is_ours(*one) for one in asked] == [True, False, False, False]
    assert [is_ours({}, body, secret), is_ours(headers | {"Karpdash-Signature": "v1=ü"}, body, secret)] == [False] * 2


@pytest.mark.parametrize(
    ("columns", "row", "sent"),
    [
        ({"not_before": timedelta(days=2)}, {}, 1),
        ({"busy_until": timedelta(days=2)}, {}, 1),
        ({}, {"next_at": timedelta(days=2), "attempts": 1}, 1),
        ({"not_before": timedelta(hours=1)}, {}, 0),
        ({"busy_until": timedelta(seconds=50)}, {}, 0),
        ({}, {"next_at": timedelta(hours=6), "attempts": 1}, 0),
    ],
)
def test_a_clock_that_was_ahead_silences_no_channel(receiver, columns, row, sent):  # R18
    add(receiver.url)
    publish_event("scan.failed", "shop", cluster=SHOP, code="unreachable")
    now = timezone.now()
    route_events(now)
    Delivery.objects.update(next_at=now, log=[{"at": now.isoformat(), "code": "timeout"}])
    for rows, changed in ((Channel.objects, columns), (Delivery.objects, row)):
        rows.update(**{key: now + value if isinstance(value, timedelta) else value for key, value in changed.items()})
    assert delivery.deliver(Channel.objects.get().pk) == sent


def test_after_a_new_secret_the_old_one_still_verifies_until_the_next(receiver):
    made = add(receiver.url)
    secrets = [made.secret.reveal(), *(channels.rotate(made.id).reveal() for _ in range(2))]
    publish_event("scan.failed", "shop")
    send()
    ((headers, body),) = receiver.got
    assert [example()(headers, body, one) for one in secrets] == [False, True, True]


@pytest.mark.parametrize("status", [302, 307, 400, 404, 500, 503])
def test_a_refusal_is_tried_again_with_the_same_id_and_no_redirect_is_followed(receiver, status):  # T03, K04
    add(receiver.url)
    receiver.answer = status
    publish_event("scan.failed", "shop")
    assert (send(), len(receiver.got)) == (0, 1)
    row, channel = Delivery.objects.get(), Channel.objects.get()
    told = (row.state, row.attempts, row.last_error, row.next_at > timezone.now(), channel.failures)
    assert told == ("waiting", 1, f"sink_{status}", True, 1)
    receiver.answer = 204
    assert (send(), Channel.objects.get().failures) == (1, 0)
    row = Delivery.objects.get()
    assert (row.state, [one["code"] for one in row.log], row.last_error) == ("sent", [f"sink_{status}", ""], "")
    assert len({json.loads(body)[0]["id"] for _, body in receiver.got}) == 1


@pytest.mark.parametrize(
    ("behave", "code"),
    [(bad.hangs, "timeout"), (bad.drips, "timeout"), (bad.garbled, "garbled"), (bad.hangs_up, "unreachable")],
)
def test_a_receiver_that_behaves_badly_costs_its_seconds_and_nothing_it_said_is_kept(
    receiver, monkeypatch, behave, code
):
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 1.0)
    add(receiver.url)
    receiver.answer = behave
    publish_event("scan.failed", "shop")
    began = time.monotonic()
    assert send() == 0
    row = Delivery.objects.get()
    assert (row.last_error, time.monotonic() - began < AT_ONCE, "canary" in json.dumps(row.log)) == (code, True, False)


def test_the_body_of_an_answer_is_not_read_whatever_its_length(receiver):
    add(receiver.url)
    receiver.answer = bad.endless
    publish_event("scan.failed", "shop")
    began = time.monotonic()
    assert (send(), time.monotonic() - began < AT_ONCE) == (1, True)


def test_it_is_given_up_in_the_end_and_sent_again_on_demand_with_its_id(receiver, monkeypatch):
    monkeypatch.setattr(delivery, "MAX_ATTEMPTS", 3)
    add(receiver.url)
    receiver.answer = 503
    publish_event("scan.failed", "shop")
    for _ in range(5):
        send()
    row = Delivery.objects.get()
    assert (row.state, row.attempts, len(receiver.got)) == ("failed", 3, 3)
    receiver.answer = 200
    channels.resend(row.pk, now=timezone.now())
    assert (send(), Delivery.objects.get().state, Delivery.objects.get().attempts) == (1, "sent", 4)
    assert len({json.loads(body)[0]["id"] for _, body in receiver.got}) == 1


def test_pauses_grow_to_an_hour_and_the_tries_last_most_of_a_day(receiver):
    add(receiver.url)
    receiver.answer = 503
    publish_event("scan.failed", "shop")
    pauses = []
    for _ in range(delivery.MAX_ATTEMPTS):
        send()
        pauses.append((Channel.objects.get().not_before - timezone.now()).total_seconds() / 60)
    assert [round(minutes / pauses[0]) for minutes in pauses[:6]] == [1, 2, 4, 8, 16, 32]
    assert (max(pauses) <= 66.01, 16 * 60 < sum(pauses) < 30 * 60) == (True, True)


def test_a_failing_channel_rests_and_news_that_hurries_waits_as_well(receiver):
    add(receiver.url)
    receiver.answer = 500
    publish_event("scan.failed", "shop")
    send()
    publish_event("kill_switch.on", "all clusters")
    now = timezone.now()
    route_events(now)
    # That of the people is another channel.
    assert delivery.due(now) == [PEOPLE]
    assert len(delivery.due(now + timedelta(minutes=2))) == 2


def test_a_second_worker_leaves_a_busy_channel_alone(receiver):
    made = add(receiver.url)
    publish_event("scan.failed", "shop")
    Channel.objects.update(busy_until=timezone.now() + timedelta(minutes=1))
    assert (send(), delivery.deliver(made.id), receiver.got) == (0, 0, [])


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "169.254.169.254", "[::ffff:169.254.169.254]", "0.0.0.0", "[fd00:ec2::254]", "[::1]",
     "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "224.0.0.1", "localhost"],
)  # fmt: skip
def test_no_address_inside_is_reached(receiver, settings, host):  # T03, K05
    settings.ENV = dataclasses.replace(settings.ENV, allow_loopback=False)
    port = webhooks.read_address(receiver.url).port
    add(f"https://{host}:{port}/")
    publish_event("scan.failed", "shop")
    assert (send(), receiver.got) == (0, [])
    assert Delivery.objects.get().last_error == "address_refused"


@pytest.mark.parametrize("spelling", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localtest.me"])
def test_other_spellings_are_judged_by_what_they_resolve_to(receiver, settings, spelling):  # T03
    settings.ENV = dataclasses.replace(settings.ENV, allow_loopback=False)
    url = f"https://{spelling}:{webhooks.read_address(receiver.url).port}/"
    with pytest.raises(AddressRefused):
        webhooks.post(url, b"[]", headers={}, reach=network_policy(), resolver=lambda _host, _port: ["127.0.0.1"])
    assert receiver.got == []


def test_a_name_is_resolved_once_and_the_judged_address_is_the_one_connected_to(receiver, settings):  # T03, K05
    """A rebinding resolver: the first answer is good, each later one leads to the metadata service."""
    asked = []

    def rebinding(host, port):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    parts = webhooks.read_address(receiver.url)
    url = f"https://localhost:{parts.port}/hook"
    within = dataclasses.replace(network_policy(), own=())
    webhooks.post(url, b"[]", headers={}, reach=within, resolver=rebinding)
    assert (asked, len(receiver.got), receiver.got[0][0]["Host"]) == (["localhost"], 1, f"localhost:{parts.port}")


@pytest.mark.parametrize(
    "target",
    ["http://a.example/", "https:///x", "https://u:p@a.example/", "https://a.example/\r\nX: y", "ftp://a.example/",
     "https://a.example/#x", "https://a.example:99999/", "https://a b/", "javascript:alert(1)", "https://a.example:0/",
     "https://a.example/" + "x" * 2000, "https://ä.example/", "file:///etc/passwd", ""],
)  # fmt: skip
def test_addresses_that_are_none_are_refused(target):
    with pytest.raises(InvalidInput) as refused:
        add(target)
    told = (refused.value.where, bool(target) and target in str(refused.value), Channel.objects.count())
    assert told == ("target", False, 0)


def test_a_server_of_another_authority_gets_nothing(receiver, monkeypatch):  # K02
    monkeypatch.delenv("SSL_CERT_FILE")
    add(receiver.url)
    publish_event("scan.failed", "shop")
    assert (send(), receiver.got, Delivery.objects.get().last_error) == (0, [], "tls_refused")


def test_slack_gets_a_text_whose_signs_mean_nothing(receiver):
    add(receiver.url, kind="slack")
    publish_event("scan.failed", "<!channel> & co", cluster=SHOP, code="unreachable")
    assert send() == 1
    ((headers, body),) = receiver.got
    text = f"Scans fail: &lt;!channel&gt; &amp; co (code unreachable; url /clusters/{SHOP})"
    assert (json.loads(body), "Karpdash-Signature" in headers) == ({"text": text}, False)


def test_address_and_secret_stand_nowhere_in_clear(receiver, caplog):  # T22, T23
    made = add(receiver.url + "&token=canary-4711")
    publish_event("scan.failed", "shop")
    receiver.answer = 500
    send()
    row, sent = Channel.objects.get(), Delivery.objects.get()
    rows = [one.detail for one in AuditEvent.objects.all()]
    told = f"{row.place} {bytes(row.sealed)!r} {rows} {sent.body} {sent.log} {caplog.text} {made!r}"
    assert ("canary-4711" in told, made.secret.reveal() in told, rows != []) == (False, False, True)


def test_a_sealed_address_does_not_open_in_another_row(receiver):  # T22
    first, second = add(receiver.url), add("https://hooks.example/")
    Channel.objects.filter(pk=second.id).update(sealed=Channel.objects.get(pk=first.id).sealed)
    Channel.objects.filter(pk=first.id).update(enabled=False)
    publish_event("scan.failed", "shop")
    assert (send(), receiver.got, Delivery.objects.get().last_error) == (0, [], "bad_setting")


def test_a_test_message_goes_at_once_even_to_a_channel_that_fails(receiver):
    made = add(receiver.url, events=("rollout.paused",))
    Channel.objects.update(not_before=timezone.now() + timedelta(hours=1), failures=5)
    channels.send_test(made.id, by="ada", now=timezone.now())
    assert delivery.deliver(made.id) == 1
    ((_, body),) = receiver.got
    (event,) = json.loads(body)
    assert (event["type"], event["data"], event["specversion"]) == ("karpdash.test", {"by": "ada"}, "1.0")


def test_what_was_begun_and_never_ended_is_given_up_after_its_tries(receiver, monkeypatch):  # R36
    monkeypatch.setattr(delivery, "MAX_ATTEMPTS", 3)
    made = add(receiver.url)
    publish_event("scan.failed", "shop")
    route_events(timezone.now())
    ripen()
    Delivery.objects.update(attempts=3)
    assert (delivery.deliver(made.id), Delivery.objects.get().state, receiver.got) == (0, "failed", [])


def test_the_outbox_is_empty_afterwards_and_sorting_twice_doubles_nothing(receiver):
    add(receiver.url)
    publish_event("scan.failed", "shop", cluster=SHOP)
    Outbox.objects.create(topic="rollout.advance", body={})
    assert (route_events(timezone.now()), route_events(timezone.now())) == (2, 0)
    Outbox.objects.update(done_at=None)
    assert (route_events(timezone.now()), Delivery.objects.count()) == (2, 1)


def test_the_timetable_sorts_and_wakes_and_a_message_holds_an_id_alone(receiver, monkeypatch):  # R05, T27
    made, woken = add(receiver.url), []
    monkeypatch.setattr(tasks, "_send", lambda task, key: woken.append((task.name, key)) or True)
    publish_event("rollout.paused", "shop")
    tasks.notify()
    assert woken == [("deliver", str(made.id))]
    for _ in range(3):
        tasks.deliver(woken[0][1])
    tasks.deliver(str(uuid.uuid4()))
    assert (len(receiver.got), Delivery.objects.get().state) == (1, "sent")
