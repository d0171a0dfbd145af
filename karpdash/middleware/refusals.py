"""Refuses TRACE, programs that send requests without TLS where TLS is required, and methods that a view does
not have.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseNotAllowed
from django.shortcuts import render

API = "/api/"
PROGRAM_PATHS = (API, "/scim/", "/agent/", "/metrics")
"""Paths that programs use. A redirect to https would hide that their token was sent without TLS; SecurityMiddleware
redirects people.
"""
TEXT = "text/plain; charset=utf-8"


class Refusals:
    """Answers 405 to TRACE, except on the API, which does so itself; 403 to programs without TLS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure() and request.path.startswith(PROGRAM_PATHS):
            return HttpResponseForbidden("Ask over https, and replace the token.\n", content_type=TEXT)
        if request.method == "TRACE" and not request.path.startswith(API):
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        return self.get_response(request)


class WrongMethod:
    """Adds the error page to an empty 405 unless a program sent the request: browsers show nothing for an empty answer.
    The headers stay.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        by_program = request.path.startswith(PROGRAM_PATHS) or not request.accepts("text/html")
        if not isinstance(answer, HttpResponseNotAllowed) or answer.content or by_program:
            return answer
        page = render(request, "405.html", {"methods": answer.headers["Allow"]}, status=answer.status_code)
        page.headers["Allow"] = answer.headers["Allow"]
        return page
