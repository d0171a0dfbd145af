"""Resource policies and the kill switch: approvals, limits and change windows of rollouts, and the switch that
stops every change.
"""

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.actions.changes import RISKS
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import PagedSerializer, StrictInteger, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.errors import NotFound
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.rollouts.policies import (
    KillSwitchState,
    OwnPolicyRow,
    PolicyRow,
    kill_switch_state,
    own_policy_page,
    policy_row,
)
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rollouts import kill_switch
from migrations_app.use_cases.rollouts.policies import MAX_APPROVALS, MAX_WINDOWS, Rules, change_policy, remove_policy

CHANGE = EndpointPermission("admin", "administer_policy")
NUMBERS = ("batch", "per_hour", "pool_percent")


class AskedSerializer(StrictSerializer):
    """Required approvals, by the risk of the plan."""

    low = StrictInteger(min_value=0, max_value=MAX_APPROVALS)
    medium = StrictInteger(min_value=0, max_value=MAX_APPROVALS)
    high = StrictInteger(min_value=0, max_value=MAX_APPROVALS)
    destructive = StrictInteger(min_value=1, max_value=MAX_APPROVALS)


class WindowSerializer(serializers.Serializer[Any]):
    """A time window in UTC in which changes may begin; `days` are 0 for Monday to 6. It may end after midnight."""

    days = serializers.ListField(child=StrictInteger(min_value=0, max_value=6), min_length=1, max_length=7)
    to = serializers.RegexField(r"^([01][0-9]|2[0-3]):[0-5][0-9]$")

    def get_fields(self) -> dict[str, Any]:
        """Returns the fields with `from`, which cannot be a name in Python."""
        return {**super().get_fields(), "from": serializers.RegexField(r"^([01][0-9]|2[0-3]):[0-5][0-9]$")}


class PolicyShownSerializer(StructSerializer):
    """The policy in force; `own` is false if the cluster follows the default policy."""

    struct = PolicyRow

    windows = serializers.ListField(child=serializers.DictField())


class PolicyWantedSerializer(StrictSerializer):
    """A complete policy; fields that are left out get their defaults."""

    approvals = AskedSerializer()
    actions = serializers.ListField(child=Text(max_length=60), required=False, default=["*"], max_length=50)
    windows = serializers.ListField(child=WindowSerializer(), required=False, default=list, max_length=MAX_WINDOWS)
    frozen = serializers.BooleanField(required=False, default=False)
    frozen_why = Text(required=False, allow_blank=True, max_length=500, default="")
    batch = StrictInteger(required=False, min_value=1, max_value=100, default=1)
    per_hour = StrictInteger(required=False, min_value=1, max_value=10_000, default=60)
    pool_percent = StrictInteger(required=False, min_value=1, max_value=100, default=10)
    rehearsals = serializers.ListField(
        child=serializers.ChoiceField(choices=RISKS), required=False, default=list, max_length=len(RISKS)
    )
    campaigns_destroy = serializers.BooleanField(
        required=False, default=False,
        help_text="Whether a campaign's approval may cover plans that delete what its preview showed.",
    )  # fmt: skip


class SwitchShownSerializer(StructSerializer):
    """The kill switch. `by_environment`: a setting keeps it on, and no page can turn it off."""

    struct = KillSwitchState
    leave_out = (
        "lifting_id",
        "version",
    )


class StoppingSerializer(StrictSerializer):
    why = Text(max_length=500)


class OwnPolicyRowSerializer(StructSerializer):
    """A cluster with a policy of its own."""

    struct = OwnPolicyRow


