"""REST of the decisions that wait for people in a campaign: programs read them, people decide in the browser."""

import uuid
from typing import NoReturn

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import StrictSerializer, Text
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.api.journeys.serializers import CheckSeenSerializer, DifferenceSerializer
from migrations_app.queries.campaigns.campaigns import campaign_row
from migrations_app.queries.campaigns.pending_decisions import MAX_ON_A_PAGE, WaitingDecision, waiting_in


class WaitingDecisionSerializer(StructSerializer):
    """One plan that waits for approval, one plan that differs from the approved one, or one step to confirm."""

    struct = WaitingDecision
    leave_out = ("nonce",)

    checks = CheckSeenSerializer(many=True)
    differences = DifferenceSerializer(many=True)


class WaitingSerializer(serializers.Serializer[object]):
    """Everything that waits for a person, by wave."""

    waiting = WaitingDecisionSerializer(many=True)


class DecidingSerializer(StrictSerializer):
    """The keys of the decisions."""

    decisions = serializers.ListField(child=Text(max_length=200), max_length=MAX_ON_A_PAGE)
    note = Text(required=False, allow_blank=True, max_length=2000, default="")


class CampaignWaitingView(Endpoint):
    """The decisions that wait for people in a campaign."""

    needs = {"GET": READ}
    operations = {"GET": Operation("campaigns_waiting_list", answer=WaitingSerializer)}

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Plans to approve, plans that differ, and steps to confirm, of the clusters that the caller may see."""
        query_params(request, StrictSerializer)
        campaign_row(id)
        return Response(WaitingSerializer({"waiting": waiting_in(id)}).data)


class CampaignDecideView(Endpoint):
    """Deciding on several at once; only people can, in the browser (A42)."""

    needs = {"POST": READ}
    operations = {"POST": Operation("campaigns_decide", body=DecidingSerializer)}

    def post(self, request: Request, id: uuid.UUID) -> NoReturn:  # noqa: A002, ARG002 - the name in the address
        """Always refused with `person_needed`: a person decides, in the browser."""
        row = campaign_row(id)
        raise Problem("person_needed", f"open /campaigns/{row.id}/waiting in the browser")
