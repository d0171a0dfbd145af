"""Resource channels: where notifications are sent.

Resource deliveries: the log of sent notifications, and sending one again.
"""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.notifications.channels import (
    STATES,
    ChannelRow,
    DeliveryAttempt,
    DeliveryFilters,
    DeliveryRow,
    GroupName,
    all_channels,
    channel_row,
    delivery_page,
    delivery_row,
)
from migrations_app.queries.notifications.channels import ChannelRow as Row
from migrations_app.queries.pagination import Page
from migrations_app.readiness.notification_events import EVENTS
from migrations_app.tasks import enqueue_channel
from migrations_app.use_cases.notifications.channels import (
    ChannelSettings,
    ChannelUpdate,
    change_channel,
    create_channel,
    remove_channel,
    resend,
    rotate,
    send_test,
)

ADMIN = EndpointPermission("admin", "administer_policy")


class GroupNameSerializer(StructSerializer):
    """A group of clusters."""

    struct = GroupName


class ChannelRowSerializer(StructSerializer):
    """A channel. `place` is the part of its address that may be shown; the address itself is never returned. Without
    `everywhere` it receives events of the clusters of its groups, and those that concern all clusters."""

    struct = ChannelRow
    leave_out = ("version",)


class MadeChannelSerializer(ChannelRowSerializer):
    """A new channel with the secret that signs its messages, which is never shown again. Empty: messages are not
    signed.
    """

    secret = OutputText()


class NewSecretSerializer(serializers.Serializer[Any]):
    """A secret that is never shown again."""

    secret = OutputText()


class SentSerializer(serializers.Serializer[Any]):
    """A delivery that is queued."""

    delivery = serializers.UUIDField()


def _events(*, required: bool = True) -> serializers.ListField:
    child = serializers.ChoiceField(choices=EVENTS)
    return serializers.ListField(child=child, allow_empty=False, max_length=30, required=required)


def _groups() -> serializers.ListField:
    description = "Ids of groups of clusters; none: every cluster."
    return serializers.ListField(child=serializers.UUIDField(), required=False, max_length=50, help_text=description)


class NewChannelSerializer(StrictSerializer):
    name = Text(max_length=80)
    kind = serializers.ChoiceField(choices=("webhook", "slack", "teams", "pagerduty", "opsgenie", "jira", "email"))
    target = Text(max_length=2000, write_only=True, help_text="An https address, or a mailbox.")
    key = Text(
        max_length=500,
        write_only=True,
        required=False,
        help_text="Required for pagerduty, opsgenie and jira; not allowed for others.",
    )
    events = _events()
    groups = _groups()


class ChannelChangeSerializer(StrictSerializer):
    """The fields to change."""

    name = Text(max_length=80, required=False)
    target = Text(max_length=2000, write_only=True, required=False, help_text="An https address, or a mailbox.")
    key = Text(
        max_length=500, write_only=True, required=False, help_text="Required if the address of a service changes."
    )
    events = _events(required=False)
    groups = _groups()
    enabled = serializers.BooleanField(required=False)


