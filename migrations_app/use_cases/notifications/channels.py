"""Creates, changes, tests and removes notification channels. Addresses and signing secrets are encrypted (T22)."""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import F

from migrations_app.clients.notification_services import KEYED, SERVICES, read_target
from migrations_app.clients.secret import Secret
from migrations_app.clients.webhooks import read_address
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.notification import Channel, Delivery
from migrations_app.readiness.notification_events import EVENTS, TEST
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.runtime.connections import keys

FIELD = "channel"
PEOPLE_NAME = "Approvers and administrators"
"""The built-in channel."""
MAX_CHANNELS = 200
"""Maximum number of channels per installation."""


class ChannelSecrets(msgspec.Struct, frozen=True):
    """The encrypted part of a channel: its address, its signing secrets, newest first, and the key of its service."""

    target: str
    secrets: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """Settings of a new channel.

    Without `groups` it receives events of every cluster. `key` is the key that PagerDuty, Opsgenie and Jira need
    besides the address.
    """

    name: str
    kind: str
    target: str
    events: tuple[str, ...]
    groups: tuple[uuid.UUID, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelUpdate:
    """Changes to a channel; None leaves a field unchanged. A new address of a service needs its key again."""

    name: str | None = None
    target: str | None = None
    events: tuple[str, ...] | None = None
    groups: tuple[uuid.UUID, ...] | None = None
    enabled: bool | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedChannel:
    """A new channel. `secret` signs its messages and is shown only once; empty for kinds that are not signed."""

    id: uuid.UUID
    secret: Secret


def create_channel(channel_settings: ChannelSettings, *, by: str, now: datetime) -> CreatedChannel:
    """Creates a channel. Raises InvalidInput, Conflict `name_taken`."""
    _refuse_invalid(channel_settings.name, channel_settings.events)
    place = _place(channel_settings.kind, channel_settings.target, key=channel_settings.key)
    secret = _new_secret() if channel_settings.kind == Channel.Kind.WEBHOOK else ""
    row = Channel(
        name=channel_settings.name.strip(),
        kind=channel_settings.kind,
        place=place,
        events=sorted(set(channel_settings.events)),
    )
    row.made_by_name, row.made_at, row.everywhere = by, now, not channel_settings.groups
    row.sealed = _sealed(
        row, ChannelSecrets(channel_settings.target, (secret,) if secret else (), channel_settings.key)
    )
    with transaction.atomic():
        groups = _groups(channel_settings.groups)
        if Channel.objects.count() >= MAX_CHANNELS:
            raise InvalidInput(f"at most {MAX_CHANNELS} channels", where="name", code="too_many")
        _save(row, insert=True)
        row.groups.set(groups)
        record_audit_event(
            "channel.made", f"channel {row.name}", kind=row.kind, place=place, **_audit_details(row, groups)
        )
    return CreatedChannel(row.pk, Secret(secret))


def change_channel(channel_id: uuid.UUID, change: ChannelUpdate, *, version: int | None = None) -> None:
    """Changes a channel.

    Raises NotFound, InvalidInput, Conflict `name_taken`, Conflict `stale` for an outdated version.
    """
    with transaction.atomic():
        row = _locked_channel(channel_id)
        if version is not None and version != row.version:
            raise Conflict("the channel was changed meanwhile", code="stale")
        _apply(row, change)
        groups = list(row.groups.all())
        if change.groups is not None:
            groups = _groups(change.groups)
            row.groups.set(groups)
            row.everywhere = not groups
        row.version += 1
        _save(row)
        record_audit_event("channel.changed", f"channel {row.name}", place=row.place, **_audit_details(row, groups))


def rotate(channel_id: uuid.UUID) -> Secret:
    """Creates a new signing secret and returns it. Raises NotFound, InvalidInput.

    Messages are signed with the previous secret as well, until the next rotation.
    """
    with transaction.atomic():
        row = _locked_channel(channel_id)
        if row.kind != Channel.Kind.WEBHOOK:
            raise InvalidInput("only webhooks are signed", where="kind", code="not_signed")
        former, secret = unsealed_channel(row), _new_secret()
        row.sealed = _sealed(row, ChannelSecrets(former.target, (secret, *former.secrets[:1])))
        row.version += 1
        row.save(update_fields=["sealed", "version"])
        record_audit_event("channel.secret_turned", f"channel {row.name}")
    return Secret(secret)


def remove_channel(channel_id: uuid.UUID) -> None:
    """Removes the channel and its delivery log. Raises NotFound."""
    with transaction.atomic():
        row = _locked_channel(channel_id)
        record_audit_event("channel.removed", f"channel {row.name}", place=row.place)
        row.delete()


def send_test(channel_id: uuid.UUID, *, by: str, now: datetime) -> uuid.UUID:
    """Enqueues a test message without delay and returns the id of its delivery. Raises NotFound, InvalidInput."""
    with transaction.atomic():
        row = Channel.objects.select_for_update().filter(pk=channel_id).first()
        if row is None:
            raise NotFound("no such channel")
        if not row.enabled:
            raise InvalidInput("the channel is switched off", where="enabled", code="channel_off")
        delivery = _test(row, by=by, now=now)
        Channel.objects.filter(pk=row.pk).update(not_before=None)
        record_audit_event("channel.tested", f"channel {row.name}", event=delivery.event_id)
    return delivery.pk


def resend(delivery_id: uuid.UUID, *, now: datetime) -> uuid.UUID:
    """Resends a delivery with the same event id and new attempts. Returns its channel's id. Raises NotFound."""
    with transaction.atomic():
        row = Delivery.objects.select_related("channel").filter(pk=delivery_id).first()
        if row is None:
            raise NotFound("no such delivery")
        again = {"state": Delivery.State.WAITING, "tries_from": F("attempts"), "next_at": now}
        Delivery.objects.filter(pk=delivery_id).update(**again)
        Channel.objects.filter(pk=row.channel_id).update(not_before=None)
        record_audit_event("delivery.resent", f"channel {row.channel.name}", event=row.event_id)
    return row.channel_id


def unsealed_channel(row: Channel) -> ChannelSecrets:
    """Decrypted address and secrets of a channel. Raises InvalidSetting when the key is missing."""
    return msgspec.json.decode(keys().open(bytes(row.sealed), owner=str(row.pk), field=FIELD), type=ChannelSecrets)


def _test(row: Channel, *, by: str, now: datetime) -> Delivery:
    event_id = str(uuid.uuid4())
    body = {"id": event_id, "type": TEST, "subject": row.name, "time": now.isoformat(), "data": {"by": by}}
    return Delivery.objects.create(
        channel=row, event_id=event_id, topic=TEST, body=body, urgent=True, made_at=now, next_at=now
    )


def _apply(row: Channel, change: ChannelUpdate) -> None:
    _refuse_invalid(row.name if change.name is None else change.name, change.events or tuple(row.events))
    if change.events is not None and not change.events:
        _refuse_invalid(row.name, ())
    if change.name is not None:
        row.name = change.name.strip()
    if change.events is not None:
        row.events = sorted(set(change.events))
    if change.enabled is not None:
        row.enabled = change.enabled
    if change.target is not None or change.key is not None:
        former = unsealed_channel(row)
        target, key = change.target or former.target, former.key if change.key is None else change.key
        if row.kind in KEYED and change.key is None and target != former.target:
            # Otherwise a person could change the address and receive the key on a server of their own.
            raise InvalidInput("if the address changes, enter its key again", where="key", code="bad_key")
        row.place = _place(row.kind, target, key=key)
        row.sealed = _sealed(row, ChannelSecrets(target, former.secrets, key))
        row.failures, row.not_before = 0, None


def _save(row: Channel, *, insert: bool = False) -> None:
    try:
        with transaction.atomic():
            row.save(force_insert=insert)
    except IntegrityError:
        raise Conflict("there is a channel of that name already", code="name_taken") from None


def _audit_details(row: Channel, groups: list[ClusterGroup]) -> dict[str, Any]:
    """The details of a channel for the audit log."""
    return {"events": row.events, "groups": sorted(group.name for group in groups), "enabled": row.enabled}


def _groups(ids: tuple[uuid.UUID, ...]) -> list[ClusterGroup]:
    groups = list(ClusterGroup.objects.filter(pk__in=ids))
    if len(groups) != len(set(ids)):
        raise InvalidInput("there is no such group", where="groups", code="unknown_group")
    return groups


def _sealed(row: Channel, channel_secrets: ChannelSecrets) -> bytes:
    return keys().seal(msgspec.json.encode(channel_secrets), owner=str(row.pk), field=FIELD)


def _new_secret() -> str:
    return f"kdw_{secrets.token_urlsafe(32)}"


def _locked_channel(channel_id: uuid.UUID) -> Channel:
    """The locked row. Raises NotFound, also for the built-in channel, which cannot be changed."""
    row = Channel.objects.select_for_update().filter(pk=channel_id).exclude(kind=Channel.Kind.PEOPLE).first()
    if row is None:
        raise NotFound("no such channel")
    return row


def _refuse_invalid(name: str, events: tuple[str, ...]) -> None:
    if not name.strip() or len(name) > 80 or not name.isprintable():
        raise InvalidInput("1 to 80 characters are needed", where="name", code="text_needed")
    if name.strip().casefold() == PEOPLE_NAME.casefold():
        raise InvalidInput("that name is reserved by karpdash", where="name", code="text_needed")
    if not events or not set(events) <= set(EVENTS):
        raise InvalidInput(f"at least one of {', '.join(EVENTS)}", where="events", code="bad_events")


def _place(kind: str, target: str, *, key: str) -> str:
    """The part of the address that may be displayed. Raises InvalidInput."""
    if kind == Channel.Kind.EMAIL and key:
        raise InvalidInput("is only for PagerDuty, Opsgenie and Jira", where="key", code="bad_key")
    if kind == Channel.Kind.EMAIL:
        return _mailbox(target)
    if kind not in (Channel.Kind.WEBHOOK, Channel.Kind.SLACK, *SERVICES):
        raise InvalidInput("is not a kind of channel", where="kind", code="bad_kind")
    read_target(kind, target, key=key)
    return f"https://{read_address(target).netloc}/…"[:300]


def _mailbox(target: str) -> str:
    if settings.ENV.email is None:
        raise InvalidInput("KARPDASH_EMAIL_URL is not set", where="kind", code="no_mail")
    try:
        validate_email(target)
    except ValidationError:
        raise InvalidInput("is no e-mail address", where="target", code="bad_target") from None
    return target
