"""Resource waivers: accepted failures of checks, with a reason and an end date."""

import uuid

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import CheckId, PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.fleet.waivers import STATES, WaiverFilters, WaiverRow, waiver_of, waiver_page
from migrations_app.use_cases.scans.waivers import WaiverRequest, revoke, waive

CHANGE = EndpointPermission("admin", "change_cluster")


class WaiverRowSerializer(StructSerializer):
    """A waiver. `cluster` is null for a waiver of a group (`group` names it) and of all clusters; `blockers`: it also
    covers blockers; `hop` is empty for every hop.
    """

    struct = WaiverRow
    leave_out = ("soon",)


class WaiverQuerySerializer(PagedSerializer):
    cluster = serializers.UUIDField(
        required=False, help_text="Waivers of this cluster, of its groups and of all clusters."
    )
    group = serializers.UUIDField(required=False, help_text="Waivers of this group.")
    check = CheckId()
    state = serializers.ChoiceField(required=False, choices=STATES)


class NewWaiverSerializer(StrictSerializer):
    """For a cluster or for a group; without both, for all clusters. A check that can block, a group and all clusters
    also need the permission to change policies.
    """

    check = Text(max_length=80)
    hop = Text(
        max_length=20,
        required=False,
        allow_blank=True,
        default="",
        help_text="The only hop that the waiver is for; empty for every hop. iam_change_known needs one.",
    )
    cluster = serializers.UUIDField(required=False, allow_null=True, default=None)
    group = serializers.UUIDField(required=False, allow_null=True, default=None)
    reason = Text(max_length=500)
    owner = Text(max_length=150, help_text="Who is responsible: a person or a team.")
    ends_at = serializers.DateTimeField(help_text="At most a year ahead. After it the check fails again.")


class WaiversView(Endpoint):
    """Waivers, including former ones."""

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
        """Accepts a failing check. It is shown as waived, and fails again when the waiver ends."""
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
        """The waiver, in force or not."""
        query_params(request, StrictSerializer)
        return Response(WaiverRowSerializer(waiver_of(id, now=timezone.now())).data)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the waiver at once; it stays in the list as revoked. Needs no If-Match."""
        revoke(id, caller_of(request), now=timezone.now())
        return Response(status=204)
