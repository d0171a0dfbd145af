"""Resource events: what happens to scans, plans, rollouts, journeys and campaigns, followed by a cursor or as an event
stream.

A request ends after `wait` seconds at most, also as an event stream: the client sends the next request with the last
id, as browsers do by themselves. A stream that stays open would hold one of the few threads of a web process as long as
its client listens; here at most MAX_WAITERS requests wait at a time. A request that finds no free place is answered at
once, with the time of the next try.
"""

import threading
import time
from typing import Any

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.operations import HEADER, Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.queries.audit.events import (
    KEPT_DAYS,
    KINDS,
    EventFilters,
    EventPage,
    EventPosition,
    ResourceEvent,
    encode_position,
    oldest_position,
    position_of,
    wait_for_events,
)

STREAM = "text/event-stream"
MAX_WAITERS = 2
"""Maximum number of requests of one web process that wait at a time; it has eight threads."""
LONGEST_WAIT = 20
PAUSE = 5
"""Seconds until the next request of a client that found no place to wait, or did not want to wait."""
places = threading.BoundedSemaphore(MAX_WAITERS)
pause = time.sleep
LAST_ID = OpenApiParameter("Last-Event-ID", OpenApiTypes.STR, HEADER, description="As `cursor`, of an event stream.")


class ResourceEventsQuerySerializer(StrictSerializer):
    cursor = serializers.CharField(
        required=False, max_length=200, help_text="The cursor of the last answer. Without one: events from now on."
    )
    begin = serializers.ChoiceField(
        required=False, choices=("now", "oldest"), default="now", help_text="Where to begin without a cursor."
    )
    wait = serializers.IntegerField(
        required=False, min_value=0, max_value=LONGEST_WAIT, default=0, help_text="Seconds to wait for an event."
    )
    limit = serializers.IntegerField(required=False, min_value=1, max_value=500, default=100)
    kind = serializers.ChoiceField(required=False, choices=KINDS, help_text="Only events of this kind.")
    cluster = serializers.UUIDField(required=False, help_text="Only of this cluster.")


@extend_schema_serializer(component_name="FeedEvent")  # published before events had a name of their own
class ResourceEventSerializer(StructSerializer):
    """One event. Read the object at its own address."""

    struct = ResourceEvent


@extend_schema_serializer(component_name="FeedPage")
class EventPageSerializer(serializers.Serializer[Any]):
    """Events, oldest first, and the cursor for the next request, even if there are no events."""

    results = ResourceEventSerializer(many=True)
    cursor = OutputText()
    gap = serializers.BooleanField(help_text=f"The cursor is over {KEPT_DAYS} days old: events may be missing.")
    retry_after = serializers.IntegerField(help_text="Seconds until the next request; 0 for at once.")


class EventsView(Endpoint):
    """Events."""

    tag = "events"
    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            "events_list",
            query=ResourceEventsQuerySerializer,
            answer=EventPageSerializer,  # not the stream: generators would tell that the answer may be a text
            more=[LAST_ID],
        ),
    }

    def get(self, request: Request) -> HttpResponseBase:
        """Events of objects that the caller may see; with `Accept: text/event-stream` as server-sent events."""
        query = query_params(request, ResourceEventsQuerySerializer)
        now = timezone.now()
        cursor = query.get("cursor") or request.headers.get("Last-Event-ID", "")
        begins_new = not cursor and query["begin"] == "oldest"
        position = oldest_position(now) if begins_new else position_of(cursor[:200], now=now)
        _refuse_unreachable(position)
        filters = EventFilters(
            kinds=(query["kind"],) if "kind" in query else (), cluster=query.get("cluster"), limit=query["limit"]
        )
        page, waited = _waited(position, filters, seconds=query["wait"])
        retry_seconds = 0 if page.events or page.more or waited else PAUSE
        answer = (
            _stream(page, retry_seconds) if STREAM in request.headers.get("Accept", "") else _json(page, retry_seconds)
        )
        answer["Cache-Control"] = "no-store"
        return answer


def _waited(position: EventPosition, filters: EventFilters, *, seconds: int) -> tuple[EventPage, bool]:
    """Returns the page, and whether the request had a place to wait in."""
    placed = seconds > 0 and places.acquire(blocking=False)
    try:
        wait_seconds = seconds if placed else 0
        return wait_for_events(position, filters, seconds=wait_seconds, pause=pause, clock=timezone.now), placed
    finally:
        if placed:
            places.release()


def _refuse_unreachable(position: EventPosition) -> None:
    """Raises Problem `bad_cursor` for numbers that no database can reach, so that this list never gave them out."""
    if not all(0 <= number < 2**62 for number in (position.audit, position.scans, position.issued)):
        raise Problem("bad_cursor")


def _json(page: EventPage, retry_seconds: int) -> Response:
    body = {
        "results": ResourceEventSerializer(page.events, many=True).data,
        "cursor": encode_position(page.position),
        "gap": page.gap,
        "retry_after": retry_seconds,
    }
    return Response(body)


def _stream(page: EventPage, retry_seconds: int) -> HttpResponse:
    """Returns server-sent events; the last line without data moves the client's last id on."""
    lines = [f"retry: {retry_seconds * 1000}\n\n"]
    if page.gap:
        lines.append("event: gap\ndata: {}\n\n")
    for event in page.events:
        text = msgspec.json.encode(ResourceEventSerializer(event).data).decode()
        lines.append(f"id: {event.cursor}\nevent: {event.event}\ndata: {text}\n\n")
    lines.append(f"id: {encode_position(page.position)}\n\n")
    return HttpResponse("".join(lines), content_type=f"{STREAM}; charset=utf-8")
