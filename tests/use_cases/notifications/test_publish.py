"""What becomes of news before it is sent: to whom it goes, what is joined, and how seldom the same is told again."""

import dataclasses
import uuid
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from migrations_app.actions.states import STATES
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.rollout import Outbox
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.channels import ChannelUpdate
from migrations_app.use_cases.notifications.publish import (
    publish_changes,
    publish_event,
    publish_scan_failures,
    publish_scan_recovery,
)
from migrations_app.use_cases.notifications.routing import BATCH_DELAY, PEOPLE, route_events
from migrations_app.use_cases.rollouts import kill_switch
from migrations_app.use_cases.scans import waivers
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.notifications.news import add, ripen
from tests.use_cases.people import ADMINISTER, OPERATE, actor, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db
SHOP = uuid.UUID(int=7)


@pytest.fixture(autouse=True)
def house(settings):
    keys = (("k1", b"0" * 32),)
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=keys, trusted_origins=("https://k.example",))


def sort():
    return route_events(timezone.now())


def waiting():
    """(topic, data without the address) of what waits."""
    rows = Delivery.objects.filter(state="waiting").order_by("made_at", "topic")
    return [(row.topic, {name: value for name, value in row.body["data"].items() if name != "url"}) for row in rows]


def verdict(now, was, *, cluster=SHOP):
    publish_event("hop.verdict_changed", "shop", cluster=cluster, hop="0.32", verdict=now, was=was, was_hop="0.32")


def told():
    return [(row.topic, row.body) for row in Outbox.objects.order_by("pk")]


def test_of_many_changes_of_a_verdict_the_first_and_the_last_count():
    add()
    verdict("blocked", "ready")
    verdict("needs_facts", "blocked")
    sort()
    verdict("in_progress", "needs_facts")
    sort()
    data = {"cluster": str(SHOP), "hop": "0.32", "verdict": "in_progress", "was": "ready", "was_hop": "0.32"}
    assert waiting() == [("hop.verdict_changed", data)]


def test_what_is_back_where_it_was_is_no_news():
    add()
    verdict("blocked", "ready")
    publish_event("scan.failed", "shop", cluster=SHOP, code="timeout")
    sort()
    verdict("ready", "blocked")
    publish_event("scan.recovered", "shop", cluster=SHOP)
    sort()
    assert waiting() == []
    verdict("blocked", "ready")
    sort()
    assert [topic for topic, _ in waiting()] == ["hop.verdict_changed"]


def test_new_blockers_of_one_cluster_are_one_piece_of_news():
    add()
    for checks in (["b"], ["a", "b"]):
        publish_event("check.new_blocker", "shop", cluster=SHOP, hop="0.32", checks=checks)
    publish_event("check.new_blocker", "other", cluster=uuid.UUID(int=8), hop="0.32", checks=["b"])
    sort()
    assert sorted(data["checks"] for _, data in waiting()) == [["a", "b"], ["b"]]


def test_what_was_begun_to_be_sent_is_joined_with_nothing():
    """A receiver that knows its id would drop the other words."""
    add()
    verdict("blocked", "ready")
    sort()
    before = Delivery.objects.get()
    Delivery.objects.update(attempts=1)
    verdict("ready", "blocked")
    sort()
    assert (Delivery.objects.count(), Delivery.objects.get(pk=before.pk).body) == (2, before.body)


def test_what_goes_to_and_fro_all_day_is_told_less_and_less_often():
    add()
    waits = []
    for turn in range(6):
        verdict(*(("blocked", "ready") if turn % 2 == 0 else ("ready", "blocked")))
        now = timezone.now()
        route_events(now)
        row = Delivery.objects.get(state="waiting")
        waits.append((row.next_at - now).total_seconds() / 60)
        Delivery.objects.filter(pk=row.pk).update(state="sent", attempts=1)
    assert waits == [1, 20, 80, 320, 360, 360]
    Delivery.objects.update(made_at=timezone.now() - timedelta(days=2))
    verdict("blocked", "ready")
    now = timezone.now()
    route_events(now)
    assert Delivery.objects.get(state="waiting").next_at - now == BATCH_DELAY


def test_a_fleet_that_fails_everywhere_is_one_message(monkeypatch):
    add()
    for number in range(300):
        publish_event("scan.failed", f"c{number}", cluster=uuid.UUID(int=number + 1), code="unreachable")
    sort()
    ripen()
    sent = []
    monkeypatch.setattr(delivery, "_send", lambda _channel, events, now: sent.append(len(events)) or "")
    assert [delivery.deliver(key) for key in delivery.due(timezone.now())] == [300]
    publish_event("scan.failed", "late", cluster=uuid.UUID(int=999), code="unreachable")
    sort()
    soon = timezone.now() + timedelta(minutes=2)
    assert (sent, delivery.due(soon), len(delivery.due(soon + delivery.MIN_MESSAGE_INTERVAL))) == ([300], [], 1)


