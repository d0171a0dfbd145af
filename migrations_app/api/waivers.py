"""Resource waivers: failing checks that somebody accepted, with a reason and an end date."""

import uuid

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.fleet.waivers import STATES, WaiverFilters, WaiverRow, waiver_of, waiver_page
from migrations_app.use_cases.scans.waivers import WaiverRequest, revoke, waive

CHANGE = EndpointPermission("admin", "change_cluster")


class WaiverRowSerializer(StructSerializer):
    """A waiver. `cluster` is null for one of a group, named by `group`, and for one of all clusters; `blockers` tells
    whether it covers what blocks; `hop` is empty for one of every hop."""

    struct = WaiverRow
    leave_out = ("soon",)


class WaiverQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(required=False, help_text="With those of its groups and of all.")
    group = serializers.UUIDField(required=False, help_text="Those that are given for this group.")
    check = serializers.CharField(required=False, max_length=80)
    state = serializers.ChoiceField(required=False, choices=STATES)


class NewWaiverSerializer(StrictSerializer):
    """For a cluster, or for a group; with neither it holds everywhere. A check that can block, a group and all clusters
    ask for the right to change policies as well."""

    check = Text(max_length=80)
    hop = Text(
        max_length=20,
        required=False,
        allow_blank=True,
        default="",
        help_text="The only hop that it is about; empty for every hop. iam_change_known needs one.",
    )
    cluster = serializers.UUIDField(required=False, allow_null=True, default=None)
    group = serializers.UUIDField(required=False, allow_null=True, default=None)
    reason = Text(max_length=500)
    owner = Text(max_length=150, help_text="Who answers for it: a person or a team.")
    ends_at = serializers.DateTimeField(help_text="At most a year ahead; from then on the check fails again.")


class WaiversView(Endpoint):
    """Accepted failures, those of the past as well."""

    needs = {"GET": READ, "POST": CHANGE}
    operations = {
        "GET": Operation("waivers_list", query=WaiverQuerySerializer, answer=page_of("Waiver", WaiverRowSerializer)),
        "POST": Operation(
            id="waivers_create", body=NewWaiverSerializer, answer=WaiverRowSerializer, status=201, named=True
        ),
    }

    def get(self, request: Request) -> Response:
        """Waivers, newest first."""
        query = query_params(request, WaiverQuerySerializer)
        texts = {name: query.get(name, "") for name in ("check", "state")}
        filters = WaiverFilters(cluster=query.get("cluster"), group=query.get("group"), **texts)
        page = waiver_page(filters, now=timezone.now(), after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=WaiverRowSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Accepts a failing check. It stays visible as waived, and fails again when the waiver ends."""
        waiver_id = waive(
            WaiverRequest(**body_params(request, NewWaiverSerializer)),
            caller_of(request),
            now=timezone.now(),
        )
        answer = Response(WaiverRowSerializer(waiver_of(waiver_id, now=timezone.now())).data, status=201)
        answer["Location"] = reverse("api-waiver", kwargs={"id": waiver_id}, request=request)
        return answer


class WaiverView(Endpoint):
    """One waiver."""

    needs = {"GET": READ, "DELETE": CHANGE}
    operations = {
        "GET": Operation("waivers_read", answer=WaiverRowSerializer),
        "DELETE": Operation("waivers_revoke", unmatched=True),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The waiver, whether it still holds or not."""
        query_params(request, StrictSerializer)
        return Response(WaiverRowSerializer(waiver_of(id, now=timezone.now())).data)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Takes the waiver back at once; it stays in the list as revoked. Needs no If-Match."""
        revoke(id, caller_of(request), now=timezone.now())
        return Response(status=204)
