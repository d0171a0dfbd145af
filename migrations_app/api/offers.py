"""clusters/{id}/actions: what may be planned on a cluster, and why the rest is not offered; as its pages say it."""

import uuid
from typing import Any

import msgspec
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Strict, Told
from migrations_app.api.plans import PLAN
from migrations_app.api.rights import READ
from migrations_app.flow.tokens import TokenUse
from migrations_app.queries.cluster import cluster_head, report_of
from migrations_app.readiness.offers import held, offers


class ActionOffer(serializers.Serializer[Any]):
    """One action. `why` says what is missing where it is not enabled; `checks` are those that call for it."""

    action_id = Told()
    label = Told()  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    purpose = Told()
    risk = Told()
    enabled = serializers.BooleanField()
    why = Told()
    checks = serializers.ListField(child=Told())


class ActionOffers(serializers.Serializer[Any]):
    """`snapshot` is the one they were read from; null for a cluster that was never scanned."""

    snapshot = serializers.UUIDField(allow_null=True)
    results = ActionOffer(many=True)


class ClusterActions(Endpoint):
    """The actions of one cluster."""

    needs = {"GET": READ}

    @described("GET", id="cluster_actions_list", tag="clusters", named=True, answers={200: ActionOffers})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Every action: first those that a failing check calls for. `POST /plans` begins one, with its `action_id`."""
        asked(request, Strict)
        head = cluster_head(id, now=timezone.now())
        report = report_of(head.snapshot.id) if head.snapshot else None
        told = offers(report, held=held(may_prepare=_may_prepare(request), source=head.source))
        rows = [msgspec.to_builtins(one) for one in told]
        return Response(ActionOffers({"snapshot": head.snapshot and head.snapshot.id, "results": rows}).data)


def _may_prepare(request: Request) -> bool:
    use = request.auth
    scoped = not isinstance(use, TokenUse) or PLAN.scope in use.scopes
    return scoped and bool(request.user.has_perm(f"migrations_app.{PLAN.right}"))
