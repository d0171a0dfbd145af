"""Groups: teams."""

from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.scim.discovery import GROUP
from migrations_app.api.scim.frame import ScimEndpoint, Tree, body_of
from migrations_app.api.scim.group_body import patched_team, whole_team
from migrations_app.api.scim.lists import leaves_out, listed, sparse, wanted_of
from migrations_app.queries.accounts.directory import TEAM_FIELDS, DirectoryTeam, directory_team, find_teams
from migrations_app.use_cases.accounts import directory_teams as teams


class ScimGroupsView(ScimEndpoint):
    """All of them."""

    def get(self, request: Request) -> Response:
        """Those that fit the filter."""
        wanted = wanted_of(request, known=TEAM_FIELDS)
        told = not leaves_out(request, "members")
        rows, total = find_teams(wanted.pairs, start=wanted.start, count=wanted.count, with_members=told)
        return Response(listed([sparse(request, _shown(request, row)) for row in rows], total, wanted=wanted))

    def post(self, request: Request) -> Response:
        """Creates a team with its members."""
        made = teams.add_directory_team(whole_team(body_of(request), as_put=False))
        return _answer(request, made, status=201)


class ScimGroupView(ScimEndpoint):
    """One of them."""

    def get(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """The team with its members."""
        return _answer(request, id)

    def put(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Replaces name and members."""
        directory_team(id)
        teams.change_directory_team(id, whole_team(body_of(request), as_put=True))
        return _answer(request, id)

    def patch(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Adds and removes members, or renames the team."""
        directory_team(id)
        teams.change_directory_team(id, patched_team(body_of(request)))
        return _answer(request, id)

    def delete(self, request: Request, id: int) -> Response:  # noqa: A002, ARG002 - the name in the address, DRF's signature
        """Removes the team with its roles; its members stay."""
        teams.remove_directory_team(id)
        return Response(status=204)


def _answer(request: Request, team_id: int, *, status: int = 200) -> Response:
    row = _shown(request, directory_team(team_id))
    return Response(sparse(request, row), status=status, headers={"Location": row["meta"]["location"]})


def _shown(request: Request, row: DirectoryTeam) -> Tree:
    moments = {"created": row.created, "lastModified": row.changed}
    place = request.build_absolute_uri(f"/scim/v2/Groups/{row.id}")
    told: Tree = {
        "schemas": [GROUP],
        "id": str(row.id),
        "externalId": row.external_id,
        "displayName": row.name,
        "members": [_member(request, key) for key in row.members],
        "meta": {
            "resourceType": "Group",
            **{name: at.isoformat() for name, at in moments.items() if at},
            "location": place,
        },
    }
    return {name: value for name, value in told.items() if value not in ("", [])}


def _member(request: Request, key: int) -> Tree:
    place = request.build_absolute_uri(f"/scim/v2/Users/{key}")
    return {"value": str(key), "type": "User", "$ref": place}
