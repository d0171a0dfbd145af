"""Describes operations for the OpenAPI schema: each endpoint declares them in `operations`, by method; the problems
that an operation may answer with follow from method and URL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from migrations_app.api.framework.fields import OutputText
from migrations_app.api.framework.problems import MEDIA_TYPE

HEADER: Literal["header"] = "header"
_KEY = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
IF_MATCH = OpenApiParameter(
    name="If-Match",
    type={"type": "string", "pattern": r'^(\*|"[!#-~]+"(, *"[!#-~]+")*)$'},
    location=HEADER,
    required=True,
    description="The ETag that was read.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", OpenApiTypes.STR, HEADER, description="An ETag; 304 if it is still the current one."
)
IDEMPOTENCY_KEY = OpenApiParameter(
    name="Idempotency-Key",
    type=_KEY,
    location=HEADER,
    description="A request that is sent twice within 24 hours takes effect once; the second one gets the same answer.",
)
KEY_NEEDED = OpenApiParameter(
    name="Idempotency-Key",
    type=_KEY,
    location=HEADER,
    required=True,
    description="Required. A request that is sent twice within 24 hours takes effect once.",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `answer` is the serializer of the success, or a mapping of all successful answers; without it the
    status is 204.

    `guarded`: a POST that needs both an Idempotency-Key and an If-Match; `unmatched`: a DELETE that needs no If-Match.
    `named`: whether the object in the URL may be missing (404); None: if the URL has a parameter.
    """

    id: str
    _: KW_ONLY
    answer: Any = None
    status: int = 200
    query: Any = None
    body: Any = None
    more: Sequence[OpenApiParameter] = field(default=())
    named: bool | None = None
    guarded: bool = False
    unmatched: bool = False

    @property
    def answers(self) -> Mapping[Any, Any]:
        """The successful answers, by status or by status and media type."""
        if isinstance(self.answer, Mapping):
            return self.answer
        return {204: None} if self.answer is None else {self.status: self.answer}


def page_of(name: str, row: Any, *, counted: bool = False) -> Any:  # noqa: ANN401 - serializer classes, made at import
    """Returns the serializer of one page of those rows; `counted` if the total is sent on request."""
    fields: dict[str, Any] = {
        "results": row(many=True),
        "next": serializers.CharField(allow_null=True, help_text="Address of the next page; null on the last one."),
    }
    if counted:
        fields["total"] = serializers.IntegerField(
            required=False, help_text="The number of all matching rows, with total=true."
        )
    return type(f"{name}Page", (serializers.Serializer,), fields)


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
_HEADERS_FOR = {
    "POST": [IDEMPOTENCY_KEY],
    "PATCH": [IF_MATCH],
    "PUT": [IF_MATCH],
    "DELETE": [IF_MATCH],
    "GET": [],
}


class KarpdashSchema(AutoSchema):
    """Describes an operation from the endpoint's `operations`, with the problems it may answer with."""

    view: Any

    @property
    def _operation(self) -> Operation:
        operation: Operation = self.view.operations[self.method]
        return operation

    def is_excluded(self) -> bool:
        """Whether the endpoint declares nothing for the method."""
        return self.method not in self.view.operations

    def get_operation_id(self) -> str:
        return self._operation.id

    def get_tags(self) -> list[str]:
        """Returns the endpoint's tag; else the first part of its URL."""
        return [self.view.tag or self.path.split("/")[3]]

    def get_request_serializer(self) -> Any:  # noqa: ANN401 - whatever drf-spectacular describes
        return self._operation.body

    def get_response_serializers(self) -> Any:  # noqa: ANN401 - as above
        """Returns the successful answers, and each problem."""
        operation, named = self._operation, self._operation.named
        usual = () if operation.unmatched else _FOR_METHOD[self.method]
        missing = (404,) if ("{" in self.path if named is None else named) else ()
        statuses = sorted({*_ALWAYS, *usual, *missing, *((412, 428) if operation.guarded else ())})
        problems = {(status, MEDIA_TYPE): OpenApiResponse(ProblemBodySerializer, _WORDS[status]) for status in statuses}
        return {**operation.answers, **problems}

    def get_override_parameters(self) -> list[Any]:
        """Returns the query's parameters, and the headers that the method needs."""
        operation = self._operation
        headers = (
            [KEY_NEEDED, IF_MATCH] if operation.guarded else [] if operation.unmatched else _HEADERS_FOR[self.method]
        )
        own_names = {parameter.name for parameter in operation.more}
        return [
            *([operation.query] if operation.query else []),
            *(h for h in headers if h.name not in own_names),
            *operation.more,
        ]
