"""How operations are described in the OpenAPI schema: the problems that each may answer with, beside its success."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from migrations_app.api.fields import Told
from migrations_app.api.problems import MEDIA_TYPE

HEADER: Literal["header"] = "header"


class ErrorPlace(serializers.Serializer[Any]):
    """One wrong field or parameter; `pointer` is a JSON pointer."""

    pointer = Told()
    detail = Told()
    code = Told()


class ProblemBody(serializers.Serializer[Any]):
    """RFC 9457. `code` is stable; texts may change."""

    type = Told()
    title = Told()
    status = serializers.IntegerField()
    detail = Told()
    code = Told()
    instance = Told()
    request_id = Told()
    retry_after = serializers.IntegerField(required=False)
    errors = ErrorPlace(many=True, required=False)  # type: ignore[assignment]  # RFC 9457 names it so


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
    said = {(status, MEDIA_TYPE): OpenApiResponse(ProblemBody, _WORDS[status]) for status in sorted(set(problems))}
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
