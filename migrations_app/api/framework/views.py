"""Base class of the endpoints: limits before the body is read, headers on every answer, strict parameters."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.core import signing
from django.http import HttpResponseBase, QueryDict
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from migrations_app.api.framework.authentication import BearerToken, Session
from migrations_app.api.framework.callers import actor_of
from migrations_app.api.framework.fields import StrictJsonParser, StrictSerializer
from migrations_app.api.framework.operations import KarpdashSchema, Operation
from migrations_app.api.framework.permissions import DeclaredPermission, EndpointPermission
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.throttling import CallerThrottle
from migrations_app.queries.pagination import Page
from migrations_app.queries.visibility import NOTHING, visibility_scope
from migrations_app.use_cases.audit.log import SYSTEM, acting_as, set_actor

API_VERSION = "1"
MIB = 1024 * 1024


class JsonOnly(BaseContentNegotiation):
    """Content negotiation that always uses the one renderer, whatever the Accept header says."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Returns the parser for the body's own type; None makes it a 415."""
        content_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002 - DRF's signature
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 - DRF's signature
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class Endpoint(APIView):
    """Base of the API's views. `needs` declares scope and permission per method, `operations` what the schema says.

    `tag` is needed if it is not the first part of the URL; `upload_limit` is for forms with files.
    """

    needs: ClassVar[Mapping[str, EndpointPermission]] = {}
    operations: ClassVar[Mapping[str, Operation]] = {}
    tag: ClassVar[str] = ""
    schema = KarpdashSchema()
    upload_limit: ClassVar[int] = MIB
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [BearerToken, Session]
    permission_classes = [DeclaredPermission]
    parser_classes = [StrictJsonParser]
    renderer_classes = [JSONRenderer]
    throttle_classes = [CallerThrottle]
    content_negotiation_class: type[BaseContentNegotiation] = JsonOnly

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:  # noqa: ANN401 - DRF's signature
        # `initial` sets the caller and its scope; both are reset when this block ends.
        with acting_as(SYSTEM), visibility_scope(NOTHING):
            return super().dispatch(request, *args, **kwargs)

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:  # noqa: ANN401 - DRF's signature
        # The id comes from the middleware, which logs it from the first line on.
        request.request_id = getattr(request, "request_id", "") or uuid.uuid4().hex
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - DRF's signature
        super().initial(request, *args, **kwargs)
        set_actor(actor_of(request), request_id=str(getattr(request, "request_id", "")))
        length = request.META.get("CONTENT_LENGTH") or "0"
        most = self.upload_limit if (request.content_type or "").startswith("multipart/") else MIB
        if not length.isdecimal() or int(length) > most:
            raise Problem("too_large", f"at most {most} bytes are accepted here")

    def finalize_response(
        self,
        request: Request,
        response: Any,  # noqa: ANN401 - DRF's signature
        *args: Any,  # noqa: ANN401 - as above
        **kwargs: Any,  # noqa: ANN401 - as above
    ) -> Response:
        answer: HttpResponseBase = super().finalize_response(request, response, *args, **kwargs)
        answer["API-Version"] = API_VERSION
        answer["X-Request-ID"] = getattr(request, "request_id", "")
        for throttle in getattr(request, "throttles", ()):
            for name, value in throttle.headers().items():
                answer[name] = value
        return answer  # type: ignore[return-value]  # DRF's stubs know only its own Response


def query_params(request: Request, shape: type[StrictSerializer]) -> dict[str, Any]:
    """Returns the checked parameters of the query; unknown and repeated ones are a 400. Raises ValidationError."""
    return _validated(shape(data=_single_values(request.query_params)))


def body_params(request: Request, shape: type[StrictSerializer], *, partial: bool = False) -> dict[str, Any]:
    """Returns the checked fields of the body; unknown and repeated ones are a 400. Raises ValidationError."""
    data = request.data
    return _validated(shape(data=_single_values(data) if isinstance(data, QueryDict) else data, partial=partial))


def _single_values(sent: QueryDict) -> dict[str, Any]:
    repeated = {name: ["Given more than once."] for name, values in sent.lists() if len(values) > 1}
    if repeated:
        raise ValidationError(repeated, code="repeated")
    return sent.dict()


def _validated(form: StrictSerializer) -> dict[str, Any]:
    form.is_valid(raise_exception=True)
    values: dict[str, Any] = form.validated_data
    return values


def page_answer(request: Request, page: Page[Any], *, shape: type[Any], total: int | None = None) -> Response:
    """Returns one page: rows, the URL of the next page in the body and as a Link header, and the total if it is
    known.

    The parameter `fields` keeps only these fields of each row. Raises Problem `bad_input` for a field that no row has.
    """
    following = _next(request, page.next_cursor) if page.next_cursor else None
    rows = _sparse(shape(page.rows, many=True).data, request.query_params.get("fields", ""), shape=shape)
    total_field = {} if total is None else {"total": total}
    answer = Response({"results": rows, "next": following, **total_field})
    if following:
        answer["Link"] = f'<{following}>; rel="next"'
    return answer


def _sparse(rows: list[dict[str, Any]], fields: str, *, shape: type[Any]) -> list[dict[str, Any]]:
    names = [name for name in fields.split(",") if name]
    if not names:
        return rows
    field_names = shape().fields
    if strange := [name for name in names if name not in field_names]:
        raise Problem("bad_input", f"there is no field {strange[0][:60]!r}")
    return [{name: row[name] for name in names} for row in rows]


def cursor_of(request: Request, query: Mapping[str, Any]) -> str:
    """Returns the inner cursor; empty at the start. Raises Problem `bad_cursor` for a cursor that this list did not
    give out.
    """
    text = query.get("cursor")
    if not text:
        return ""
    try:
        return _signer(request).unsign(text)
    except signing.BadSignature:
        raise Problem("bad_cursor") from None


def _next(request: Request, inner: str) -> str:
    parameters = request.query_params.copy()
    parameters["cursor"] = _signer(request).sign(inner)
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")


def _signer(request: Request) -> signing.Signer:
    # Signed, so that no client can make karpdash compare rows with forged keys.
    return signing.Signer(salt=f"karpdash.cursor:{request.path}")
