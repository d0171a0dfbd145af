"""fleet/burndown: what is left of the older generation, day by day, and when it will be gone."""

from typing import Any, get_args

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.clusters import labels_asked
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Strict
from migrations_app.api.rights import READ
from migrations_app.queries.burndown import BurndownAsk, burndown
from migrations_app.readiness.burndown import Certainty, Outcome


class BurndownQuery(Strict):
    """One cluster, a group, or the clusters with these labels; with none of them, all that the caller may see."""

    cluster = serializers.UUIDField(required=False)
    group = serializers.UUIDField(required=False)
    label = labels_asked()  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash


class PointShown(serializers.Serializer[Any]):
    """A day. `count` is null where nothing is known; `carried` counts clusters whose number is of an earlier day,
    `unseen` those of which something was never read: with them the count is a lower bound."""

    day = serializers.DateField()
    count = serializers.IntegerField(allow_null=True)
    certainty = serializers.ChoiceField(choices=get_args(Certainty))
    clusters = serializers.IntegerField()
    carried = serializers.IntegerField()
    unseen = serializers.IntegerField()


class ProjectionShown(serializers.Serializer[Any]):
    """`ends_on` is given for `falling` alone; where `certainty` is at_least it means: not before."""

    outcome = serializers.ChoiceField(choices=get_args(Outcome))
    ends_on = serializers.DateField(allow_null=True)
    per_week = serializers.FloatField(help_text="Change in a week; negative where it falls.")
    certainty = serializers.ChoiceField(choices=get_args(Certainty))


class CurveShown(serializers.Serializer[Any]):
    """At most ninety days, none before the first scan."""

    projection = ProjectionShown()
    points = PointShown(many=True)


class BurndownShown(serializers.Serializer[Any]):
    """Provisioners, AWSNodeTemplates and Machines as `objects`; the nodes that Provisioners own as `nodes`."""

    clusters = serializers.IntegerField()
    objects = CurveShown()
    nodes = CurveShown()


class BurndownOf(Endpoint):
    """The burndown of the fleet or a part of it."""

    needs = {"GET": READ}

    @described("GET", id="fleet_burndown", tag="fleet", query=BurndownQuery, answers={200: BurndownShown})
    def get(self, request: Request) -> Response:
        """Daily numbers of ninety days, and where they lead."""
        query = asked(request, BurndownQuery)
        labels = tuple(filter(None, query.get("label", "").split(",")))
        ask = BurndownAsk(cluster=query.get("cluster"), group=query.get("group"), labels=labels)
        return Response(BurndownShown(burndown(ask, now=timezone.now())).data)