def test_what_asks_somebody_to_act_waits_for_nothing():
    made = add()
    Channel.objects.update(not_before=timezone.now() + timedelta(minutes=4))
    publish_event("rollout.break_glass", "shop", cluster=SHOP)
    sort()
    assert made.id in delivery.due(timezone.now())


def test_a_channel_gets_what_it_asked_for_and_nothing_while_it_is_off():
    made = add(events=("rollout.paused",))
    publish_event("scan.failed", "shop")
    sort()
    assert waiting() == []
    channels.change_channel(made.id, ChannelUpdate(enabled=False))
    publish_event("rollout.paused", "shop")
    assert (sort(), waiting()) == (1, [])


def test_a_narrowed_channel_hears_of_its_groups_and_of_what_concerns_all():
    inside, outside = a_cluster("inside"), a_cluster("outside")
    group, other = ClusterGroup.objects.create(name="prod"), ClusterGroup.objects.create(name="dev")
    group.clusters.add(inside)
    other.clusters.add(outside)
    add(groups=(group.pk,), events=("scan.failed", "waiver.ended", "kill_switch.off"))

    named = [(f"group {row.name}", str(row.pk)) for row in (group, other)]

    def tell():
        Delivery.objects.all().delete()
        for row in (inside, outside):
            publish_event("scan.failed", row.name, cluster=row.pk)
        for name, key in named:
            publish_event("waiver.ended", name, group=key)
        publish_event("kill_switch.off", "all clusters")
        sort()
        return sorted(row.body["subject"] for row in Delivery.objects.exclude(channel=PEOPLE))

    assert tell() == ["all clusters", "group prod", "inside"]
    group.delete()
    assert tell() == ["all clusters"]


@pytest.mark.parametrize(
    ("state", "topic"),
    [("awaiting_approval", "plan.approval_requested"), ("paused", "rollout.paused"), ("failed", "rollout.failed"),
     ("succeeded", "rollout.completed"), ("needs_attention", "rollout.needs_attention"), ("running", None),
     ("approved", None)],
)  # fmt: skip
def test_states_of_a_rollout_are_news_with_its_cluster_title_and_address(state, topic):
    assert state in STATES
    add()
    row = a_rollout(a_cluster("shop"), author=user("ada"), state=state)
    Outbox.objects.create(topic=f"rollout.{state}", body={"rollout": str(row.pk), "cause": "why"})
    sort()
    found = [(one.topic, one.body["subject"], one.body["data"]["url"], one.urgent) for one in Delivery.objects.all()]
    wanted = [(topic, "shop", f"https://k.example/rollouts/{row.pk}/", state != "succeeded")]
    assert found == (wanted if topic else [])


def test_an_approval_that_nobody_waits_for_any_more_is_no_news():
    add()
    row = a_rollout(a_cluster("shop"), author=user("ada"), state="approved")
    Outbox.objects.create(topic="rollout.awaiting_approval", body={"rollout": str(row.pk)})
    Outbox.objects.create(topic="rollout.paused", body={"rollout": str(uuid.uuid4())})
    assert (sort(), waiting()) == (2, [])


def test_a_new_blocker_and_a_moved_verdict_are_news_and_the_first_scan_is_none():
    shop = a_cluster("shop")
    before = a_snapshot(shop, a_report("shop", checks=(a_finding("a", status="pass"), a_finding("b", status="pass"))))
    after = a_report("shop", checks=(a_finding("a"), a_finding("b", status="pass")))
    publish_changes(None, after, cluster=shop)
    publish_changes(before, before.report(), cluster=shop)
    assert told() == []
    publish_changes(before, after, cluster=shop)
    key = {"subject": "shop", "cluster": str(shop.pk), "hop": "0.32"}
    assert told() == [
        ("hop.verdict_changed", key | {"verdict": "blocked", "was": "ready", "was_hop": "0.32"}),
        ("check.new_blocker", key | {"checks": ["a"]}),
    ]


def test_failing_is_told_once_and_so_is_the_end_of_it():
    shop = a_cluster("shop", last_error_code="unreachable")
    publish_scan_recovery(shop)
    for shop.failures in (1, 2, 3, 4):
        publish_scan_failures(shop)
    publish_scan_recovery(shop)
    key = {"subject": "shop", "cluster": str(shop.pk)}
    assert told() == [("scan.failed", key | {"code": "unreachable"}), ("scan.recovered", key | {"failing_since": ""})]


