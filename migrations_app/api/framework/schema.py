"""How operations are described in the OpenAPI schema: the problems that each may answer with, beside its success.

schema, docs and problems: the API about itself. The schema lists each address once, without a final slash.

How the schema describes the two ways of signing in; importing it tells the schema generator.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponseBase
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.authentication import BearerToken, Session
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import CODES, Problem
from migrations_app.api.framework.problems import MEDIA_TYPE
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.errors import NotFound

HEADER: Literal["header"] = "header"


class ErrorPlaceSerializer(serializers.Serializer[Any]):
    """One wrong field or parameter; `pointer` is a JSON pointer."""

    pointer = OutputText()
    detail = OutputText()
    code = OutputText()


class ProblemBodySerializer(serializers.Serializer[Any]):
    """RFC 9457. `code` is stable; texts may change."""

    type = OutputText()
    title = OutputText()
    status = serializers.IntegerField()
    detail = OutputText()
    code = OutputText()
    instance = OutputText()
    request_id = OutputText()
    retry_after = serializers.IntegerField(required=False)
    errors = ErrorPlaceSerializer(many=True, required=False)  # type: ignore[assignment]  # RFC 9457 names it so


_ALWAYS = (400, 401, 403, 413, 429, 503)
_WORDS = {
    400: "A parameter or field is missing, unknown or wrong",
    401: "Not signed in, or the token is refused",
    403: "The scope or right is missing",
    404: "No such thing",
    409: "Somebody else was first, or the name is taken",
    412: "The If-Match does not hold",
    413: "The body is too large",
    415: "The body's type is not taken here",
    422: "The Idempotency-Key came with another request before",
    428: "If-Match is needed",
    429: "Too many requests",
    503: "The database is not there",
}
_FOR_METHOD = {
    "POST": (409, 415, 422),
    "PATCH": (409, 412, 415, 428),
    "PUT": (409, 412, 415, 428),
    "DELETE": (412, 428),
    "GET": (),
}
IF_MATCH = OpenApiParameter(
    name="If-Match",
    type={"type": "string", "pattern": r'^(\*|"[!#-~]+"(, *"[!#-~]+")*)$'},
    location=HEADER,
    required=True,
    description="The ETag that was read.",
)
IF_NONE_MATCH = OpenApiParameter("If-None-Match", OpenApiTypes.STR, HEADER, description="An ETag; 304 if it holds.")
IDEMPOTENCY_KEY = OpenApiParameter(
    name="Idempotency-Key",
    type={"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    location=HEADER,
    description="Sent twice within 24 hours, the request is done once; the second one gets the same answer.",
)
KEY_NEEDED = OpenApiParameter(
    name="Idempotency-Key",
    type={"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    location=HEADER,
    required=True,
    description="Needed here. Sent twice within 24 hours, the request is done once.",
)
_HEADERS_FOR = {
    "POST": [IDEMPOTENCY_KEY],
    "PATCH": [IF_MATCH],
    "PUT": [IF_MATCH],
    "DELETE": [IF_MATCH],
    "GET": [],
}


def described(
    method: str,
    *,
    id: str,  # noqa: A002 - the word of the schema
    tag: str,
    answers: Mapping[Any, Any],
    named: bool = False,
    query: Any = None,  # noqa: ANN401 - a serializer class or None
    body: Any = None,  # noqa: ANN401 - what extend_schema takes as a request
    more: Sequence[OpenApiParameter] = (),
    guarded: bool = False,
    unmatched: bool = False,
) -> Callable[[Any], Any]:
    """Decorates the method of an endpoint. `named`: the address names a thing, which may not be there; `guarded`: a
    POST that needs both an Idempotency-Key and an If-Match; `unmatched`: a DELETE that needs no If-Match."""
    usual = () if unmatched else _FOR_METHOD[method]
    problems = (*_ALWAYS, *usual, *((404,) if named else ()), *((412, 428) if guarded else ()))
    said = {
        (status, MEDIA_TYPE): OpenApiResponse(ProblemBodySerializer, _WORDS[status]) for status in sorted(set(problems))
    }
    headers = [KEY_NEEDED, IF_MATCH] if guarded else [] if unmatched else _HEADERS_FOR[method]
    given = {one.name for one in more}
    parameters = [*([query] if query else []), *(one for one in headers if one.name not in given), *more]
    return extend_schema(
        operation_id=id, tags=[tag], parameters=parameters, request=body, responses={**answers, **said}
    )


def page_of(name: str, row: Any) -> Any:  # noqa: ANN401 - serializer classes, made at import
    """The shape of one page of those rows."""
    fields = {
        "results": row(many=True),
        "next": serializers.CharField(allow_null=True, help_text="Address of the next page; null on the last one."),
    }
    return type(f"{name}Page", (serializers.Serializer,), fields)


ABOUT_ITSELF = ("schema/", "docs/")


class ProblemCodeSerializer(serializers.Serializer[Any]):
    """What a problem's code means."""

    code = OutputText()
    status = serializers.IntegerField()
    title = OutputText()
    meaning = OutputText()


class ProblemMeaningView(Endpoint):
    """One code of the problems."""

    needs = {"GET": READ}

    @described("GET", id="problems_read", tag="problems", named=True, answers={200: ProblemCodeSerializer})
    def get(self, request: Request, code: str) -> Response:
        """What the code means; `type` of a problem points here."""
        query_params(request, StrictSerializer)
        if code not in CODES:
            raise NotFound("no such code")
        told = CODES[code]
        shown = {"code": code, "status": told.status, "title": told.title, "meaning": told.meaning}
        return Response(ProblemCodeSerializer(shown).data)


class SchemaView(Endpoint, SpectacularAPIView):
    """The OpenAPI schema, as YAML or with ?format=json."""

    needs = {"GET": READ}
    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = SpectacularAPIView.renderer_classes

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: ARG002 - DRF's signature
        """Forced: a client that accepts none of the two gets the first."""
        found: tuple[BaseRenderer, str] = super().perform_content_negotiation(request, force=True)
        return found


class DocsView(Endpoint, SpectacularSwaggerSplitView):
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


class NoSuchPageView(Endpoint):
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
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
