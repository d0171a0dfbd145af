"""Sends deliveries: all waiting events of a channel in one message, retried until received or given up.

Delivery is at least once (R02): an attempt is counted before sending. If a worker dies between sending and recording
the outcome, the delivery is sent again with the same event id, so that receivers can drop duplicates.
"""

import hashlib
import logging
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from migrations_app.clients import mail, webhooks
from migrations_app.clients.mail import Mail
from migrations_app.clients.notification_services import KEYED, SERVICES, ServiceMessage, ServiceTarget, post_message
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.models.notification import Channel, Delivery
from migrations_app.queries.fleet.scan_interval import share
from migrations_app.queries.visibility import permissions_of, rights_over
from migrations_app.readiness.notification_events import EventFacts, headline, severity_of, text_of
from migrations_app.redaction import redacted_tree
from migrations_app.use_cases.notifications.channels import unsealed_channel
from migrations_app.use_cases.notifications.routing import BATCH_DELAY, LONGEST_HOLD
from migrations_app.use_cases.runtime.connections import network_policy

log = logging.getLogger(__name__)
MIN_MESSAGE_INTERVAL = timedelta(minutes=5)
"""Minimum pause after a message; events that are not urgent are collected meanwhile."""
CLAIM_DURATION = timedelta(seconds=60)
"""How long a worker claims a channel: longer than one message may take, so that a dead worker does not block it
longer.
"""
BATCH = 1000
MAX_ATTEMPTS = 24
FIRST_BACKOFF, MAX_BACKOFF = timedelta(minutes=1), timedelta(hours=1)
LONGEST_WAIT = LONGEST_HOLD + MAX_BACKOFF
MAX_LOGGED_ATTEMPTS = 30
UNKNOWN = "no_outcome"
"""Code in the log for an attempt whose outcome was never recorded."""
SOURCE = "karpdash"
BATCH_TYPE = "application/cloudevents-batch+json"
MAILED = frozenset({Channel.Kind.EMAIL, Channel.Kind.PEOPLE})


def due(now: datetime) -> list[uuid.UUID]:
    """Ids of the channels that have something to send and are not in a pause."""
    waiting = Q(deliveries__state=Delivery.State.WAITING) & _reached("deliveries__next_at", now, longest=LONGEST_WAIT)
    hurry = Q(deliveries__urgent=True, failures=0)
    rested = Q(not_before=None) | _reached("not_before", now, longest=2 * MAX_BACKOFF)
    channels = Channel.objects.filter(waiting & (rested | hurry), enabled=True)
    return list(channels.order_by().values_list("pk", flat=True).distinct())


def _reached(column: str, now: datetime, *, longest: timedelta) -> Q:
    """Filter for rows whose time has come. A time farther away than the longest wait was stored by a clock that was
    ahead, and counts as reached: the channel would stay silent until then (R18).
    """
    return Q(**{f"{column}__lte": now}) | Q(**{f"{column}__gt": now + longest})


def deliver(channel_id: uuid.UUID) -> int:
    """Sends the waiting deliveries of one channel, unless another worker has claimed it. Returns how many events were
    received.

    1. Claim the channel until CLAIM_DURATION has passed; return 0 if another worker has it.
    2. Take the waiting deliveries and count this attempt on each of them.
    3. Send them as one message, outside any transaction.
    4. Record the outcome, and release the channel.
    """
    now = timezone.now()
    if channel_id not in due(now):
        return 0
    free = Q(busy_until=None) | _reached("busy_until", now, longest=2 * CLAIM_DURATION)
    if not Channel.objects.filter(free, pk=channel_id, enabled=True).update(busy_until=now + CLAIM_DURATION):
        return 0
    channel = Channel.objects.get(pk=channel_id)
    rows = _next_message(channel, now)
    error_code = _send(channel, rows, now=now) if rows else UNKNOWN
    if rows:
        _store_outcome(channel, rows, error_code=error_code, now=now)
    Channel.objects.filter(pk=channel_id, busy_until=channel.busy_until).update(busy_until=None)
    return 0 if error_code else len(rows)


def _next_message(channel: Channel, now: datetime) -> list[Delivery]:
    """The deliveries of the next message, with this attempt counted. Deliveries with MAX_ATTEMPTS attempts are given
    up (R36).
    """
    waiting = Delivery.objects.filter(channel=channel, state=Delivery.State.WAITING)
    with transaction.atomic():
        # Each mail to people goes to those who have rights over its cluster, so events are not combined.
        most = 1 if channel.kind == Channel.Kind.PEOPLE else BATCH
        waiting.filter(attempts__gte=F("tries_from") + MAX_ATTEMPTS).update(state=Delivery.State.FAILED)
        ripe = _reached("next_at", now, longest=LONGEST_WAIT) | Q(next_at__lte=now + BATCH_DELAY, attempts=0)
        candidates = list(waiting.filter(ripe).select_for_update().order_by("made_at", "pk")[:most])
        rows = _last_tried_message(candidates) if channel.kind in KEYED else candidates
        return sorted(
            (row for row in rows if _count_attempt(row, waiting, now=now)), key=lambda row: str(row.body["time"])
        )


def _last_tried_message(rows: list[Delivery]) -> list[Delivery]:
    """The rows of the message that was tried longest ago; all rows if none was tried.

    A service may have received that message already: rows added to it since would be marked as received although they
    were not sent.
    """
    times = [row.log[-1]["at"] for row in rows if row.attempts]
    return [row for row in rows if row.attempts and row.log[-1]["at"] == min(times)] if times else rows


