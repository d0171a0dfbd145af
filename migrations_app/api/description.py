"""schema, docs and problems: the API about itself. The schema lists each address once, without a final slash."""

from typing import Any, NoReturn

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.codes import CODES
from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Strict, Told
from migrations_app.api.refusals import Problem
from migrations_app.api.rights import READ
from migrations_app.errors import NotFound

ABOUT_ITSELF = ("schema/", "docs/")


class ProblemCode(serializers.Serializer[Any]):
    """What a problem's code means."""

    code = Told()
    status = serializers.IntegerField()
    title = Told()
    meaning = Told()


class ProblemMeaning(Endpoint):
    """One code of the problems."""

    needs = {"GET": READ}

    @described("GET", id="problems_read", tag="problems", named=True, answers={200: ProblemCode})
    def get(self, request: Request, code: str) -> Response:
        """What the code means; `type` of a problem points here."""
        asked(request, Strict)
        if code not in CODES:
            raise NotFound("no such code")
        told = CODES[code]
        shown = {"code": code, "status": told.status, "title": told.title, "meaning": told.meaning}
        return Response(ProblemCode(shown).data)


class Schema(Endpoint, SpectacularAPIView):
    """The OpenAPI schema, as YAML or with ?format=json."""

    needs = {"GET": READ}
    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = SpectacularAPIView.renderer_classes

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: ARG002 - DRF's signature
        """Forced: a client that accepts none of the two gets the first."""
        found: tuple[BaseRenderer, str] = super().perform_content_negotiation(request, force=True)
        return found


class Docs(Endpoint, SpectacularSwaggerSplitView):
    """The schema as pages, from files of our own."""

    needs = {"GET": READ}
    url_name = "api-schema"
    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = SpectacularSwaggerSplitView.renderer_classes
    throttle_classes = []

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        """A person who is not signed in is sent to the sign-in."""
        raise Problem("forbidden", message or code or "") if request.user.is_authenticated else _SignInFirstError

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a redirect is an answer too
        if isinstance(exc, _SignInFirstError):
            return redirect_to_login(self.request.path)
        return super().handle_exception(exc)


class _SignInFirstError(Exception):
    """A person came who is not signed in."""


class NoSuchPage(Endpoint):
    """Every address that is none of ours, for every method."""

    needs = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), READ)

    @extend_schema(exclude=True)
    def get(self, request: Request, rest: str = "") -> Response:  # noqa: ARG002 - the address itself
        """Always a 404."""
        raise NotFound("no such address")

    post = put = patch = delete = get


def listed_once(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Leaves the twins with a final slash, the catch-all and the pages about itself out of the schema."""
    return [row for row in endpoints if not row[0].endswith("/") and "rest" not in row[0].partition("{")[2]]
