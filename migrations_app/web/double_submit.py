"""Double-submit protection: forms carry a one-time key; a second submit redirects to the first one's result (R33)."""

import hashlib
import secrets
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from migrations_app.errors import InvalidInput
from migrations_app.use_cases.runtime import idempotency
from migrations_app.use_cases.runtime.idempotency import StoredResponse

FIELD = "form_key"
P = ParamSpec("P")
PostView = Callable[Concatenate[HttpRequest, P], HttpResponse]


def require_confirmed(request: HttpRequest) -> None:
    """Raises InvalidInput unless the confirmation box is ticked, so that one click changes no cluster."""
    if request.POST.get("confirmed") != "yes":
        raise InvalidInput("confirm that the change begins now", where="confirmed", code="not_confirmed")


def form_key() -> str:
    """Returns a new key for a hidden field."""
    return secrets.token_urlsafe(16)


def submit_once(view: PostView[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Decorator for views that redirect on success. Only a success is stored: a refused form may be sent again."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        key = request.POST.get(FIELD, "")
        if request.method != "POST" or not 16 <= len(key) <= 64 or not key.isascii():
            return view(request, *args, **kwargs)
        entry = idempotency.begin(int(request.user.pk or 0), key=f"form:{key}", digest=_digest(request))
        if isinstance(entry, StoredResponse):
            return redirect(entry.headers["Location"])
        stored = False
        try:
            answer = view(request, *args, **kwargs)
            if 300 <= answer.status_code < 400:
                idempotency.finish(entry, StoredResponse(answer.status_code, {"Location": answer["Location"]}, b""))
                stored = True
        finally:
            if not stored:
                idempotency.forget(entry)
        return answer

    return guarded


def _digest(request: HttpRequest) -> str:
    fields = sorted((name, tuple(values)) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken")
    return hashlib.sha256(f"{request.path}\0{fields!r}".encode()).hexdigest()
