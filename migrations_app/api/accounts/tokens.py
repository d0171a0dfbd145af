"""Resource grants: which role was given to whom, over which clusters.

Resource tokens: the caller's own tokens; tokens of others are not found.
"""

import uuid

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.access import ROLES
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of, person
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictInteger, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.accounts.people import GrantRow, grant_of, grant_page
from migrations_app.queries.accounts.tokens import TokenRow, token_of, token_page
from migrations_app.queries.accounts.tokens import TokenRow as Row
from migrations_app.use_cases.accounts import management, tokens
from migrations_app.use_cases.accounts.management import MAX_NAME_LENGTH, RoleGrant
from migrations_app.use_cases.accounts.tokens import SCOPES, TokenUse

APPOINT = EndpointPermission("admin", "change_grant")


class GrantRowSerializer(StructSerializer):
    """A role of a person or of a team. `over` is null for a role over every cluster."""

    struct = GrantRow

    role = serializers.ChoiceField(choices=tuple(ROLES))


class NewGrantSerializer(StrictSerializer):
    """A role for a person or a team, by name, over a group of clusters; with `over` null, over every cluster."""

    role = serializers.ChoiceField(choices=tuple(ROLES))
    person = Text(required=False, max_length=MAX_NAME_LENGTH)
    team = Text(required=False, max_length=MAX_NAME_LENGTH)
    over = serializers.UUIDField(allow_null=True, help_text="A group of clusters; null for every cluster.")


class GrantsView(Endpoint):
    """Roles of people and teams."""

    needs = {"GET": APPOINT, "POST": APPOINT}
    operations = {
        "GET": Operation("grants_list", query=PagedSerializer, answer=page_of("Grant", GrantRowSerializer)),
        "POST": Operation("grants_create", body=NewGrantSerializer, answer=GrantRowSerializer, status=201, named=True),
    }

    def get(self, request: Request) -> Response:
        """Every grant of people and teams, newest first."""
        query = query_params(request, PagedSerializer)
        return page_answer(
            request, grant_page(after=cursor_of(request, query), limit=query["limit"]), shape=GrantRowSerializer
        )

    @idempotent
    def post(self, request: Request) -> Response:
        """Gives a role. A token cannot give one to its own owner, nor to a team of its owner."""
        grant_id = management.grant_role(
            RoleGrant(**body_params(request, NewGrantSerializer)), person=caller_of(request)
        )
        answer = _grant(grant_id, status=201)
        answer["Location"] = reverse("api-grant", kwargs={"id": grant_id}, request=request)
        return answer


class GrantView(Endpoint):
    """One grant; it never changes."""

    needs = {"GET": APPOINT, "DELETE": APPOINT}
    operations = {
        "GET": Operation("grants_read", answer=GrantRowSerializer),
        "DELETE": Operation("grants_revoke"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The grant with its ETag."""
        query_params(request, StrictSerializer)
        return _grant(id)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the role at once. The last grant with which a person can give roles cannot be revoked."""
        etags.require_match(request, etags.of_bytes(grant_of(id).id.bytes))
        management.revoke_role(id, person=caller_of(request))
        return Response(status=204)


def _grant(grant_id: uuid.UUID, *, status: int = 200) -> Response:
    row = grant_of(grant_id)
    return Response(GrantRowSerializer(row).data, status=status, headers={"ETag": etags.of_bytes(row.id.bytes)})


class TokenRowSerializer(StructSerializer):
    """A token; its secret was shown once. `prefix` is how the secret begins."""

    struct = TokenRow


class IssuedTokenSerializer(TokenRowSerializer):
    """A new token with its secret, which is never shown again."""

    secret = OutputText()


class NewTokenSerializer(StrictSerializer):
    """With a token, only scopes that this token has can be requested."""

    name = Text(max_length=80)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES), allow_empty=False, max_length=10)
    days = StrictInteger(min_value=1, max_value=90, default=30)


class TokensView(Endpoint):
    """The caller's own tokens."""

    needs = {"GET": READ, "POST": EndpointPermission("admin")}
    operations = {
        "GET": Operation("tokens_list", query=PagedSerializer, answer=page_of("Token", TokenRowSerializer)),
        "POST": Operation("tokens_create", body=NewTokenSerializer, answer=IssuedTokenSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """Tokens of the caller, newest first."""
        query = query_params(request, PagedSerializer)
        page = token_page(person(request).pk, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=TokenRowSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Issues a token; the answer holds its secret, once."""
        body = body_params(request, NewTokenSerializer)
        refuse_wider(request, body["scopes"])
        issued = tokens.issue(person(request), **body)
        row = token_of(issued.id, owner_id=person(request).pk)
        answer = Response(TokenRowSerializer(row).data | {"secret": issued.secret}, status=201)
        answer["ETag"] = _tag(row)
        answer["Location"] = reverse("api-token", kwargs={"id": issued.id}, request=request)
        return answer


class TokenView(Endpoint):
    """One of the caller's own tokens."""

    needs = {"GET": READ, "DELETE": EndpointPermission("admin")}
    operations = {
        "GET": Operation("tokens_read", answer=TokenRowSerializer),
        "DELETE": Operation("tokens_revoke"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The token, without its secret."""
        query_params(request, StrictSerializer)
        row = token_of(id, owner_id=person(request).pk)
        answer = Response(TokenRowSerializer(row).data)
        answer["ETag"] = _tag(row)
        return answer

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the token at once."""
        etags.require_match(request, _tag(token_of(id, owner_id=person(request).pk)))
        tokens.revoke(id, owner_id=person(request).pk)
        return Response(status=204)


def refuse_wider(request: Request, scopes: list[str]) -> None:
    """Raises Problem `forbidden` if a token would create a token with a scope that it lacks itself."""
    use = request.auth
    if isinstance(use, TokenUse) and not set(scopes) <= set(use.scopes):
        raise Problem("forbidden", "a token can issue no scope that it lacks itself")


def _tag(row: Row) -> str:
    """Returns the ETag. A token changes once in its life: when it is revoked."""
    return etags.of_version(2 if row.revoked_at else 1)
