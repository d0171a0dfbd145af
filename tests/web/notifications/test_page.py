"""The pages of the channels: made, secret shown once, changed, tested, removed; for those who set policies."""

import dataclasses
import re
import uuid
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import PEOPLE, route_events
from tests.web.pages import text

pytestmark = pytest.mark.django_db
PAGE = "/settings/notifications"


@pytest.fixture(autouse=True)
def keys(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Channels that a worker was woken for."""
    found = []
    monkeypatch.setattr("migrations_app.web.notifications.page.enqueue_channel", found.append)
    return found


def add(client, **given):
    usual = {"name": "ops", "kind": "webhook", "target": "https://hooks.example/canary", "events": ["scan.failed"]}
    return client.post(PAGE, usual | given)


def the_only():
    return Channel.objects.get().pk


def test_a_channel_is_added_its_secret_shown_once_and_its_address_never(ada):  # T23
    answer = add(ada)
    assert (answer.status_code, "kdw_" in text(answer), "canary" in answer.content.decode()) == (200, True, False)
    assert answer["Cache-Control"] == "no-store"
    again = ada.get(PAGE).content.decode().replace("<wbr>", "")
    assert ("kdw_" in again, "https://hooks.example/…" in again, "canary" in again) == (False, True, False)
    turned = ada.post(reverse("channel-rotate", args=[the_only()]))
    assert "kdw_" in text(turned)


def test_a_channel_without_a_secret_is_added_as_well(ada):
    answer = add(ada, kind="slack")
    assert (answer.status_code, answer["Location"], Channel.objects.get().kind) == (302, PAGE, "slack")
    said = text(ada.post(reverse("channel-rotate", args=[the_only()]), follow=True))
    assert ("only webhooks are signed" in said, "kdw_" in said) == (True, False)


def test_a_channel_is_narrowed_renamed_switched_off_and_removed(ada):
    group = ClusterGroup.objects.create(name="<prod>")
    add(ada)
    url = reverse("channel-change", args=[the_only()])
    shown = ada.get(url)
    assert ("canary" in shown.content.decode(), "&lt;prod&gt;" in shown.content.decode()) == (False, True)
    changed = {"name": "night", "events": ["rollout.paused"], "groups": [str(group.pk)], "version": 1}
    assert ada.post(url, changed).status_code == 302
    row = Channel.objects.get()
    assert (row.name, row.events, row.enabled, row.everywhere) == ("night", ["rollout.paused"], False, False)
    assert "<prod>" in text(ada.get(PAGE))
    stale = ada.post(url, changed | {"enabled": "on"})
    assert (stale.status_code, Channel.objects.get().enabled) == (422, False)
    ada.post(reverse("channel-forget", args=[row.pk]))
    assert Channel.objects.count() == 0


def test_a_group_beyond_the_offered_ones_stays(ada, monkeypatch):
    monkeypatch.setattr("migrations_app.queries.accounts.people.MAX_ACCOUNTS", 1)
    ClusterGroup.objects.create(name="a")
    last = ClusterGroup.objects.create(name="z")
    row = Channel.objects.create(name="x", kind="webhook", place="x", made_by_name="x", made_at=timezone.now())
    row.groups.set([last])
    shown = ada.get(reverse("channel-change", args=[row.pk])).content.decode()
    assert re.search(rf'value="{last.pk}"[^>]*checked', shown)
    assert "1 more group is not offered here" in ada.get(reverse("notifications")).content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "http://hooks.example/canary"}, "Must be https://host/path."),
        ({"events": []}, "This field is required."),
        ({"kind": "email", "target": "a@b.example"}, "KARPDASH_EMAIL_URL is not set."),
        ({"groups": [str(uuid.uuid4())]}, "is not one of the available choices"),
    ],
)
def test_what_is_wrong_stands_at_its_field(ada, given, said):
    ClusterGroup.objects.create(name="prod")
    answer = add(ada, **given)
    assert (answer.status_code, said in text(answer), "canary" in answer.content.decode()) == (422, True, False)


def test_a_test_message_is_put_on_its_way(ada, told, django_capture_on_commit_callbacks):
    add(ada)
    with django_capture_on_commit_callbacks(execute=True):
        ada.post(reverse("channel-test", args=[the_only()]))
    assert (Delivery.objects.get().topic, told) == ("karpdash.test", [the_only()])
    Channel.objects.update(enabled=False)
    assert "switched off" in text(ada.post(reverse("channel-test", args=[the_only()]), follow=True))


def test_a_delivery_is_shown_with_its_tries_and_sent_again(ada, told, django_capture_on_commit_callbacks):
    add(ada)
    publish_event("scan.failed", "<b>shop</b>")
    route_events(timezone.now())
    tried = [{"at": timezone.now().isoformat(), "code": "sink_500"}]
    Delivery.objects.update(state="failed", attempts=24, last_error="sink_500", log=tried)
    page = ada.get(PAGE)
    assert ("sink_500" in text(page), "24 tries" in text(page), "<b>shop" in page.content.decode()) == (
        True, True, False,
    )  # fmt: skip
    assert "sink_500" not in text(ada.get(PAGE, {"state": "sent"}))
    assert "sink_500" in text(ada.get(PAGE, {"channel": "nonsense", "after": "nonsense"}))
    with django_capture_on_commit_callbacks(execute=True):
        ada.post(reverse("delivery-resend", args=[Delivery.objects.get().pk]))
    assert (Delivery.objects.get().state, told) == ("waiting", [the_only()])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sink_503", "The receiver answered 503: read its log."),
        ("sink_401", "The receiver answered 401: it did not accept the key or the address: enter them again."),
        ("sink_302", "The receiver answered 302."),
        ("address_refused", "KARPDASH_ALLOWED_NETWORKS"),
        ("unreachable", "No connection to the receiver"),
        ("tls_refused", "The certificate of the receiver was not accepted"),
    ],
)
def test_a_failed_delivery_says_why_and_what_comes_next(ada, code, said):
    """A code inside a folded list of tries told nobody what to do."""
    add(ada)
    publish_event("scan.failed", "shop")
    route_events(timezone.now())
    tried = [{"at": timezone.now().isoformat(), "code": code}]
    rows = Delivery.objects.all()
    rows.update(attempts=1, last_error=code, log=tried, next_at=timezone.now() + timedelta(hours=2, minutes=5))
    words = text(ada.get(PAGE))
    assert [part in words for part in ("Scans fail", said, "The next try is in 2 hours")] == [True] * 3
    rows.update(next_at=timezone.now() - timedelta(minutes=5))
    assert "The next try is due." in text(ada.get(PAGE))
    rows.update(state="failed")
    assert "It is not tried again by itself: send it again once the receiver is back." in text(ada.get(PAGE))
    rows.update(state="sent")
    assert said not in text(ada.get(PAGE))


def test_the_log_goes_on_on_the_next_page(ada):
    add(ada)
    for number in range(60):
        publish_event("rollout.paused", f"shop-{number:02}")
    Channel.objects.update(events=["rollout.paused"])
    route_events(timezone.now())
    first = ada.get(PAGE)
    following = first.context["next"]
    second = ada.get(PAGE, {"after": following})
    names = [row.subject for page in (first, second) for row in page.context["deliveries"]]
    assert sorted(names) == [f"shop-{number:02}" for number in range(60)]


def test_the_channel_of_the_people_is_shown_and_offers_no_change(ada):
    publish_event("kill_switch.on", "all clusters")
    route_events(timezone.now())
    page, link = ada.get(PAGE).content.decode(), f'href="{reverse("channel-change", args=[PEOPLE])}"'
    assert ("Approvers and administrators" in page, link in page) == (True, False)
    assert ada.post(reverse("channel-forget", args=[PEOPLE])).status_code == 404


NAMES = ("channel-change", "channel-forget", "channel-rotate", "channel-test", "delivery-resend")


@pytest.mark.parametrize(("who", "status"), [("ben", 403), ("cleo", 403), ("dan", 302)])
def test_others_get_nothing(request, who, status):
    client = request.getfixturevalue(who)
    answers = [client.get(PAGE), add(client), *(client.post(reverse(name, args=[uuid.uuid4()])) for name in NAMES)]
    assert ([one.status_code for one in answers], Channel.objects.count()) == ([status] * 7, 0)


@pytest.mark.parametrize("name", NAMES)
def test_absent_ones_are_404_and_nothing_happens_on_get(ada, name):
    url = reverse(name, args=[uuid.uuid4()])
    wanted = 404 if name == "channel-change" else 405
    assert (ada.get(url).status_code, ada.post(url).status_code) == (wanted, 404)


def test_a_channel_of_a_service_is_added_and_moved_with_its_key_only(ada):
    refused = add(ada, kind="opsgenie", target="https://api.opsgenie.com/v2/alerts")
    assert (refused.status_code, "8 to 500 characters" in text(refused)) == (422, True)
    answer = add(ada, kind="opsgenie", target="https://api.opsgenie.com/v2/alerts", key="canary-key")
    assert (answer.status_code, Channel.objects.get().kind) == (302, "opsgenie")
    url = reverse("channel-change", args=[the_only()])
    assert "canary" not in ada.get(url).content.decode() + ada.get(PAGE).content.decode()
    changed = {"name": "ops", "events": ["scan.failed"], "enabled": "on", "version": 1}
    moved = ada.post(url, changed | {"target": "https://elsewhere.example/"})
    assert (moved.status_code, "If the address changes, enter its key again" in text(moved)) == (422, True)
    assert ada.post(url, changed | {"target": "https://elsewhere.example/", "key": "canary-2"}).status_code == 302
