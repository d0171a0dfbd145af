"""Resources people and teams: accounts and the members of teams, for callers who may give roles; as on the page People
and roles.
"""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.accounts.tokens import APPOINT
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.accounts import people
from migrations_app.queries.accounts.people import AccountRow, Team
from migrations_app.use_cases.accounts import management
from migrations_app.use_cases.accounts.management import MAX_MEMBERS, MAX_NAME_LENGTH, TeamChange


class AccountRowSerializer(StructSerializer):
    """A person's account. `everything`: a superuser; `local`: it has a password; `waiting`: it has no password yet."""

    struct = AccountRow


class NewAccountSerializer(StrictSerializer):
    """Letters, digits and @ . + - _ only."""

    name = Text(max_length=MAX_NAME_LENGTH)


class MadeAccountSerializer(AccountRowSerializer):
    """A new account. `secret` is its one-time password, shown once. A token gets an empty one, and the account waits
    for its first password, from the page People and roles or from `karpdash person reset`.
    """

    secret = OutputText()


class AccountChangeSerializer(StrictSerializer):
    active = serializers.BooleanField(help_text="False closes the account and ends its sessions and tokens for good.")


class TeamSerializer(StructSerializer):
    """A team; its grants hold for its members."""

    struct = Team


class NewTeamSerializer(StrictSerializer):
    """Members by the names of their accounts."""

    name = Text(max_length=MAX_NAME_LENGTH)
    members = serializers.ListField(
        child=Text(max_length=MAX_NAME_LENGTH), required=False, default=list, max_length=MAX_MEMBERS
    )


class TeamChangeSerializer(StrictSerializer):
    """Accounts to add and to remove, by name. If one of them is not accepted, nothing is changed."""

    add = serializers.ListField(
        child=Text(max_length=MAX_NAME_LENGTH), required=False, default=list, max_length=MAX_MEMBERS
    )
    remove = serializers.ListField(
        child=Text(max_length=MAX_NAME_LENGTH), required=False, default=list, max_length=MAX_MEMBERS
    )


class PeopleView(Endpoint):
    """Accounts of people."""

    needs = {"GET": APPOINT, "POST": APPOINT}
    operations = {
        "GET": Operation("people_list", query=PagedSerializer, answer=page_of("Account", AccountRowSerializer)),
        "POST": Operation("people_create", body=NewAccountSerializer, answer=MadeAccountSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """All accounts of people by name, closed ones included; service accounts are not listed here."""
        query = query_params(request, PagedSerializer)
        page = people.account_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=AccountRowSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Creates an account without a role. If a token creates it, it has no password, so nobody can sign in with it
        yet.
        """
        body = body_params(request, NewAccountSerializer)
        secret = management.create_account(body["name"], person=caller_of(request))
        row = people.account_named(body["name"])
        answer = _account(row, status=201)
        answer.data["secret"] = secret
        answer["Location"] = reverse("api-person", kwargs={"id": row.id}, request=request)
        return answer


class PersonView(Endpoint):
    """One account."""

    needs = {"GET": APPOINT, "PATCH": APPOINT}
    operations = {
        "GET": Operation("people_read", answer=AccountRowSerializer),
        "PATCH": Operation("people_change", body=AccountChangeSerializer, answer=AccountRowSerializer),
    }

    def get(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """The account with its ETag."""
        query_params(request, StrictSerializer)
        return _account(people.account_of(id))

    def patch(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Closes or reopens an account. A reopened account has none of its former sessions and tokens."""
        row = people.account_of(id)
        etags.require_match(request, _account_tag(row))
        body = body_params(request, AccountChangeSerializer)
        management.set_active(row.name, active=body["active"], person=caller_of(request))
        return _account(people.account_of(id))


class TeamsView(Endpoint):
    """Teams."""

    needs = {"GET": APPOINT, "POST": APPOINT}
    operations = {
        "GET": Operation("teams_list", query=PagedSerializer, answer=page_of("Team", TeamSerializer)),
        "POST": Operation("teams_create", body=NewTeamSerializer, answer=TeamSerializer, status=201, named=True),
    }

    def get(self, request: Request) -> Response:
        """All teams by name, with their members."""
        query = query_params(request, PagedSerializer)
        page = people.team_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=TeamSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Creates a team with these members; if one of them does not exist, nothing is created."""
        body = body_params(request, NewTeamSerializer)
        management.create_team(body["name"], members=body["members"], person=caller_of(request))
        row = people.team_named(body["name"].strip())
        answer = _team(row, status=201)
        answer["Location"] = reverse("api-team", kwargs={"id": row.id}, request=request)
        return answer


class TeamView(Endpoint):
    """One team."""

    needs = {"GET": APPOINT, "PATCH": APPOINT, "DELETE": APPOINT}
    operations = {
        "GET": Operation("teams_read", answer=TeamSerializer),
        "PATCH": Operation("teams_change", body=TeamChangeSerializer, answer=TeamSerializer),
        "DELETE": Operation("teams_remove"),
    }

    def get(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """The team with its ETag."""
        query_params(request, StrictSerializer)
        return _team(people.team_of(id))

    def patch(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Adds and removes members; accounts already in that state are unchanged."""
        row = people.team_of(id)
        etags.require_match(request, _team_tag(row))
        body = body_params(request, TeamChangeSerializer)
        change = TeamChange(add=tuple(body["add"]), remove=tuple(body["remove"]))
        management.change_team(row.name, change, person=caller_of(request))
        return _team(people.team_of(id))

    def delete(self, request: Request, id: int) -> Response:  # noqa: A002 - the name in the address
        """Removes the team and its roles; the accounts of its members stay."""
        row = people.team_of(id)
        etags.require_match(request, _team_tag(row))
        management.remove_team(row.name, person=caller_of(request))
        return Response(status=204)


def _account(row: AccountRow, *, status: int = 200) -> Response:
    values: dict[str, Any] = AccountRowSerializer(row).data
    return Response(dict(values), status=status, headers={"ETag": _account_tag(row)})


def _account_tag(row: AccountRow) -> str:
    return etags.of_bytes(repr((row.id, row.name, row.active, row.everything, row.local, row.teams)).encode())


def _team(row: Team, *, status: int = 200) -> Response:
    return Response(TeamSerializer(row).data, status=status, headers={"ETag": _team_tag(row)})


def _team_tag(row: Team) -> str:
    return etags.of_bytes(repr((row.id, row.name, row.members)).encode())
