"""Resource about: the collections of the API, the release, the caller and the caller's permissions."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app import __version__
from migrations_app.api.framework.callers import person
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import API_VERSION, Endpoint, body_params, query_params
from migrations_app.karpenter.releases import known_up_to
from migrations_app.queries.accounts.tool_choice import tool_of
from migrations_app.readiness.outputs.preferred_tool import TOOLS
from migrations_app.use_cases.accounts.tokens import TokenUse
from migrations_app.use_cases.accounts.tool_choice import choose_tool

OWN = EndpointPermission("admin")
COLLECTIONS = (
    "audit", "channels", "checks", "clusters", "deliveries", "events", "findings", "fleet-summary", "grants", "groups",
    "me", "people", "rollouts", "services", "snapshots", "teams", "tokens", "version", "waivers",
)  # fmt: skip
"""What can be listed or read without an id, by the name of its route."""


class CallerSerializer(serializers.Serializer[Any]):
    """The caller. `scopes` is null for a browser session, where only the account's rights count."""

    name = OutputText()
    method = serializers.ChoiceField(choices=("token", "session"))
    scopes = serializers.ListField(child=OutputText(), allow_null=True)
    rights = serializers.ListField(child=OutputText(), help_text="Over all clusters; roles over groups add to them.")
    tool = serializers.ChoiceField(
        choices=("", *TOOLS), help_text="The tool whose fixes come first for the caller; empty without a choice."
    )


class CallerChangeSerializer(StrictSerializer):
    """The caller's own preferences."""

    tool = serializers.ChoiceField(choices=TOOLS, allow_blank=True, help_text="Empty: no preferred tool.")


class ReleaseSerializer(serializers.Serializer[Any]):
    """The release of karpdash, and the newest release of Karpenter in its tables."""

    version = OutputText()
    api = OutputText()
    karpenter_release = OutputText()
    karpenter_date = OutputText(help_text="The date of that release: YYYY-MM-DD.")


class ApiRootView(Endpoint):
    """The collections, each with its address."""

    needs = {"GET": READ}

    def get(self, request: Request) -> Response:
        """Names and addresses; the schema has every operation."""
        query_params(request, StrictSerializer)
        names = {name: f"api-{name}" for name in COLLECTIONS} | {"schema": "api-schema", "docs": "api-docs"}
        return Response({name: reverse(route, request=request) for name, route in names.items()})


class MeView(Endpoint):
    """The caller."""

    tag = "about"
    needs = {"GET": READ, "PATCH": OWN}
    operations = {
        "GET": Operation(id="about_me", answer=CallerSerializer),
        "PATCH": Operation("about_me_change", body=CallerChangeSerializer, answer=CallerSerializer, unmatched=True),
    }

    def get(self, request: Request) -> Response:
        """The owner of the token or session, what it may do, and the preferred tool."""
        query_params(request, StrictSerializer)
        return self._caller(request)

    def patch(self, request: Request) -> Response:
        """Stores the preferred tool, as the settings page does: its fixes come first on pages and in answers. Needs
        no If-Match."""
        choose_tool(int(person(request).pk), **body_params(request, CallerChangeSerializer))
        return self._caller(request)

    def _caller(self, request: Request) -> Response:
        use = request.auth
        is_token = isinstance(use, TokenUse)
        caller = {
            "name": request.user.get_username(),
            "method": "token" if is_token else "session",
            "scopes": sorted(use.scopes) if isinstance(use, TokenUse) else None,
            "rights": sorted(name.partition(".")[2] for name in request.user.get_all_permissions()),
            "tool": tool_of(int(person(request).pk)),
        }
        return Response(CallerSerializer(caller).data)


class VersionView(Endpoint):
    """The release."""

    tag = "about"
    needs = {"GET": READ}
    operations = {"GET": Operation(id="about_version", answer=ReleaseSerializer)}

    def get(self, request: Request) -> Response:
        """The release of this installation, and the newest release of Karpenter in its tables."""
        query_params(request, StrictSerializer)
        newest = known_up_to()
        versions = {
            "version": __version__,
            "api": API_VERSION,
            "karpenter_release": str(newest.release),
            "karpenter_date": str(newest.date),
        }
        return Response(ReleaseSerializer(versions).data)