def test_a_waiver_is_announced_once_a_week_before_its_end_and_at_its_end(time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    waivers.waive(a_wish(), person(user("gil", ADMINISTER, "change_cluster")), now=timezone.now())
    waivers.expire_waivers(timezone.now())
    assert told() == []
    for days in (24, 0, 1, 10):
        time_machine.shift(timedelta(days=days))
        waivers.expire_waivers(timezone.now())
    assert [(topic, body["check"], body["subject"]) for topic, body in told()] == [
        ("waiver.expiring", "budgets_let_nodes_go", "all clusters"),
        ("waiver.ended", "budgets_let_nodes_go", "all clusters"),
    ]


def test_a_short_waiver_is_announced_when_half_of_it_is_over(time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    wish = dataclasses.replace(a_wish(), ends_at=timezone.now() + timedelta(days=2))
    waivers.waive(wish, person(user("gil", ADMINISTER, "change_cluster")), now=timezone.now())
    waivers.expire_waivers(timezone.now())
    assert told() == []
    time_machine.shift(timedelta(days=1))
    waivers.expire_waivers(timezone.now())
    assert [topic for topic, _ in told()] == ["waiver.expiring"]


def test_a_waiver_that_changes_the_verdict_is_news():
    shop = a_cluster("shop")
    a_snapshot(shop, a_report("shop", checks=(a_finding("budgets_let_nodes_go"),)))
    waivers.waive(a_wish(cluster=shop), person(user("gil", ADMINISTER, "change_cluster")), now=timezone.now())
    assert [(topic, body["was"], body["verdict"]) for topic, body in told()] == [
        ("hop.verdict_changed", "blocked", "ready_with_warnings")
    ]


def test_the_kill_switch_is_told_in_the_transaction_that_turns_it():
    ann = user("ann", OPERATE)
    kill_switch.stop_everything(person(ann), why="smoke", by=actor(ann))
    assert told() == [("kill_switch.on", {"subject": "all clusters", "by": "ann", "why": "smoke"})]


def test_names_are_unique_and_absent_channels_not_found():
    add(name="ops")
    for name in ("ops", " ops "):
        with pytest.raises(Conflict):
            add(name=name)
    for act in (channels.rotate, channels.remove_channel):
        with pytest.raises(NotFound):
            act(uuid.uuid4())


@pytest.mark.parametrize(
    ("wrong", "where"),
    [({"name": " "}, "name"), ({"events": ()}, "events"), ({"events": ("no.such",)}, "events"),
     ({"kind": "fax"}, "kind"),
     ({"kind": "people"}, "kind"), ({"kind": "email", "url": "a@b.example"}, "kind"),
     ({"groups": (uuid.UUID(int=3),)}, "groups"), ({"name": "Approvers and administrators"}, "name")],
)  # fmt: skip
def test_what_is_no_channel_is_refused(wrong, where):
    with pytest.raises(InvalidInput) as refused:
        add(**wrong)
    assert (refused.value.where, Channel.objects.count()) == (where, 0)


def test_every_change_of_a_channel_stands_in_the_audit_log():
    group = ClusterGroup.objects.create(name="prod")
    made = add(name="ops")
    change = ChannelUpdate(name="night", events=("rollout.paused",), groups=(group.pk,), enabled=False)
    channels.change_channel(made.id, change)
    row = Channel.objects.get()
    assert (row.name, row.events, row.everywhere, row.enabled, row.version) == (
        "night", ["rollout.paused"], False, False, 2,
    )  # fmt: skip
    channels.change_channel(made.id, ChannelUpdate(groups=(), enabled=True, target="https://other.example/x"))
    row = Channel.objects.get()
    assert (row.everywhere, row.place, len(channels.unsealed_channel(row).secrets)) == (
        True,
        "https://other.example/…",
        1,
    )
    with pytest.raises(Conflict):
        channels.change_channel(made.id, ChannelUpdate(enabled=False), version=1)
    channels.rotate(made.id)
    channels.send_test(made.id, by="ada", now=timezone.now())
    channels.resend(Delivery.objects.get().pk, now=timezone.now())
    channels.remove_channel(made.id)
    assert list(AuditEvent.objects.order_by("seq").values_list("verb", flat=True)) == [
        "channel.made", "channel.changed", "channel.changed", "channel.secret_turned", "channel.tested",
        "delivery.resent", "channel.removed",
    ]  # fmt: skip


def test_what_is_rolled_back_is_no_news():
    def undone():
        with transaction.atomic():
            publish_event("scan.failed", "shop")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    assert told() == []
