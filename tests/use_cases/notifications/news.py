"""Helpers for tests of notifications."""

from datetime import timedelta

from django.utils import timezone

from migrations_app.models.notification import Channel, Delivery
from migrations_app.readiness.notification_events import EVENTS
from migrations_app.use_cases.notifications import channels, delivery
from migrations_app.use_cases.notifications.routing import route_events


def add(url="https://hooks.example/canary", *, kind="webhook", **told):
    """Adds a channel for every event of every cluster; keyword arguments change it."""
    usual = {"name": f"ops {Channel.objects.count()}", "events": EVENTS}
    return channels.create_channel(
        channels.ChannelSettings(kind=kind, target=url, **(usual | told)), by="ada", now=timezone.now()
    )


def ripen():
    """Moves every waiting time into the past."""
    past = timezone.now() - timedelta(seconds=1)
    Delivery.objects.filter(state="waiting").update(next_at=past)
    Channel.objects.update(not_before=None)


def send():
    """Sorts, waits, and sends; returns how many events were received."""
    route_events(timezone.now())
    ripen()
    return sum(delivery.deliver(key) for key in delivery.due(timezone.now()))
