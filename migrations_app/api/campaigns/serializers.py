"""Serializers of campaigns, for answers and requests."""

from collections.abc import Mapping
from typing import Any

import msgspec
from rest_framework import serializers
from rest_framework.response import Response

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import PagedSerializer, StrictInteger, StrictSerializer, Text, ordering
from migrations_app.api.policies import WindowSerializer
from migrations_app.campaigns.forecast import CampaignForecast
from migrations_app.campaigns.recipe import LONGEST_GATE_SOAK, PERSON_GATES, Gates, Limits, Selection
from migrations_app.campaigns.states import CAMPAIGN_STATES, MEMBER_STATES
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.deletions import FORECAST
from migrations_app.journeys.plan import COVERABLE
from migrations_app.queries.campaigns.campaigns import CAMPAIGN_GROUPS, CAMPAIGN_ORDERS
from migrations_app.queries.campaigns.values import CampaignApprovalRow, CampaignBoard, CampaignRow, MemberRow, WaveRow
from migrations_app.use_cases.campaigns.requests import (
    LONGEST_CAMPAIGN_NAME,
    LONGEST_NOTE,
    MAX_CLUSTERS,
    MAX_WAVES,
    CampaignRequest,
)
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK
from migrations_app.use_cases.rollouts.policies import MAX_WINDOWS

PLAIN_GATES, PLAIN_LIMITS = Gates(), Limits()


class CampaignLineSerializer(StructSerializer):
    """A campaign without its clusters."""

    struct = CampaignRow
    leave_out = ("author_id",)


class CampaignMemberSerializer(StructSerializer):
    """One cluster: waiting, preparing, asking, running, stopped, done or out, with the code of the reason."""

    struct = MemberRow
    published_as = {"target_release": "lands"}


class CampaignWaveSerializer(StructSerializer):
    """One wave and its clusters by state."""

    struct = WaveRow


class CampaignAgreedSerializer(StructSerializer):
    """One person's approval of the campaign."""

    struct = CampaignApprovalRow


class CampaignForecastSerializer(StructSerializer):
    """What the campaign would do, from stored scans; null if the number of a cluster is not known."""

    struct = CampaignForecast

    by_people = serializers.IntegerField(help_text="Steps that people or tools outside do.")


class CampaignWholeSerializer(CampaignLineSerializer):
    """A campaign with its recipe, its waves and what it would do. Its clusters are at campaigns/{id}/clusters."""

    recipe = serializers.DictField(help_text="As it was requested, with the defaults filled in.")
    needed = serializers.IntegerField(help_text="Approvals that the policies ask for now.")
    agreed = CampaignAgreedSerializer(many=True)
    waves = CampaignWaveSerializer(many=True)
    forecast = CampaignForecastSerializer()
    hidden = serializers.IntegerField(help_text="Clusters that the caller may not see.")
    projected_end = serializers.DateTimeField(allow_null=True, help_text="At the pace so far; null if not known.")


class CampaignQuerySerializer(PagedSerializer):
    state = serializers.ChoiceField(
        required=False, choices=(*CAMPAIGN_STATES, *CAMPAIGN_GROUPS), help_text="A state or a group."
    )
    ordering = ordering(CAMPAIGN_ORDERS, default="-made_at")


class CampaignMemberQuerySerializer(PagedSerializer):
    state = serializers.ChoiceField(required=False, choices=MEMBER_STATES, help_text="Only clusters in that state.")


class SelectionSerializer(StrictSerializer):
    """Clusters that the caller may operate, and that are in one of the groups, in one of the environments, and have
    every label."""

    groups = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=50)
    environments = serializers.ListField(child=Text(max_length=40), required=False, default=list, max_length=50)
    labels = serializers.DictField(child=Text(max_length=120), required=False, default=dict)
    clusters = serializers.ListField(
        child=serializers.UUIDField(), required=False, default=list, max_length=MAX_CLUSTERS,
        help_text="Single clusters; empty for all that match the other fields.",
    )  # fmt: skip


class CampaignLimitsSerializer(StrictSerializer):
    """How many clusters are in progress at once; 0 for no limit. The region is the cluster's label `region`."""

    at_once = StrictInteger(required=False, default=PLAIN_LIMITS.at_once, min_value=1, max_value=MAX_CLUSTERS)
    per_region = StrictInteger(required=False, default=0, min_value=0, max_value=MAX_CLUSTERS)
    per_environment = StrictInteger(required=False, default=0, min_value=0, max_value=MAX_CLUSTERS)


class CampaignGatesSerializer(StrictSerializer):
    """What a wave waits for, besides the clusters of the waves before it."""

    soak_seconds = StrictInteger(
        required=False, default=PLAIN_GATES.soak_seconds, min_value=0, max_value=LONGEST_GATE_SOAK
    )
    person = serializers.ChoiceField(required=False, choices=PERSON_GATES, default=PLAIN_GATES.person)
    most_stops = StrictInteger(required=False, default=0, min_value=0, max_value=MAX_CLUSTERS)


