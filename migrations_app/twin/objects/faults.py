"""The causes of a refused object: the reason, the field and the sentence of a real API server."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RefusalCause:
    """One cause of a refusal: `reason` such as FieldValueInvalid, the path of the field, and the sentence."""

    reason: str
    field: str
    message: str


def cause_documents(causes: Iterable[RefusalCause]) -> list[dict[str, str]]:
    """The causes as a Status document lists them."""
    parts = ((("reason", cause.reason), ("message", cause.message), ("field", cause.field)) for cause in causes)
    return [{key: text for key, text in pairs if text} for pairs in parts]


def wrong(field: str, value: Any, *, why: str) -> RefusalCause:  # noqa: ANN401 - any JSON value can be wrong
    return RefusalCause("FieldValueInvalid", field, f"Invalid value: {json.dumps(value, default=str)}: {why}")


def required(field: str, why: str = "") -> RefusalCause:
    return RefusalCause("FieldValueRequired", field, f"Required value{': ' if why else ''}{why}")


def not_supported(field: str, value: Any, *, choice: Iterable[Any]) -> RefusalCause:  # noqa: ANN401 - as above
    supported = ", ".join(json.dumps(allowed) for allowed in choice)
    return RefusalCause(
        "FieldValueNotSupported", field, f"Unsupported value: {json.dumps(value)}: supported values: {supported}"
    )


def prohibited(field: str, why: str) -> RefusalCause:
    return RefusalCause("FieldValueForbidden", field, f"Forbidden: {why}")


def repeated(field: str, value: Any) -> RefusalCause:  # noqa: ANN401 - as above
    return RefusalCause("FieldValueDuplicate", field, f"Duplicate value: {json.dumps(value)}")
