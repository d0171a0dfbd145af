"""Requests that are refused: TRACE, programs that ask in clear where TLS is set, and methods that no view has."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed
from django.shortcuts import render

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


class WrongMethod:
    """Gives an empty 405 the page of errors unless a program asked: a bare 405 shows nothing. Its headers stay."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        by_program = request.path.startswith(PROGRAMS) or not request.accepts("text/html")
        if not isinstance(answer, HttpResponseNotAllowed) or answer.content or by_program:
            return answer
        page = render(request, "405.html", {"methods": answer.headers["Allow"]}, status=answer.status_code)
        page.headers["Allow"] = answer.headers["Allow"]
        return page