class ChannelsView(Endpoint):
    """All channels."""

    needs = {"GET": ADMIN, "POST": ADMIN}
    operations = {
        "GET": Operation("channels_list", answer=page_of("Channel", ChannelRowSerializer)),
        "POST": Operation("channels_create", body=NewChannelSerializer, answer=MadeChannelSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """Channels by name, on one page."""
        query_params(request, StrictSerializer)
        return page_answer(request, Page(all_channels(), ""), shape=ChannelRowSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Creates a channel. For a webhook the answer contains its secret, once."""
        body = body_params(request, NewChannelSerializer)
        channel_settings = ChannelSettings(
            **body | {"events": tuple(body["events"]), "groups": tuple(body.get("groups", ()))}
        )
        channel = create_channel(channel_settings, by=request.user.get_username(), now=timezone.now())
        row = channel_row(channel.id)
        answer = Response(ChannelRowSerializer(row).data | {"secret": channel.secret.reveal()}, status=201)
        answer["ETag"] = etags.of_version(row.version)
        answer["Location"] = reverse("api-channel", kwargs={"id": channel.id}, request=request)
        return answer


class ChannelView(Endpoint):
    """One channel."""

    needs = {"GET": ADMIN, "PATCH": ADMIN, "DELETE": ADMIN}
    operations = {
        "GET": Operation("channels_read", answer=ChannelRowSerializer),
        "PATCH": Operation("channels_change", body=ChannelChangeSerializer, answer=ChannelRowSerializer),
        "DELETE": Operation("channels_forget"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The channel, without its address and secrets."""
        query_params(request, StrictSerializer)
        return _channel_answer(channel_row(id))

    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Changes the fields of the request; other fields are unchanged."""
        row = channel_row(id)
        etags.require_match(request, etags.of_version(row.version))
        body = body_params(request, ChannelChangeSerializer, partial=True)
        body |= {name: tuple(body[name]) for name in ("events", "groups") if name in body}
        change_channel(id, ChannelUpdate(**body), version=row.version)
        return _channel_answer(channel_row(id))

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes the channel with its log."""
        etags.require_match(request, etags.of_version(channel_row(id).version))
        remove_channel(id)
        return Response(status=204)


class ChannelSecretView(Endpoint):
    """The secret that signs the messages of a webhook."""

    needs = {"POST": ADMIN}
    operations = {
        "POST": Operation("channels_turn_secret", answer=NewSecretSerializer, status=201),
    }

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Creates a new secret, shown once. Messages are signed with the former one as well, until the next change."""
        body_params(request, StrictSerializer)
        return Response({"secret": rotate(id).reveal()}, status=201)


class ChannelTestView(Endpoint):
    """A test message."""

    needs = {"POST": ADMIN}
    operations = {
        "POST": Operation("channels_test", answer=SentSerializer, status=202),
    }

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues a test message; its outcome is in the deliveries."""
        body_params(request, StrictSerializer)
        delivery_id = send_test(id, by=request.user.get_username(), now=timezone.now())
        transaction.on_commit(partial(enqueue_channel, id))
        answer = Response({"delivery": delivery_id}, status=202)
        answer["Location"] = reverse("api-delivery", kwargs={"id": delivery_id}, request=request)
        return answer


def _channel_answer(row: Row) -> Response:
    answer = Response(ChannelRowSerializer(row).data)
    answer["ETag"] = etags.of_version(row.version)
    return answer


class AttemptSerializer(StructSerializer):
    """One attempt. An empty code: it was received; `no_outcome`: it is in progress, or its worker died."""

    struct = DeliveryAttempt


class DeliveryRowSerializer(StructSerializer):
    """One event for one channel; `last_error` is a code, and `log` holds the last attempts."""

    struct = DeliveryRow

    state = serializers.ChoiceField(choices=STATES)


ROWS = page_of("Delivery", DeliveryRowSerializer)


class DeliveryQuerySerializer(PagedSerializer):
    channel = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(required=False, choices=STATES)


class DeliveriesView(Endpoint):
    """The log of deliveries."""

    needs = {"GET": ADMIN}
    tag = "channels"
    operations = {
        "GET": Operation("deliveries_list", query=DeliveryQuerySerializer, answer=ROWS),
    }

    def get(self, request: Request) -> Response:
        """Deliveries, newest first."""
        query = query_params(request, DeliveryQuerySerializer)
        filters = DeliveryFilters(channel=query.get("channel"), state=query.get("state", ""))
        page = delivery_page(filters, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=DeliveryRowSerializer)


class DeliveryView(Endpoint):
    """One delivery."""

    needs = {"GET": ADMIN}
    tag = "channels"
    operations = {
        "GET": Operation("deliveries_read", answer=DeliveryRowSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The delivery with its attempts."""
        query_params(request, StrictSerializer)
        return Response(DeliveryRowSerializer(delivery_row(id)).data)


class DeliveryResendView(Endpoint):
    """Sending a delivery again."""

    needs = {"POST": ADMIN}
    tag = "channels"
    operations = {
        "POST": Operation("deliveries_resend", answer=DeliveryRowSerializer, status=202),
    }

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues the delivery again, with the same event id and a new series of attempts."""
        body_params(request, StrictSerializer)
        transaction.on_commit(partial(enqueue_channel, resend(id, now=timezone.now())))
        return Response(DeliveryRowSerializer(delivery_row(id)).data, status=202)
