"""Resource provisioning-tokens: SCIM tokens of directories, for callers who may give roles. A person creates
them, in the browser.
"""

import uuid

from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.accounts.tokens import APPOINT
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.views import Endpoint, page_answer, query_params
from migrations_app.queries.accounts.directory import (
    ProvisioningTokenRow,
    provisioning_token_of,
    provisioning_tokens,
)
from migrations_app.queries.pagination import Page
from migrations_app.use_cases.accounts.directory_tokens import revoke_provisioning_token


class ProvisioningTokenRowSerializer(StructSerializer):
    """A token of a directory, valid for /scim/v2 only. Its secret was shown once, in the browser."""

    struct = ProvisioningTokenRow


class ProvisioningTokensView(Endpoint):
    """Tokens of directories."""

    needs = {"GET": APPOINT}
    operations = {
        "GET": Operation(
            "provisioning_tokens_list", answer=page_of("ProvisioningToken", ProvisioningTokenRowSerializer)
        )
    }

    def get(self, request: Request) -> Response:
        """All tokens of directories, newest first, on one page."""
        query_params(request, StrictSerializer)
        return page_answer(request, Page(provisioning_tokens(), ""), shape=ProvisioningTokenRowSerializer)


class ProvisioningTokenView(Endpoint):
    """One token of a directory."""

    needs = {"GET": APPOINT, "DELETE": APPOINT}
    operations = {
        "GET": Operation("provisioning_tokens_read", answer=ProvisioningTokenRowSerializer),
        "DELETE": Operation("provisioning_tokens_revoke"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The token, without its secret."""
        query_params(request, StrictSerializer)
        row = provisioning_token_of(id)
        return Response(ProvisioningTokenRowSerializer(row).data, headers={"ETag": _tag(row)})

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the token at once."""
        etags.require_match(request, _tag(provisioning_token_of(id)))
        revoke_provisioning_token(id, person=caller_of(request))
        return Response(status=204)


def _tag(row: ProvisioningTokenRow) -> str:
    """Returns the ETag. A token changes once in its life: when it is revoked."""
    return etags.of_version(2 if row.revoked_at else 1)