class NewCampaignSerializer(StrictSerializer):
    """The recipe of a campaign. As the size of a wave, 0 means all remaining clusters."""

    name = Text(max_length=LONGEST_CAMPAIGN_NAME)
    selection = SelectionSerializer(required=False, default=dict)
    to = Text(
        required=False, allow_blank=True, max_length=40, default="",
        help_text="A hop, a minor or a release to which each cluster is upgraded; empty: the next hop of each.",
    )  # fmt: skip
    covers = serializers.ChoiceField(required=False, choices=COVERABLE, default="high")
    parameters = serializers.DictField(
        required=False, default=dict, child=serializers.DictField(), help_text="Choices, by the id of the action."
    )
    soak_seconds = StrictInteger(required=False, default=SOAK_SECONDS, min_value=0, max_value=LONGEST_SOAK)
    waves = serializers.ListField(
        child=StrictInteger(min_value=0, max_value=MAX_CLUSTERS), required=False, default=lambda: [1, 5, 0],
        min_length=1, max_length=MAX_WAVES,
    )  # fmt: skip
    order = serializers.ListField(child=Text(max_length=40), required=False, default=list, max_length=50)
    limits = CampaignLimitsSerializer(required=False, default=dict)
    gates = CampaignGatesSerializer(required=False, default=dict)
    windows = serializers.ListField(child=WindowSerializer(), required=False, default=list, max_length=MAX_WINDOWS)
    stop_all = serializers.BooleanField(required=False, default=False)
    weighed = Text(
        required=False, allow_blank=True, max_length=LONGEST_NOTE, default="",
        help_text="Confirmation of manual checks, for all clusters; empty: a person confirms them for each cluster.",
    )  # fmt: skip
    accepts = serializers.BooleanField(
        required=False, default=False,
        help_text="Whether warnings that fail are accepted as the preview shows them; needs `weighed`.",
    )  # fmt: skip
    destroys = serializers.ListField(
        child=serializers.ChoiceField(choices=FORECAST), required=False, default=list, max_length=len(FORECAST),
        help_text="Actions for which the approval also covers plans that delete objects of the preview.",
    )  # fmt: skip
    unseen = serializers.BooleanField(
        required=False, default=False, help_text="Whether the approval also covers plans that are made later."
    )
    ticket = Text(required=False, allow_blank=True, max_length=200, default="")
    note = Text(required=False, allow_blank=True, max_length=2000, default="")


class CampaignStartSerializer(StrictSerializer):
    """The digest of the campaign as it was read."""

    digest = Text(max_length=64)


class CampaignReasonSerializer(StrictSerializer):
    reason = Text(required=False, allow_blank=True, max_length=2000, default="")


class WaveOpenSerializer(StrictSerializer):
    """The number of the wave, from 1, and the reason why it may begin."""

    wave = StrictInteger(min_value=1, max_value=MAX_WAVES + 1)
    note = Text(max_length=2000)


class MemberNameSerializer(StrictSerializer):
    """The id of a cluster of the campaign, from its list of clusters."""

    member = StrictInteger(min_value=1, max_value=2**53)


class MemberOutSerializer(MemberNameSerializer):
    reason = Text(max_length=2000)


def campaign_request(body: Mapping[str, Any]) -> CampaignRequest:
    """Returns the request in the body."""
    selected, plain = body["selection"], {"destroys", "limits", "gates", "selection", "waves", "order", "windows"}
    return CampaignRequest(
        **{name: value for name, value in body.items() if name not in plain},
        selection=Selection(
            groups=tuple(map(str, selected.get("groups", ()))),
            environments=tuple(selected.get("environments", ())),
            labels=tuple(selected.get("labels", {}).items()),
            clusters=tuple(map(str, selected.get("clusters", ()))),
        ),
        limits=Limits(**body["limits"]),
        gates=Gates(**body["gates"]),
        waves=tuple(body["waves"]),
        order=tuple(body["order"]),
        destroys=tuple(body["destroys"]),
        windows=tuple(dict(window) for window in body["windows"]),
    )


def campaign_answer(board: CampaignBoard, *, status: int = 200) -> Response:
    """Returns the campaign with its ETag."""
    names = [str(name) for name in CampaignLineSerializer().fields]
    values = {name: getattr(board.row, name) for name in names}
    values |= {name: getattr(board, name) for name in ("needed", "waves", "forecast", "hidden")}
    values |= {
        "agreed": board.approvals,
        "recipe": msgspec.to_builtins(board.recipe),
        "projected_end": board.curve.ends,
    }
    answer = Response(CampaignWholeSerializer(values).data, status=status)
    answer["ETag"] = etags.of_version(board.row.version)
    return answer
