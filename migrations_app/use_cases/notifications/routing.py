"""Turns outbox rows into deliveries: one for each event and subscribed channel, merged where possible."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from migrations_app.models.cluster import Cluster
from migrations_app.models.notification import Channel, Delivery
from migrations_app.models.rollout import Outbox
from migrations_app.queries.fleet.counted_clusters import SAMPLES
from migrations_app.queries.notifications.events import events_of
from migrations_app.readiness.notification_events import TO_PEOPLE, URGENT, EventFacts, merge_key, merged
from migrations_app.use_cases.notifications.channels import PEOPLE_NAME

BATCH_DELAY = timedelta(seconds=60)
"""How long an event waits for others, to be sent in one message."""
REPEAT_DELAY = timedelta(minutes=20)
LONGEST_HOLD = timedelta(hours=6)
DAY = timedelta(days=1)
BATCH = 500
PEOPLE = uuid.UUID("7b1d3a52-0c55-4a52-9c0e-5d6c5f2f6a01")


def route_events(now: datetime) -> int:
    """Creates deliveries for the open outbox rows and closes the rows. Returns how many rows were closed."""
    if not Outbox.objects.filter(done_at=None).exists():
        return 0
    with transaction.atomic():
        rows = list(Outbox.objects.select_for_update().filter(done_at=None).order_by("pk")[:BATCH])
        events = events_of(rows)
        subscriptions = _Subscriptions(events)
        for event in events:
            for channel in subscriptions.channels(event):
                _queue(channel, event, now=now)
        Outbox.objects.filter(pk__in=[row.pk for row in rows]).update(done_at=now)
    return len(rows)


class _Subscriptions:
    """Which enabled channels subscribe to which of these events."""

    def __init__(self, events: Iterable[EventFacts]) -> None:
        events = list(events)
        self._channels: list[Channel] = []
        self._in_reach: set[tuple[uuid.UUID, str]] = set()
        self._samples: frozenset[str] = frozenset()
        if events:
            if any(event["type"] in TO_PEOPLE for event in events):
                _create_people_channel()
            self._channels = list(Channel.objects.select_for_update().filter(enabled=True).defer("sealed"))
            clusters = {event["data"]["cluster"] for event in events if event["data"].get("cluster")}
            narrowed = Channel.objects.filter(everywhere=False, groups__clusters__in=clusters)
            pairs = narrowed.values_list("pk", "groups__clusters__pk").distinct()
            self._in_reach = {(channel, str(cluster)) for channel, cluster in pairs}
            self._samples = _samples_beside_real(clusters)
            groups = Channel.groups.through.objects.values_list("channel_id", "clustergroup_id")
            self._in_reach |= {(channel, str(group)) for channel, group in groups}

    def channels(self, event: EventFacts) -> list[Channel]:
        return [channel for channel in self._channels if event["type"] in channel.events and self._near(channel, event)]

    def _near(self, channel: Channel, event: EventFacts) -> bool:
        """Whether the channel receives the event.

        Events without a cluster or group go to all subscribed channels. If there are real clusters, events of samples
        only go to channels limited to a group with that sample.
        """
        where = event["data"].get("cluster") or event["data"].get("group")
        if where in self._samples:
            return (channel.pk, where) in self._in_reach
        return channel.everywhere or not where or (channel.pk, where) in self._in_reach


def _samples_beside_real(cluster_ids: Iterable[str]) -> frozenset[str]:
    """Those of the clusters that are samples; none while there are only samples."""
    if not Cluster.objects.exclude(source__in=SAMPLES).exists():
        return frozenset()
    clusters = Cluster.objects.filter(pk__in=list(cluster_ids), source__in=SAMPLES)
    return frozenset(map(str, clusters.values_list("pk", flat=True)))


def _create_people_channel() -> None:
    """Creates the built-in channel if it is missing."""
    columns: dict[str, Any] = {"name": PEOPLE_NAME, "kind": Channel.Kind.PEOPLE, "place": "by mail, each of them"}
    now = {"made_at": datetime.now().astimezone(), "made_by_name": "karpdash", "events": sorted(TO_PEOPLE)}
    Channel.objects.get_or_create(pk=PEOPLE, defaults=columns | now)


def _queue(channel: Channel, event: EventFacts, *, now: datetime) -> None:
    about = merge_key(event)
    if about and _merge_into_waiting(channel, event, about=about):
        return
    Delivery.objects.get_or_create(
        channel=channel,
        event_id=event["id"],
        defaults={
            "topic": event["type"],
            "body": event,
            "key": about,
            "urgent": event["type"] in URGENT,
            "made_at": now,
            "next_at": now + _wait(channel, event, about=about, now=now),
        },
    )


def _merge_into_waiting(channel: Channel, event: EventFacts, *, about: str) -> bool:
    """Whether the event was merged into a waiting delivery with the same merge key and no attempt yet."""
    untried = Delivery.objects.filter(channel=channel, key=about, state=Delivery.State.WAITING, attempts=0)
    first = untried.order_by("made_at").first()
    if first is None:
        return False
    merged_event = merged(first.body, event)
    first_row = untried.filter(pk=first.pk)
    if merged_event is None:
        return bool(first_row.delete()[0])
    return bool(first_row.update(body=merged_event, event_id=merged_event["id"], topic=merged_event["type"]))


def _wait(channel: Channel, event: EventFacts, *, about: str, now: datetime) -> timedelta:
    """How long to wait before sending: not at all if urgent, longer the more often the same key recurs in a day."""
    if event["type"] in URGENT:
        return timedelta()
    earlier = Delivery.objects.filter(channel=channel, key=about, made_at__gt=now - DAY, attempts__gt=0)
    times = earlier.count() if about else 0
    return BATCH_DELAY if times == 0 else min(REPEAT_DELAY * 4 ** (times - 1), LONGEST_HOLD)
