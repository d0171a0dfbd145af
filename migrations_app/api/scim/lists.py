"""Lists of SCIM resources: filter, paging by startIndex and count, and selected attributes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework.request import Request

from migrations_app.api.scim.endpoint import ScimError
from migrations_app.api.scim.paths import plain_name, read_filter
from migrations_app.manifests import JsonMap

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
COUNT = 100
MAX_LISTED = 500
ALWAYS = ("schemas", "id")


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The parameters of a list request. `start` begins at one."""

    pairs: list[tuple[str, Any]]
    start: int
    count: int


def list_query(request: Request, *, filterable: Collection[str]) -> ListQuery:
    """Returns the parameters of a list. Raises ScimError."""
    text = request.query_params.get("filter", "")
    start = max(1, _number(request, "startIndex", default=1))
    count = min(MAX_LISTED, max(0, _number(request, "count", default=COUNT)))
    return ListQuery(read_filter(text, filterable=filterable) if text.strip() else [], start, count)


def list_body(rows: list[JsonMap], total: int, *, query: ListQuery) -> JsonMap:
    """Returns one page of resources."""
    numbers = {"totalResults": total, "startIndex": query.start, "itemsPerPage": len(rows)}
    return {"schemas": [LIST], **numbers, "Resources": rows}


def sparse(request: Request, row: Mapping[str, Any]) -> JsonMap:
    """Returns the resource with the attributes that `attributes` or `excludedAttributes` select."""
    only, but = (_names(request, name) for name in ("attributes", "excludedAttributes"))
    if only:
        return {name: value for name, value in row.items() if name in ALWAYS or name.lower() in only}
    return {name: value for name, value in row.items() if name in ALWAYS or name.lower() not in but}


def excludes(request: Request, name: str) -> bool:
    """Whether the request excludes the attribute, so that it need not be read."""
    only = _names(request, "attributes")
    return name in _names(request, "excludedAttributes") or bool(only and name not in only)


def _names(request: Request, parameter: str) -> set[str]:
    """Returns names of attributes, without their sub-attributes, in lower case."""
    text = request.query_params.get(parameter, "")
    return {plain_name(name.strip()).partition(".")[0] for name in text.split(",") if name.strip()}


def _number(request: Request, name: str, *, default: int) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 9:
        raise ScimError(f"{name} is a number", kind="invalidValue")
    return int(text)
