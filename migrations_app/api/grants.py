"""grants: which role was given to whom, over which clusters; changed in the browser and at the terminal only."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.access import ROLES
from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, page_answer
from migrations_app.api.fields import Paged, Told
from migrations_app.api.rights import Need
from migrations_app.queries.people import grant_page


class GrantRow(serializers.Serializer[Any]):
    """A role of a person or of a team. `over` is null where it is over every cluster."""

    id = serializers.UUIDField()
    role = serializers.ChoiceField(choices=tuple(ROLES))
    person = Told()
    team = Told()
    over = serializers.UUIDField(allow_null=True)
    over_name = Told()
    created_at = serializers.DateTimeField()
    created_by = Told()


class Grants(Endpoint):
    """Roles that were given."""

    needs = {"GET": Need("admin", "change_grant")}

    @described("GET", id="grants_list", tag="grants", query=Paged, answers={200: page_of("Grant", GrantRow)})
    def get(self, request: Request) -> Response:
        """Every grant, newest first."""
        query = asked(request, Paged)
        return page_answer(request, grant_page(after=cursor_of(request, query), limit=query["limit"]), shape=GrantRow)
