"""Gives every request an id, the caller's own or a new one, and sends it in the response and in each log line."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bound_contextvars

log = logging.getLogger(__name__)
HEADER = "X-Request-ID"
QUIET_PATHS = ("/static/", "/healthz", "/readyz", "/metrics", "/agent/v1/")
NOT_MODIFIED = 304
"""The status of most answers to pages that poll every few seconds."""
REFUSED = (401, 403, 429)
"""Statuses of refused requests, whose sender is logged."""
_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class RequestIds:
    """Binds the id for the duration of the request and logs one line about the request, without query and body."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        header = request.headers.get(HEADER, "")
        request_id = header if _ID.fullmatch(header) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # read by the API and by what records events
        started = time.monotonic()
        with bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            _log_request(request, response, seconds=time.monotonic() - started)
        response.headers.setdefault(HEADER, request_id)
        return response


def _log_request(request: HttpRequest, response: HttpResponse, *, seconds: float) -> None:
    quiet = response.status_code == NOT_MODIFIED or request.path.startswith(QUIET_PATHS)
    level = logging.DEBUG if quiet else logging.INFO
    fields: dict[str, Any] = {"method": request.method, "path": request.path[:500], "status": response.status_code}
    if response.status_code in REFUSED:
        level = logging.WARNING
        fields |= {"address": request.META.get("REMOTE_ADDR", ""), "account": _account(request)}
    log.log(level, "request", extra=fields | {"ms": round(seconds * 1000)})


def _account(request: HttpRequest) -> int | None:
    """Returns the number of the account whose session or token the request carries; None without an account."""
    user = getattr(request, "user", None)
    return user.pk if user is not None else None