class PoliciesView(Endpoint):
    """Policies of clusters that have their own."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("policies_list", query=PagedSerializer, answer=page_of("OwnPolicy", OwnPolicyRowSerializer)),
    }

    def get(self, request: Request) -> Response:
        """The clusters that have a policy of their own, by name; all others follow the default policy."""
        query = query_params(request, PagedSerializer)
        page = own_policy_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=OwnPolicyRowSerializer)


class DefaultPolicyView(Endpoint):
    """The default policy, of all clusters without a policy of their own."""

    needs = {"GET": READ, "PUT": CHANGE}
    operations = {
        "GET": Operation("policies_default_read", answer=PolicyShownSerializer),
        "PUT": Operation("policies_default_change", body=PolicyWantedSerializer, answer=PolicyShownSerializer),
    }

    def get(self, request: Request) -> Response:
        """The policy with its ETag."""
        query_params(request, StrictSerializer)
        return _policy_answer(None)

    def put(self, request: Request) -> Response:
        """Replaces the default policy. Plans that were made before cannot be started any more."""
        return _change(request, None)


class ClusterPolicyView(Endpoint):
    """The policy of one cluster."""

    needs = {"GET": READ, "PUT": CHANGE, "DELETE": CHANGE}
    tag = "policies"
    operations = {
        "GET": Operation("policies_read", answer=PolicyShownSerializer),
        "PUT": Operation("policies_change", body=PolicyWantedSerializer, answer=PolicyShownSerializer),
        "DELETE": Operation("policies_remove"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The cluster's own policy, or the default policy."""
        query_params(request, StrictSerializer)
        cluster_head(id, now=timezone.now())
        return _policy_answer(id)

    def put(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Gives the cluster a policy of its own, or replaces it."""
        cluster_head(id, now=timezone.now())
        return _change(request, id)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes the cluster's own policy; the cluster then follows the default policy. Plans that were made before
        cannot be started any more.
        """
        cluster_head(id, now=timezone.now())
        row = policy_row(id)
        etags.require_match(request, etags.of_version(row.version))
        if not row.own:
            raise NotFound("the cluster has no policy of its own")
        remove_policy(id, caller_of(request), version=row.version, by=actor())
        return Response(status=204)


class KillSwitchView(Endpoint):
    """The switch that stops every change."""

    needs = {
        "GET": READ,
        "POST": EndpointPermission("act", "operate_rollout", ("approve_rollout", "administer_policy")),
    }
    tag = "policies"
    operations = {
        "GET": Operation("kill_switch_read", answer=SwitchShownSerializer),
        "POST": Operation("kill_switch_on", body=StoppingSerializer, answer=SwitchShownSerializer),
    }

    def get(self, request: Request) -> Response:
        """Whether the kill switch is on, who turned it on, and why."""
        query_params(request, StrictSerializer)
        return Response(SwitchShownSerializer(kill_switch_state()).data)

    @idempotent
    def post(self, request: Request) -> Response:
        """Stops every change at once. Two people turn the switch off, in the browser."""
        body = body_params(request, StoppingSerializer)
        kill_switch.stop_everything(caller_of(request), why=body["why"], by=actor())
        return Response(SwitchShownSerializer(kill_switch_state()).data)


def _policy_answer(cluster_id: uuid.UUID | None) -> Response:
    row = policy_row(cluster_id)
    answer = Response(PolicyShownSerializer(row).data)
    answer["ETag"] = etags.of_version(row.version)
    return answer


def _change(request: Request, cluster_id: uuid.UUID | None) -> Response:
    version = policy_row(cluster_id).version
    etags.require_match(request, etags.of_version(version))
    body = body_params(request, PolicyWantedSerializer)
    rules = Rules(
        approvals={risk: body["approvals"][risk] for risk in RISKS},
        actions=tuple(body["actions"]),
        windows=tuple(dict(window) for window in body["windows"]),
        frozen=body["frozen"],
        frozen_why=body["frozen_why"],
        rehearsals=tuple(body["rehearsals"]),
        campaigns_destroy=body["campaigns_destroy"],
        **{name: body[name] for name in NUMBERS},
    )
    change_policy(cluster_id, rules, person=caller_of(request), version=version, by=actor())
    return _policy_answer(cluster_id)
