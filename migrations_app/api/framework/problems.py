"""Errors as application/problem+json (RFC 9457), with a stable code and the id of the request."""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from migrations_app import errors
from migrations_app.api.framework.problem_codes import CODES, Problem, known_code
from migrations_app.manifests import JsonMap

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


def exception_answer(error: Exception, context: JsonMap) -> Response:
    """Returns the answer to any exception of an endpoint; DRF calls this function. Internal errors are logged with the
    request id.
    """
    set_rollback()
    request = context["request"]
    body = _body(error)
    if body["status"] >= 500:
        log.error("request failed", exc_info=error, extra={"request_id": getattr(request, "request_id", "")})
        got_request_exception.send(sender=None, request=request)
    body |= {"instance": request.path, "request_id": getattr(request, "request_id", "")}
    return Response(body, status=body["status"], headers=_headers(body), content_type=MEDIA_TYPE)


def _body(error: Exception) -> JsonMap:
    code, detail = _code_and_detail(error)
    body: JsonMap = {
        "type": f"/api/v1/problems/{code}",
        "title": CODES[code].title,
        "status": CODES[code].status,
        "detail": detail or CODES[code].meaning,
        "code": code,
    }
    if isinstance(error, exceptions.ValidationError):
        body["errors"] = list(_pointed(error.detail, ()))
    elif isinstance(error, errors.InvalidInput) and error.where:
        pointer = _pointer((*error.inside, error.where))
        body["errors"] = [{"pointer": pointer, "detail": error.message, "code": error.code}]
    wait = _wait(error)
    return body | ({"retry_after": wait} if wait is not None else {})


def _code_and_detail(error: Exception) -> tuple[str, str]:
    """Returns code and detail."""
    if isinstance(error, Problem):
        return error.code, str(error.detail)
    if isinstance(error, errors.KarpdashError):
        return _product_code(error), error.message
    for kind, code in _FRAMEWORK_CODES:
        if isinstance(error, kind):
            return code, str(error.detail) if code in _WITH_DETAIL and isinstance(
                error, exceptions.APIException
            ) else ""
    return "failed", ""


def _product_code(error: errors.KarpdashError) -> str:
    if isinstance(error, errors.InvalidSetting):
        return "unavailable"
    if isinstance(error, errors.ReadError):
        return "not_answered"  # its own codes speak of that other server, not of this request
    for kind, general in _PRODUCT_CODES:
        if isinstance(error, kind):
            return known_code(error.code, otherwise=general)
    return "failed"


_PRODUCT_CODES = (
    (errors.InvalidKubeconfig, "bad_kubeconfig"),
    (errors.InvalidBundle, "bad_bundle"),
    (errors.InvalidInput, "bad_input"),
    (errors.NotFound, "not_found"),
    (errors.Conflict, "conflict"),
    (errors.PermissionDenied, "forbidden"),
)
_FRAMEWORK_CODES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ValidationError, "invalid"),
    (exceptions.ParseError, "malformed"),
    (exceptions.NotAuthenticated, "not_signed_in"),
    (exceptions.AuthenticationFailed, "bad_token"),
    (exceptions.PermissionDenied, "forbidden"),
    (PermissionDenied, "forbidden"),
    (Http404, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "throttled"),
    (RequestDataTooBig, "too_large"),
    (SuspiciousOperation, "malformed"),
    (OperationalError, "unavailable"),
    (InterfaceError, "unavailable"),
)
_WITH_DETAIL = ("malformed", "forbidden", "bad_token")


def _wait(error: Exception) -> int | None:
    if isinstance(error, exceptions.Throttled):
        return max(1, int(getattr(error, "wait", None) or 1))
    if isinstance(error, OperationalError | InterfaceError):
        return 5
    return error.retry_after if isinstance(error, Problem) else None


def _headers(body: JsonMap) -> dict[str, str]:
    headers = {}
    if body["status"] == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="karpdash"'
    if "retry_after" in body:
        headers["Retry-After"] = str(body["retry_after"])
    return headers


def _pointed(detail: Any, path: tuple[str, ...]) -> Iterator[JsonMap]:  # noqa: ANN401 - DRF's nest of lists and dicts
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _pointed(below, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, list):
        for below in detail:
            yield from _pointed(below, path)
    else:
        code = str(getattr(detail, "code", "invalid"))
        yield {"pointer": _pointer(path), "detail": _OWN_DETAILS.get(code) or str(detail), "code": code}


_OWN_DETAILS = {
    "invalid_choice": "Not one of the values that the schema lists.",
    "not_a_dict": "Not an object.",
    "not_a_list": "Not a list.",
    "null": "This field may not be null.",
}
"""In place of texts of REST framework that name types of Python or repeat the whole value, up to 1 MiB of it."""


def _pointer(path: tuple[str, ...]) -> str:
    """Returns a JSON pointer (RFC 6901) as the fragment of an address."""
    return "#" + "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)
