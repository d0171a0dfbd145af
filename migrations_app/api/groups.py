"""Resource groups: groups of clusters, for roles, intervals and waivers."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictInteger, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.fleet.groups import GroupRow, group_of, group_page, members_of
from migrations_app.use_cases.clusters import groups
from migrations_app.use_cases.clusters.registration import LONGEST_INTERVAL, SHORTEST_INTERVAL

CHANGE = EndpointPermission("admin", "administer_policy")
"""Membership in a group decides who may do what to a cluster."""
MAX_AT_ONCE = 1000


class GroupShownSerializer(StructSerializer):
    """A group. `clusters` counts its clusters. `interval_seconds` applies to clusters without an interval of their own;
    of several groups the shortest applies. The ETag changes with the group and with its clusters.
    """

    struct = GroupRow


class NewGroupSerializer(StrictSerializer):
    name = Text(max_length=80)
    interval_seconds = StrictInteger(
        required=False, allow_null=True, default=None, min_value=SHORTEST_INTERVAL, max_value=LONGEST_INTERVAL
    )


class GroupChangeSerializer(StrictSerializer):
    """Fields that are left out are unchanged."""

    name = Text(required=False, max_length=80)
    interval_seconds = StrictInteger(
        required=False, allow_null=True, min_value=SHORTEST_INTERVAL, max_value=LONGEST_INTERVAL
    )


class MemberShownSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = OutputText()
    environment = OutputText()


class MembersShownSerializer(serializers.Serializer[Any]):
    """The clusters of a group, by name."""

    clusters = MemberShownSerializer(many=True)


class MovedSerializer(StrictSerializer):
    """Clusters to add, and to remove."""

    add = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=MAX_AT_ONCE)
    remove = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=MAX_AT_ONCE)


class GroupsView(Endpoint):
    """Groups of clusters."""

    needs = {"GET": READ, "POST": CHANGE}
    operations = {
        "GET": Operation("groups_list", query=PagedSerializer, answer=page_of("Group", GroupShownSerializer)),
        "POST": Operation("groups_create", body=NewGroupSerializer, answer=GroupShownSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """Groups that the caller may see, by name."""
        query = query_params(request, PagedSerializer)
        page = group_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=GroupShownSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Creates a group without clusters."""
        body = body_params(request, NewGroupSerializer)
        group_id = groups.create_group(body["name"], interval=body["interval_seconds"])
        answer = _group_answer(group_id)
        answer.status_code = 201
        answer["Location"] = reverse("api-group", kwargs={"id": group_id}, request=request)
        return answer


class GroupView(Endpoint):
    """One group."""

    needs = {"GET": READ, "PATCH": CHANGE, "DELETE": CHANGE}
    operations = {
        "GET": Operation("groups_read", answer=GroupShownSerializer),
        "PATCH": Operation("groups_change", body=GroupChangeSerializer, answer=GroupShownSerializer),
        "DELETE": Operation("groups_remove"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The group with its ETag."""
        query_params(request, StrictSerializer)
        return _group_answer(id)

    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Changes name or interval, unless the group was changed meanwhile."""
        row = group_of(id)
        etags.require_match(request, etags.of_version(row.version))
        body = {"name": row.name, "interval_seconds": row.interval_seconds} | body_params(
            request, GroupChangeSerializer, partial=True
        )
        groups.change_group(id, name=body["name"], interval=body["interval_seconds"], version=row.version)
        return _group_answer(id)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes the group with the roles over it, and revokes its waivers. Its clusters stay."""
        row = group_of(id)
        etags.require_match(request, etags.of_version(row.version))
        groups.remove_group(id, version=row.version)
        return Response(status=204)


class GroupMembersView(Endpoint):
    """The clusters of a group."""

    needs = {"GET": READ, "POST": CHANGE}
    operations = {
        "GET": Operation("groups_clusters", answer=MembersShownSerializer),
        "POST": Operation("groups_move", body=MovedSerializer, answer=MembersShownSerializer),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """All clusters of the group, by name."""
        query_params(request, StrictSerializer)
        return _members(id)

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Adds and removes clusters; clusters already in that state are unchanged."""
        body = body_params(request, MovedSerializer)
        groups.add_to_group(id, body["add"])
        groups.remove_from_group(id, body["remove"])
        return _members(id)


def _members(group_id: uuid.UUID) -> Response:
    row = group_of(group_id)
    answer = Response(MembersShownSerializer({"clusters": members_of(group_id)}).data)
    answer["ETag"] = etags.of_version(row.version)
    return answer


def _group_answer(group_id: uuid.UUID) -> Response:
    row = group_of(group_id)
    answer = Response(GroupShownSerializer(row).data)
    answer["ETag"] = etags.of_version(row.version)
    return answer
