"""Requests that are refused before anything looks at them: TRACE, and programs that ask in clear where TLS is set."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed

API = "/api/"
PROGRAMS = (API, "/scim/", "/metrics")
"""Addresses that programs ask. A redirect to https would hide from them that their token was sent in clear; people
are led on by SecurityMiddleware.
"""
TEXT = "text/plain; charset=utf-8"


class Refusals:
    """405 for TRACE, which the API answers by itself; 403 for programs in clear."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure() and request.path.startswith(PROGRAMS):
            return HttpResponseForbidden("Ask over https, and replace the token.\n", content_type=TEXT)
        if request.method == "TRACE" and not request.path.startswith(API):
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        return self.get_response(request)
