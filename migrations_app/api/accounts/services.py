"""Resources service-accounts (accounts of programs) and service-tokens (their tokens), for callers who may give
roles."""

import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.access import PROGRAM_ROLES
from migrations_app.api.accounts.tokens import APPOINT, refuse_wider
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import OutputText, PagedSerializer, StrictInteger, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.accounts.services import (
    ServiceRow,
    ServiceTokenRow,
    service_of,
    service_page,
    service_token_of,
    service_token_page,
)
from migrations_app.use_cases.accounts import service_tokens, services
from migrations_app.use_cases.accounts.networks import MAX_NETWORKS
from migrations_app.use_cases.accounts.services import LONGEST_PURPOSE, MAX_GROUPS, ServiceRules
from migrations_app.use_cases.accounts.tokens import SCOPES

DAYS = "1 to 365; null for a token that never ends, which takes no other scope than metrics and read."


class ServiceRowSerializer(StructSerializer):
    """A service account: a program, not a person. It cannot approve, set policies or give roles."""

    struct = ServiceRow
    leave_out = ("version",)


class ServiceTokenRowSerializer(StructSerializer):
    """A token of a service account; its secret was shown once. `expires_at` is null for one that does not expire."""

    struct = ServiceTokenRow


class IssuedServiceTokenSerializer(ServiceTokenRowSerializer):
    """A new token with its secret, which is never shown again."""

    secret = OutputText()


def _scopes(**options: Any) -> serializers.ListField:  # noqa: ANN401 - the options of a field
    return serializers.ListField(
        child=serializers.ChoiceField(choices=SCOPES), allow_empty=False, max_length=10, **options
    )


def _rules(**options: Any) -> dict[str, serializers.Field[Any, Any, Any, Any]]:  # noqa: ANN401 - the options of a field
    return {
        "role": serializers.ChoiceField(choices=PROGRAM_ROLES, **options),
        "scopes": _scopes(**options),
        "purpose": Text(required=False, allow_blank=True, max_length=LONGEST_PURPOSE),
        "everywhere": serializers.BooleanField(required=False, help_text="Over every cluster, future ones included."),
        "groups": serializers.ListField(
            child=serializers.UUIDField(), required=False, max_length=MAX_GROUPS, help_text="Over their clusters only."
        ),
        "networks": serializers.ListField(
            child=Text(max_length=60), required=False, max_length=MAX_NETWORKS, help_text="CIDR; empty: everywhere."
        ),
    }


class NewServiceSerializer(StrictSerializer):
    """Either `everywhere` is true, or `groups` names one or more."""

    name = Text(max_length=60, help_text="Lower-case letters, digits and hyphens. A name is never used again.")

    def get_fields(self) -> dict[str, Any]:
        """Returns the name, and the fields of a change."""
        return {**super().get_fields(), **_rules()}


class ServiceChangeSerializer(StrictSerializer):
    """Fields that are left out are unchanged; `groups` and `everywhere` replace each other."""

    def get_fields(self) -> dict[str, Any]:
        """Returns the fields that limit what the account may do."""
        return {**super().get_fields(), **_rules(required=False)}


class NewServiceTokenSerializer(StrictSerializer):
    """The scopes must be among those of the account."""

    name = Text(max_length=80)
    scopes = _scopes()
    days = StrictInteger(min_value=1, max_value=365, allow_null=True, help_text=DAYS)