def _count_attempt(row: Delivery, waiting: QuerySet[Delivery], *, now: datetime) -> bool:
    """Counts the attempt if the row is unchanged since it was read. False if another event was merged into it
    meanwhile.
    """
    tried = [*row.log[-MAX_LOGGED_ATTEMPTS + 1 :], {"at": now.isoformat(), "code": UNKNOWN}]
    same = waiting.filter(pk=row.pk, attempts=row.attempts, event_id=row.event_id)
    row.attempts, row.log = row.attempts + 1, tried
    return bool(same.update(attempts=row.attempts, log=tried, next_at=now))


def _send(channel: Channel, rows: Sequence[Delivery], *, now: datetime) -> str:
    """Sends the events. Returns an error code, empty on success. Nothing of the receiver's response is stored (T03)."""
    events: list[EventFacts] = [row.body for row in rows]
    try:
        if channel.kind in MAILED:
            return _send_mail(channel, events)
        channel_secrets = unsealed_channel(channel)
        if channel.kind in SERVICES:
            target = ServiceTarget(channel_secrets.target, Secret(channel_secrets.key))
            post_message(channel.kind, target, message=_message(rows), reach=network_policy())
            return ""
        body, headers = _encode(channel.kind, events)
        if channel.kind == Channel.Kind.WEBHOOK:
            at = int(now.timestamp())
            headers |= webhooks.signed(body, secrets=[Secret(secret) for secret in channel_secrets.secrets], at=at)
        webhooks.post(channel_secrets.target, body, headers=headers, reach=network_policy())
    except (ReadError, InvalidInput, InvalidSetting) as reason:
        return reason.code
    return ""


def _message(rows: Sequence[Delivery]) -> ServiceMessage:
    """One message for a service. Its id stays the same when it is tried again."""
    events: list[EventFacts] = [row.body for row in rows]
    first = min(rows, key=lambda row: (-row.attempts, row.made_at, str(row.pk)))
    return ServiceMessage(
        id=first.event_id,
        title=headline(events),
        text=text_of(events),
        severity=severity_of(events),
        again=first.attempts > 1,
    )


def _encode(kind: str, events: Sequence[EventFacts]) -> tuple[bytes, dict[str, str]]:
    if kind == Channel.Kind.WEBHOOK:
        return msgspec.json.encode([_cloud_event(event) for event in events]), {"Content-Type": BATCH_TYPE}
    text = text_of(events)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, entity)
    return msgspec.json.encode({"text": text}), {"Content-Type": "application/json"}


def _cloud_event(event: EventFacts) -> dict[str, Any]:
    return {"specversion": "1.0", "source": SOURCE, "datacontenttype": "application/json", **redacted_tree(dict(event))}


def _send_mail(channel: Channel, events: Sequence[EventFacts]) -> str:
    """As `_send`, by mail. Raises ReadError, InvalidSetting."""
    server = settings.ENV.email
    if server is None:
        return "no_mail"
    to = _responsible_addresses(events) if channel.kind == Channel.Kind.PEOPLE else (unsealed_channel(channel).target,)
    if not to:
        return "no_recipients"
    mark = hashlib.sha256("".join(sorted(event["id"] for event in events)).encode()).hexdigest()[:40]
    try:
        letter = Mail(to=to, subject=f"karpdash: {headline(events)}"[:200], text=text_of(events), id=mark)
        mail.send(server, letter, reach=network_policy())
    except ReadError as reason:
        if reason.code != "mail_partly_refused":
            raise
        log.warning("a mail was refused for some", extra={"channel": str(channel.pk)})
    return ""


def _responsible_addresses(events: Sequence[EventFacts]) -> tuple[str, ...]:
    """Addresses of active users who may approve or administer every cluster in the events (any cluster, if none is
    named).
    """
    people = User.objects.filter(is_active=True).exclude(email="").order_by("pk")
    rights = frozenset({"approve", "administer"})
    clusters = sorted({event["data"]["cluster"] for event in events if event["data"].get("cluster")})

    def is_responsible(user: User) -> bool:
        if not clusters:
            return bool(rights & permissions_of(user).over_nothing_named())
        return all(rights & rights_over(user, uuid.UUID(key)) for key in clusters)

    return tuple(dict.fromkeys(user.email for user in people.iterator() if is_responsible(user)))


def _store_outcome(channel: Channel, rows: Iterable[Delivery], *, error_code: str, now: datetime) -> None:
    """Records the outcome on rows and channel. The channel pauses longer after each failure (exponential backoff)."""
    failures = channel.failures + 1 if error_code else 0
    pause = min(FIRST_BACKOFF * 2 ** min(failures - 1, 10), MAX_BACKOFF) if error_code else MIN_MESSAGE_INTERVAL
    again = now + pause * (1 + share(channel.pk) / 10 if error_code else 1)
    with transaction.atomic():
        for row in rows:
            _store_row_outcome(row, error_code, now=now, again=again)
        rows_of_channel = Channel.objects.filter(pk=channel.pk, busy_until=channel.busy_until)
        rows_of_channel.update(failures=failures, not_before=again)
    if error_code:
        log.warning("news not received", extra={"channel": str(channel.pk), "code": error_code})


def _store_row_outcome(row: Delivery, error_code: str, *, now: datetime, again: datetime) -> None:
    tried = [*row.log[:-1], {"at": row.log[-1]["at"], "code": error_code[:60]}]
    changed: dict[str, Any] = {"log": tried, "last_error": error_code[:60]}
    if not error_code:
        changed |= {"state": Delivery.State.SENT, "sent_at": now}
    elif row.attempts - row.tries_from >= MAX_ATTEMPTS:
        changed["state"] = Delivery.State.FAILED
    else:
        changed["next_at"] = again
    Delivery.objects.filter(pk=row.pk, attempts=row.attempts).update(**changed)
