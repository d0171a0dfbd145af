"""SCIM endpoints of groups, which are teams."""

from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.scim.discovery import GROUP
from migrations_app.api.scim.endpoint import ScimEndpoint, body_of
from migrations_app.api.scim.group_body import team_of_body, team_of_patch
from migrations_app.api.scim.lists import excludes, list_body, list_query, sparse
from migrations_app.manifests import JsonMap
from migrations_app.queries.accounts.directory import TEAM_FIELDS, DirectoryTeam, directory_team, find_teams
from migrations_app.use_cases.accounts import directory_teams as teams


class ScimGroupsView(ScimEndpoint):
    """All groups."""

    def get(self, request: Request) -> Response:
        """The groups that match the filter."""
        query = list_query(request, filterable=TEAM_FIELDS)
        with_members = not excludes(request, "members")
        rows, total = find_teams(query.pairs, start=query.start, count=query.count, with_members=with_members)
        return Response(list_body([sparse(request, _group_body(request, row)) for row in rows], total, query=query))

    def post(self, request: Request) -> Response:
        """Creates a team with its members."""
        team_id = teams.add_directory_team(team_of_body(body_of(request), as_put=False))
        return _answer(request, team_id, status=201)


class ScimGroupView(ScimEndpoint):
    """One group."""

    def get(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """The team with its members."""
        return _answer(request, id)

    def put(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Replaces name and members."""
        directory_team(id)
        teams.change_directory_team(id, team_of_body(body_of(request), as_put=True))
        return _answer(request, id)

    def patch(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Adds and removes members, or renames the team."""
        directory_team(id)
        teams.change_directory_team(id, team_of_patch(body_of(request)))
        return _answer(request, id)

    def delete(self, request: Request, id: int) -> Response:  # noqa: A002, ARG002 - the name in the address, DRF's signature
        """Removes the team with its roles; its members stay."""
        teams.remove_directory_team(id)
        return Response(status=204)


def _answer(request: Request, team_id: int, *, status: int = 200) -> Response:
    row = _group_body(request, directory_team(team_id))
    return Response(sparse(request, row), status=status, headers={"Location": row["meta"]["location"]})


def _group_body(request: Request, row: DirectoryTeam) -> JsonMap:
    moments = {"created": row.created, "lastModified": row.changed}
    url = request.build_absolute_uri(f"/scim/v2/Groups/{row.id}")
    body: JsonMap = {
        "schemas": [GROUP],
        "id": str(row.id),
        "externalId": row.external_id,
        "displayName": row.name,
        "members": [_member(request, key) for key in row.members],
        "meta": {
            "resourceType": "Group",
            **{name: at.isoformat() for name, at in moments.items() if at},
            "location": url,
        },
    }
    return {name: value for name, value in body.items() if value not in ("", [])}


def _member(request: Request, key: int) -> JsonMap:
    url = request.build_absolute_uri(f"/scim/v2/Users/{key}")
    return {"value": str(key), "type": "User", "$ref": url}
