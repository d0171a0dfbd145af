"""An approval by one person alone, and the kill switch, are told to everybody who has a say there (A45)."""

import dataclasses

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.clients.mail import read_mail_server
from migrations_app.errors import NotFound, Unreachable
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.rollout import Outbox
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.channels import ChannelUpdate
from migrations_app.use_cases.notifications.publish import publish_event
from migrations_app.use_cases.notifications.routing import PEOPLE, route_events
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster
from tests.use_cases.people import ADMINISTER, user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mailed(settings, monkeypatch):
    server = read_mail_server("smtp://127.0.0.1:25?from=karpdash@example.com")
    settings.ENV = dataclasses.replace(settings.ENV, email=server, encryption_keys=(("k1", b"0" * 32),))
    sent = []
    monkeypatch.setattr(delivery.mail, "send", lambda _server, mail, **_: sent.append(mail))
    return sent


def sort():
    return route_events(timezone.now())


def deliver():
    return [delivery.deliver(key) for key in delivery.due(timezone.now())]


def mailbox(name, *rights):
    row = user(name, *rights)
    User.objects.filter(pk=row.pk).update(email=f"{name}@example.com")
    return row


def test_those_who_approve_or_administer_get_a_mail(mailed):
    mailbox("amy", "approve_rollout")
    mailbox("gil", ADMINISTER)
    mailbox("ben")
    User.objects.filter(pk=mailbox("old", "approve_rollout").pk).update(is_active=False)
    user("nomail", "approve_rollout")
    row = a_rollout(a_cluster("shop"), author=user("ada"), state="approved", cause="the house burns")
    Outbox.objects.create(topic="rollout.break_glass", body={"rollout": str(row.pk), "by": "bo"})
    sort()
    assert deliver() == [1]
    (mail,) = mailed
    assert (mail.to, mail.subject) == (
        ("amy@example.com", "gil@example.com"),
        "karpdash: Approved by one person alone: shop",
    )
    assert ("by bo" in mail.text, "the house burns" in mail.text, str(row.pk) in mail.text) == (True, True, True)


def test_who_approves_elsewhere_does_not_hear_of_this_cluster(mailed):  # T11
    shop, bank = a_cluster("shop"), a_cluster("bank")
    for name, cluster in (("amy", shop), ("bea", bank)):
        group = ClusterGroup.objects.create(name=f"group of {name}")
        group.clusters.add(cluster)
        Grant.objects.create(person=mailbox(name), role="approver", over=group)
    for cluster in (shop, bank):
        publish_event("rollout.break_glass", cluster.name, cluster=cluster.pk, by="bo")
    publish_event("kill_switch.on", "all clusters", by="bo")
    sort()
    assert [deliver() for _ in range(4)] == [[1], [1], [1], []]
    found = sorted((mail.subject.rpartition(": ")[2], mail.to) for mail in mailed)
    amy, bea = "amy@example.com", "bea@example.com"
    assert found == [("all clusters", (amy, bea)), ("bank", (bea,)), ("shop", (amy,))]


def test_a_mail_server_that_is_down_is_tried_again(mailed, monkeypatch):
    mailbox("gil", ADMINISTER)

    def down(_server, _mail, **_):
        raise Unreachable("no answer")

    monkeypatch.setattr(delivery.mail, "send", down)
    publish_event("kill_switch.on", "all clusters")
    sort()
    row = (deliver(), Delivery.objects.get().last_error, Delivery.objects.get().state, Channel.objects.get().failures)
    assert row == ([0], "unreachable", "waiting", 1)
    monkeypatch.setattr(delivery.mail, "send", lambda _server, mail, **_: mailed.append(mail))
    Channel.objects.update(not_before=None)
    Delivery.objects.update(next_at=timezone.now())
    assert (deliver(), len(mailed)) == ([1], 1)


@pytest.mark.parametrize(("mail", "code"), [(False, "no_mail"), (True, "no_recipients")])
def test_what_reaches_nobody_is_seen_to_fail(settings, mail, code):
    if not mail:
        settings.ENV = dataclasses.replace(settings.ENV, email=None)
    publish_event("kill_switch.on", "all clusters")
    sort()
    assert (deliver(), Delivery.objects.get().last_error) == ([0], code)


def test_that_channel_is_nobodys_to_change():
    publish_event("kill_switch.on", "all clusters")
    sort()
    for act in (
        lambda: channels.remove_channel(PEOPLE),
        lambda: channels.change_channel(PEOPLE, ChannelUpdate(events=())),
    ):
        with pytest.raises(NotFound):
            act()
