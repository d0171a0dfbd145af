"""tokens: one's own; another's do not exist."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api import entity_tags
from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, given, page_answer, person
from migrations_app.api.fields import Paged, Strict, Text, Told, Whole
from migrations_app.api.refusals import Problem
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import READ, Need
from migrations_app.flow import tokens
from migrations_app.flow.tokens import SCOPES, TokenUse
from migrations_app.queries.tokens import TokenRow as Row
from migrations_app.queries.tokens import token_of, token_page


class TokenRow(serializers.Serializer[Any]):
    """A token; its secret was shown once. `prefix` is how the secret begins."""

    id = serializers.UUIDField()
    name = Told()
    prefix = Told()
    scopes = serializers.ListField(child=Told())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class IssuedToken(TokenRow):
    """A new token with its secret, which is never shown again."""

    secret = Told()


class NewToken(Strict):
    """A token can ask for no scope that the asking token lacks."""

    name = Text(max_length=80)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES), allow_empty=False, max_length=10)
    days = Whole(min_value=1, max_value=90, default=30)


class Tokens(Endpoint):
    """One's own tokens."""

    needs = {"GET": READ, "POST": Need("admin")}

    @described("GET", id="tokens_list", tag="tokens", query=Paged, answers={200: page_of("Token", TokenRow)})
    def get(self, request: Request) -> Response:
        """Tokens of the asking user, newest first."""
        query = asked(request, Paged)
        page = token_page(person(request).pk, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=TokenRow)

    @described("POST", id="tokens_create", tag="tokens", body=NewToken, answers={201: IssuedToken})
    @replayed
    def post(self, request: Request) -> Response:
        """Issues a token; the answer holds its secret, once."""
        said = given(request, NewToken)
        _refuse_wider(request, said["scopes"])
        issued = tokens.issue(person(request), **said)
        row = token_of(issued.id, owner_id=person(request).pk)
        answer = Response(TokenRow(row).data | {"secret": issued.secret}, status=201)
        answer["ETag"] = _tag(row)
        answer["Location"] = reverse("api-token", kwargs={"id": issued.id}, request=request)
        return answer


class Token(Endpoint):
    """One of one's own tokens."""

    needs = {"GET": READ, "DELETE": Need("admin")}

    @described("GET", id="tokens_read", tag="tokens", named=True, answers={200: TokenRow})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The token, without its secret."""
        asked(request, Strict)
        row = token_of(id, owner_id=person(request).pk)
        answer = Response(TokenRow(row).data)
        answer["ETag"] = _tag(row)
        return answer

    @described("DELETE", id="tokens_revoke", tag="tokens", named=True, answers={204: None})
    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Ends the token at once."""
        entity_tags.require_match(request, _tag(token_of(id, owner_id=person(request).pk)))
        tokens.revoke(id, owner_id=person(request).pk)
        return Response(status=204)


def _refuse_wider(request: Request, scopes: list[str]) -> None:
    use = request.auth
    if isinstance(use, TokenUse) and not set(scopes) <= set(use.scopes):
        raise Problem("forbidden", "a token can issue no scope that it lacks itself")


def _tag(row: Row) -> str:
    """A token changes once in its life: when it is revoked."""
    return entity_tags.of_version(2 if row.revoked_at else 1)