class ServicesView(Endpoint):
    """Service accounts."""

    needs = {"GET": APPOINT, "POST": APPOINT}
    operations = {
        "GET": Operation("services_list", query=PagedSerializer, answer=page_of("Service", ServiceRowSerializer)),
        "POST": Operation("services_create", body=NewServiceSerializer, answer=ServiceRowSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """All service accounts by name, ended ones included."""
        query = query_params(request, PagedSerializer)
        page = service_page(after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ServiceRowSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Creates a service account without a token."""
        body = body_params(request, NewServiceSerializer)
        refuse_wider(request, body["scopes"])
        service_id = services.create_service(body["name"], _rules_of(body, {}), person=caller_of(request))
        answer = _service_answer(service_id, status=201)
        answer["Location"] = reverse("api-service", kwargs={"id": service_id}, request=request)
        return answer


class ServiceView(Endpoint):
    """One service account."""

    needs = {"GET": APPOINT, "PATCH": APPOINT, "DELETE": APPOINT}
    operations = {
        "GET": Operation("services_read", answer=ServiceRowSerializer),
        "PATCH": Operation("services_change", body=ServiceChangeSerializer, answer=ServiceRowSerializer),
        "DELETE": Operation("services_end"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The account with its ETag."""
        query_params(request, StrictSerializer)
        return _service_answer(id)

    def patch(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Changes what the account may do at most. The change holds from the next request of each of its tokens."""
        row = service_of(id)
        etags.require_match(request, etags.of_version(row.version))
        body = body_params(request, ServiceChangeSerializer, partial=True)
        rules = _rules_of(body, _as_is(row))
        refuse_wider(request, list(rules.scopes))
        services.change_service(id, rules, version=row.version, person=caller_of(request))
        return _service_answer(id)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Ends the account and its tokens for good. The row stays, for the audit log."""
        etags.require_match(request, etags.of_version(service_of(id).version))
        services.end_service(id, person=caller_of(request))
        return Response(status=204)


class ServiceTokensView(Endpoint):
    """Tokens of one service account."""

    needs = {"GET": APPOINT, "POST": APPOINT}
    operations = {
        "GET": Operation(
            "service_tokens_list", query=PagedSerializer, answer=page_of("ServiceToken", ServiceTokenRowSerializer)
        ),
        "POST": Operation(
            "service_tokens_create", body=NewServiceTokenSerializer, answer=IssuedServiceTokenSerializer, status=201
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Tokens of the service account, newest first."""
        query = query_params(request, PagedSerializer)
        page = service_token_page(service_of(id).id, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ServiceTokenRowSerializer)

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Issues a token; the answer holds its secret, once."""
        body = body_params(request, NewServiceTokenSerializer)
        refuse_wider(request, body["scopes"])
        issued = service_tokens.issue_service_token(id, **body, person=caller_of(request))
        row = service_token_of(issued.id)
        answer = Response(ServiceTokenRowSerializer(row).data | {"secret": issued.secret}, status=201)
        answer["ETag"] = _tag(row)
        answer["Location"] = reverse("api-service-token", kwargs={"id": issued.id}, request=request)
        return answer


class ServiceTokenView(Endpoint):
    """One token of a service account."""

    tag = "service-accounts"
    needs = {"GET": APPOINT, "DELETE": APPOINT}
    operations = {
        "GET": Operation("service_tokens_read", answer=ServiceTokenRowSerializer),
        "DELETE": Operation("service_tokens_revoke"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The token, without its secret."""
        query_params(request, StrictSerializer)
        row = service_token_of(id)
        answer = Response(ServiceTokenRowSerializer(row).data)
        answer["ETag"] = _tag(row)
        return answer

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the token at once."""
        etags.require_match(request, _tag(service_token_of(id)))
        service_tokens.revoke_service_token(id, person=caller_of(request))
        return Response(status=204)


def _rules_of(body: Mapping[str, Any], before: Mapping[str, Any]) -> ServiceRules:
    """Returns the current rules, changed as the request says."""
    rules: dict[str, Any] = {"purpose": "", "everywhere": False, "groups": (), "networks": ()} | dict(before)
    if body.get("groups"):
        rules["everywhere"] = False
    if body.get("everywhere"):
        rules["groups"] = ()
    rules |= {name: body[name] for name in _NAMES if name in body}
    lists: dict[str, Any] = {name: tuple(rules[name]) for name in ("groups", "scopes", "networks")}
    return ServiceRules(purpose=rules["purpose"], role=rules["role"], everywhere=rules["everywhere"], **lists)


_NAMES = ("purpose", "role", "everywhere", "groups", "scopes", "networks")


def _as_is(row: ServiceRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _NAMES}


def _service_answer(service_id: uuid.UUID, *, status: int = 200) -> Response:
    row = service_of(service_id)
    answer = Response(ServiceRowSerializer(row).data, status=status)
    answer["ETag"] = etags.of_version(row.version)
    return answer


def _tag(row: ServiceTokenRow) -> str:
    """Returns the ETag. A token changes once in its life: when it is revoked."""
    return etags.of_version(2 if row.revoked_at else 1)
