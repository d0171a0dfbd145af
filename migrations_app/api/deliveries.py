"""deliveries: the log of the news that was sent, and sending it again."""

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.channels import ADMIN
from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, given, page_answer
from migrations_app.api.fields import Paged, Strict, Told
from migrations_app.api.replayed import replayed
from migrations_app.flow.channels import resend
from migrations_app.queries.channels import STATES, DeliveryAsk, delivery_page, delivery_row
from migrations_app.tasks import wake_channel


class Attempt(serializers.Serializer[Any]):
    """One try. An empty code: it was received; `no_outcome`: it is under way, or its worker died."""

    at = serializers.DateTimeField()
    code = Told()


class DeliveryRow(serializers.Serializer[Any]):
    """One event for one channel; `last_error` is a code, and `log` holds the last tries."""

    id = serializers.UUIDField()
    channel = serializers.UUIDField()
    channel_name = Told()
    event_id = Told()
    topic = Told()
    subject = Told()
    state = serializers.ChoiceField(choices=STATES)
    attempts = serializers.IntegerField()
    log = Attempt(many=True)
    made_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField()
    sent_at = serializers.DateTimeField(allow_null=True)
    last_error = Told()


ROWS = page_of("Delivery", DeliveryRow)


class DeliveryQuery(Paged):
    channel = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(required=False, choices=STATES)


class Deliveries(Endpoint):
    """The log of what was sent."""

    needs = {"GET": ADMIN}

    @described("GET", id="deliveries_list", tag="channels", query=DeliveryQuery, answers={200: ROWS})
    def get(self, request: Request) -> Response:
        """Deliveries, newest first."""
        query = asked(request, DeliveryQuery)
        ask = DeliveryAsk(channel=query.get("channel"), state=query.get("state", ""))
        page = delivery_page(ask, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=DeliveryRow)


class Delivery(Endpoint):
    """One delivery."""

    needs = {"GET": ADMIN}

    @described("GET", id="deliveries_read", tag="channels", named=True, answers={200: DeliveryRow})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The delivery with its tries."""
        asked(request, Strict)
        return Response(DeliveryRow(delivery_row(id)).data)


class DeliveryResend(Endpoint):
    """One delivery, again."""

    needs = {"POST": ADMIN}

    @described("POST", id="deliveries_resend", tag="channels", named=True, answers={202: DeliveryRow})
    @replayed
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Sends it once more with the same event id, and with fresh tries."""
        given(request, Strict)
        transaction.on_commit(partial(wake_channel, resend(id, now=timezone.now())))
        return Response(DeliveryRow(delivery_row(id)).data, status=202)
