"""SCIM endpoints of users, which are accounts of people."""

from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.scim.discovery import USER
from migrations_app.api.scim.endpoint import ScimEndpoint, body_of
from migrations_app.api.scim.lists import list_body, list_query, sparse
from migrations_app.api.scim.user_body import person_of_body, person_of_patch
from migrations_app.manifests import JsonMap
from migrations_app.queries.accounts.directory import PEOPLE_FIELDS, DirectoryPerson, directory_person, find_people
from migrations_app.use_cases.accounts import directory_people as people


class ScimUsersView(ScimEndpoint):
    """All users."""

    def get(self, request: Request) -> Response:
        """The users that match the filter."""
        query = list_query(request, filterable=PEOPLE_FIELDS)
        rows, total = find_people(query.pairs, start=query.start, count=query.count)
        return Response(list_body([sparse(request, _user_body(request, row)) for row in rows], total, query=query))

    def post(self, request: Request) -> Response:
        """Creates an account without a password."""
        person_id = people.create_person(person_of_body(body_of(request), replace=False))
        return _answer(request, person_id, status=201)


class ScimUserView(ScimEndpoint):
    """One user."""

    def get(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """The person."""
        return _answer(request, id)

    def put(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Replaces what the directory sent before."""
        directory_person(id)
        people.change_person(id, person_of_body(body_of(request), replace=True))
        return _answer(request, id)

    def patch(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Changes what the operations name; `active` closes and opens the account."""
        directory_person(id)
        people.change_person(id, person_of_patch(body_of(request)))
        return _answer(request, id)

    def delete(self, request: Request, id: int) -> Response:  # noqa: A002, ARG002 - the name in the address, DRF's signature
        """Closes the account and removes its teams and roles; SCIM no longer shows it."""
        people.remove_person(id)
        return Response(status=204)


def _answer(request: Request, account_id: int, *, status: int = 200) -> Response:
    row = _user_body(request, directory_person(account_id))
    headers = {"Location": row["meta"]["location"]}
    return Response(sparse(request, row), status=status, headers=headers)


def _user_body(request: Request, row: DirectoryPerson) -> JsonMap:
    names = {"givenName": row.given, "familyName": row.family}
    body: JsonMap = {
        "schemas": [USER],
        "id": str(row.id),
        "externalId": row.external_id,
        "userName": row.user_name,
        "name": {name: text for name, text in names.items() if text},
        "displayName": row.display,
        "emails": [{"value": row.email, "type": "work", "primary": True}] if row.email else [],
        "active": row.active,
        "groups": [_team(request, key, name=name) for key, name in row.teams],
        "meta": {
            "resourceType": "User",
            "created": row.created.isoformat(),
            "lastModified": row.changed.isoformat(),
            "location": request.build_absolute_uri(f"/scim/v2/Users/{row.id}"),
        },
    }
    return {name: value for name, value in body.items() if value not in ("", [], {})}


def _team(request: Request, key: int, *, name: str) -> JsonMap:
    return {
        "value": str(key),
        "display": name,
        "type": "direct",
        "$ref": request.build_absolute_uri(f"/scim/v2/Groups/{key}"),
    }
