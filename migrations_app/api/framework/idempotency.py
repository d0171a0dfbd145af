"""Idempotency-Key on POST: a request that is sent twice takes effect once, and both get the same answer."""

import hashlib
import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import msgspec
from django.http import HttpResponse, HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.callers import person
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.use_cases.runtime import idempotency
from migrations_app.use_cases.runtime.idempotency import NewRequest, StoredResponse

HEADER = "Idempotency-Key"
SHOWN_ONCE = "secret"
KEPT_HEADERS = ("Location", "ETag")
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
PostMethod = Callable[..., Response]


def idempotent(post: PostMethod) -> Callable[..., HttpResponseBase]:
    """Decorator for a `post` method. Only successes are stored: a refused request may be corrected under the
    same key.
    """

    @wraps(post)
    def once(self: Any, request: Request, **names: Any) -> HttpResponseBase:  # noqa: ANN401 - any endpoint
        key = request.headers.get(HEADER)
        if key is None:
            return post(self, request, **names)
        if not _KEY.fullmatch(key):
            raise Problem("bad_input", f"{HEADER} must be 1 to 128 visible ASCII characters")
        entry = idempotency.begin(person(request).pk, key=key, digest=_digest(request))
        if isinstance(entry, StoredResponse):
            return _replay(entry)
        return _answer_and_store(entry, lambda: post(self, request, **names))

    return once


def key_required(post: PostMethod) -> Callable[..., HttpResponseBase]:
    """As `idempotent`, but refuses a request without a key (A11)."""
    repeated = idempotent(post)

    @wraps(post)
    def once(self: Any, request: Request, **names: Any) -> HttpResponseBase:  # noqa: ANN401 - any endpoint
        if request.headers.get(HEADER) is None:
            raise Problem("key_needed")
        return repeated(self, request, **names)

    return once


def key_and_etag_required(post: PostMethod) -> Callable[..., HttpResponseBase]:
    """As `key_required`, but also refuses a request without If-Match, including a repeated one."""
    repeated = key_required(post)

    @wraps(post)
    def once(self: Any, request: Request, **names: Any) -> HttpResponseBase:  # noqa: ANN401 - any endpoint
        if not request.headers.get("If-Match"):
            raise Problem("if_match_needed")
        return repeated(self, request, **names)

    return once


def _answer_and_store(entry: NewRequest, work: Callable[[], Response]) -> Response:
    stored = False
    try:
        answer = work()
        headers = {name: answer[name] for name in KEPT_HEADERS if name in answer}
        idempotency.finish(entry, StoredResponse(answer.status_code, headers, _without_secret(answer)))
        stored = True
    finally:
        if not stored:
            idempotency.forget(entry)
    return answer


def _without_secret(answer: Response) -> bytes:
    """Returns the body to store, without the secret: a secret is shown once, and is empty in the second answer."""
    data = answer.data
    body = data | {SHOWN_ONCE: ""} if isinstance(data, dict) and SHOWN_ONCE in data else data
    return bytes(JSONRenderer().render(body))


def _replay(answer: StoredResponse) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    for name, value in answer.headers.items():
        response[name] = value
    response["Idempotency-Replayed"] = "true"
    return response


def _digest(request: Request) -> str:
    """Returns the digest of URL with its query, and content, independent of the order of the fields."""
    mark = hashlib.sha256(f"{request.method} {request.path}\0".encode())
    if query := sorted(request.query_params.lists()):
        mark.update(msgspec.json.encode(query) + b"\0")
    data: Any = request.data
    fields = {name: data[name] for name in data if name not in request.FILES} if hasattr(data, "keys") else data
    mark.update(msgspec.json.encode(fields, order="sorted"))
    for name, file in sorted(request.FILES.items()):
        mark.update(f"\0{name}\0".encode())
        for chunk in file.chunks():
            mark.update(chunk)
        file.seek(0)
    return mark.hexdigest()
