"""A page for people who open an address that only forms use, or the other way round: a bare 405 shows them nothing."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render

from karpdash.middleware.refusals import PROGRAMS


class WrongMethod:
    """Gives an empty 405 the page of errors, unless a program asked; its headers stay."""

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
