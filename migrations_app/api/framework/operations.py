"""What the OpenAPI schema says about an operation: declared by each endpoint in `operations`, by method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

HEADER: Literal["header"] = "header"
_KEY = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
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
    type=_KEY,
    location=HEADER,
    description="Sent twice within 24 hours, the request is done once; the second one gets the same answer.",
)
KEY_NEEDED = OpenApiParameter(
    name="Idempotency-Key",
    type=_KEY,
    location=HEADER,
    required=True,
    description="Needed here. Sent twice within 24 hours, the request is done once.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`answer` is the shape of the success, or a mapping of all successful answers; without one the status is 204.

    `guarded`: a POST that needs both an Idempotency-Key and an If-Match; `unmatched`: a DELETE that needs no If-Match.
    `named`: whether what the address names may be missing; None: if the address has a parameter.
    """

    id: str
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


def page_of(name: str, row: Any) -> Any:  # noqa: ANN401 - serializer classes, made at import
    """The shape of one page of those rows."""
    fields = {
        "results": row(many=True),
        "next": serializers.CharField(allow_null=True, help_text="Address of the next page; null on the last one."),
    }
    return type(f"{name}Page", (serializers.Serializer,), fields)
