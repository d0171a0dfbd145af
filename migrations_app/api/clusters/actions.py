"""Endpoint clusters/{id}/actions: which actions can be planned on a cluster, and why others cannot; as on its pages."""

import uuid
from typing import Any

import msgspec
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.actions.registry import find
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.api.plans import PLAN
from migrations_app.queries.clusters.detail import cluster_head, report_of
from migrations_app.queries.rollouts.policies import (
    UPGRADE_DELIVERY,
    controller_upgrades_allowed,
    has_no_action_workers,
)
from migrations_app.readiness.action_offers import Offer, offers, parameter_schema, reason_disabled
from migrations_app.readiness.action_order import possible_now
from migrations_app.use_cases.accounts.tokens import TokenUse


class ActionOfferSerializer(StructSerializer):
    """One action. `why` says what is missing if it is not enabled; `checks` are the failing checks that it resolves."""

    struct = Offer

    risk = OutputText()
    parameters = serializers.DictField(help_text="A JSON Schema of the `parameters` of `POST /plans`.")


class ActionOffersSerializer(serializers.Serializer[Any]):
    """`snapshot` is the snapshot that the actions are based on; null for a cluster that was never scanned."""

    snapshot = serializers.UUIDField(allow_null=True)
    results = ActionOfferSerializer(many=True)


class ClusterActionsView(Endpoint):
    """The actions of one cluster."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("cluster_actions_list", answer=ActionOffersSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """All actions, first those that resolve a failing check. `POST /plans` with the `action_id` creates a plan."""
        query_params(request, StrictSerializer)
        head = cluster_head(id, now=timezone.now())
        report = report_of(head.snapshot.id) if head.snapshot else None
        refusal = reason_disabled(
            may_prepare=_may_prepare(request), source=head.source, has_no_action_workers=has_no_action_workers()
        )
        by_delivery = controller_upgrades_allowed(id, action=UPGRADE_DELIVERY)
        action_offers = offers(report, held=refusal, by_helm=controller_upgrades_allowed(id), by_delivery=by_delivery)
        action_offers = possible_now(action_offers, report)
        rows = [msgspec.to_builtins(offer) | {"parameters": _parameters(offer.action_id)} for offer in action_offers]
        return Response(ActionOffersSerializer({"snapshot": head.snapshot and head.snapshot.id, "results": rows}).data)


def _parameters(action_id: str) -> dict[str, Any]:
    action = find(action_id)
    return parameter_schema(action) if action else {}


def _may_prepare(request: Request) -> bool:
    use = request.auth
    scoped = not isinstance(use, TokenUse) or PLAN.scope in use.scopes
    return scoped and bool(request.user.has_perm(f"migrations_app.{PLAN.right}"))
