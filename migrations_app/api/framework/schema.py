"""Endpoints schema, docs and problems, which describe the API. The schema lists each URL once, without a final
slash.

Importing this module also registers the two ways of signing in with the schema generator.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.authentication import BearerToken, Session
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import CODES, Problem
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.errors import NotFound

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_COOKIE_LINE: Final = "\n      in: cookie\n      name: "


class ProblemCodeSerializer(serializers.Serializer[Any]):
    """What a problem's code means."""

    code = OutputText()
    status = serializers.IntegerField()
    title = OutputText()
    meaning = OutputText()


class ProblemMeaningView(Endpoint):
    """One code of the problems."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("problems_read", answer=ProblemCodeSerializer),
    }

    def get(self, request: Request, code: str) -> Response:
        """What the code means; `type` of a problem points here."""
        query_params(request, StrictSerializer)
        if code not in CODES:
            raise NotFound("no such code")
        problem_code = CODES[code]
        body = {
            "code": code,
            "status": problem_code.status,
            "title": problem_code.title,
            "meaning": problem_code.meaning,
        }
        return Response(ProblemCodeSerializer(body).data)


class SchemaView(Endpoint):
    """The OpenAPI schema, as YAML or with ?format=json: the published file, so that nothing is generated."""

    needs = {"GET": READ}
    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = SpectacularAPIView.renderer_classes

    def get(self, request: Request) -> HttpResponse:
        """The same bytes for all."""
        renderer = request.accepted_renderer
        answer = HttpResponse(_document(renderer.format, settings.SESSION_COOKIE_NAME))
        answer["Content-Type"] = f"{renderer.media_type}; charset=utf-8" if renderer.charset else renderer.media_type
        answer["Content-Disposition"] = f'inline; filename="karpdash.{renderer.format}"'
        return answer

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: ARG002 - DRF's signature
        """Always picks a renderer: a client that accepts neither of the two gets the first."""
        renderer_and_type: tuple[BaseRenderer, str] = super().perform_content_negotiation(request, force=True)
        return renderer_and_type


@cache
def _document(form: str, cookie: str) -> bytes:
    """Returns the published file, with the name of the session cookie of this installation: it differs where cookies
    need HTTPS.
    """
    text = Path(settings.OPENAPI).read_text(encoding="utf-8")
    text = text.replace(f"{_COOKIE_LINE}sessionid\n", f"{_COOKIE_LINE}{cookie}\n")
    return text.encode() if form == "yaml" else json.dumps(_LOADER(text).get_single_data(), ensure_ascii=False).encode()


class DocsView(Endpoint, SpectacularSwaggerSplitView):
    """The schema as pages, from files of our own."""

    needs = {"GET": READ}
    url_name = "api-schema"
    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = SpectacularSwaggerSplitView.renderer_classes
    throttle_classes = []

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        """Redirects a person who is not signed in to the sign-in."""
        raise Problem("forbidden", message or code or "") if request.user.is_authenticated else _SignInFirstError

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a redirect is an answer too
        if isinstance(exc, _SignInFirstError):
            return redirect_to_login(self.request.path)
        return super().handle_exception(exc)


class _SignInFirstError(Exception):
    """The person has to sign in first."""


class NoSuchPageView(Endpoint):
    """Answers 404 to every other URL under /api/v1/, for every method."""

    needs = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), READ)

    def get(self, request: Request, rest: str = "") -> Response:  # noqa: ARG002 - the address itself
        """Always a 404."""
        raise NotFound("no such address")

    post = put = patch = delete = get


def listed_once(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Leaves routes with a final slash, the catch-all and the pages of this module out of the schema."""
    return [row for row in endpoints if not row[0].endswith("/") and "rest" not in row[0].partition("{")[2]]


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library's metaclass hook
    """How the schema describes bearer tokens."""

    target_class = BearerToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ANN401, ARG002 - the library's
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # as above
    """How the schema describes browser sessions."""

    target_class = Session
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ANN401, ARG002 - the library's
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
