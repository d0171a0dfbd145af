"""Notification channels and the delivery log, without full addresses or secrets."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.db.models import Q, QuerySet
from msgspec import Meta

from migrations_app.errors import NotFound
from migrations_app.models.notification import Channel, Delivery
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, moment_and_id, page_of
from migrations_app.queries.rows import from_row

MAX_CHANNELS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupName:
    """A group of clusters that a channel may be limited to."""

    id: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """`place` is the host of the address, or a mailbox. If `everywhere` is False, only events of `groups` are sent."""

    id: uuid.UUID
    name: str
    kind: str
    place: str
    events: tuple[str, ...]
    everywhere: bool
    groups: tuple[GroupName, ...]
    enabled: bool
    failures: Annotated[int, Meta(description="Messages in a row that were not received.")]
    version: int
    made_by: str
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryAttempt:
    """One attempt; an empty code means that the message was received."""

    at: datetime
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One event for one channel. `last_error` is a code; empty if nothing failed."""

    id: uuid.UUID
    channel: uuid.UUID
    channel_name: str
    event_id: str
    topic: str
    subject: str
    state: str
    attempts: int
    log: tuple[DeliveryAttempt, ...]
    made_at: datetime
    next_at: datetime
    sent_at: datetime | None
    last_error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFilters:
    """Filters of deliveries; empty means no filter."""

    channel: uuid.UUID | None = None
    state: str = ""


STATES: tuple[str, ...] = tuple(Delivery.State.values)


def all_channels() -> tuple[ChannelRow, ...]:
    """Every channel, by name; there are few."""
    return tuple(_channel(row) for row in _rows()[: MAX_CHANNELS + 1])


def channel_row(channel_id: uuid.UUID) -> ChannelRow:
    """One channel. Raises NotFound."""
    row = _rows().filter(pk=channel_id).first()
    if row is None:
        raise NotFound("no such channel")
    return _channel(row)


def delivery_row(delivery_id: uuid.UUID) -> DeliveryRow:
    """One delivery. Raises NotFound."""
    row = _deliveries().filter(pk=delivery_id).first()
    if row is None:
        raise NotFound("no such delivery")
    return _delivery(row)


def delivery_page(wanted: DeliveryFilters | None = None, *, after: str = "", limit: int = 50) -> Page[DeliveryRow]:
    """One page of the delivery log, newest first."""
    filters, rows = wanted or DeliveryFilters(), _deliveries()
    if filters.channel:
        rows = rows.filter(channel_id=filters.channel)
    if filters.state:
        rows = rows.filter(state=filters.state)
    keys = moment_and_id(after)
    if keys:
        rows = rows.filter(Q(made_at__lt=keys[0]) | Q(made_at=keys[0], pk__lt=keys[1]))
    return page_of(list(rows[: limit + 1]), limit=limit, row=_delivery, key=_key)


def _rows() -> QuerySet[Channel]:
    return Channel.objects.defer("sealed").prefetch_related("groups").order_by("name")


def _deliveries() -> QuerySet[Delivery]:
    return Delivery.objects.select_related("channel").defer("channel__sealed").order_by("-made_at", "-pk")


def _key(row: Delivery) -> str:
    return pagination.encode((row.made_at.isoformat(), str(row.pk)))


def _channel(row: Channel) -> ChannelRow:
    return from_row(
        ChannelRow,
        row,
        events=tuple(row.events),
        groups=tuple(GroupName(id=group.pk, name=group.name) for group in row.groups.all()),
        made_by=row.made_by_name,
    )


def _delivery(row: Delivery) -> DeliveryRow:
    return from_row(
        DeliveryRow,
        row,
        channel=row.channel_id,
        channel_name=row.channel.name,
        subject=str(row.body.get("subject", "")),
        log=tuple(
            DeliveryAttempt(at=datetime.fromisoformat(attempt["at"]), code=attempt["code"]) for attempt in row.log
        ),
    )
