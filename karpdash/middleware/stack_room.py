"""Room on the interpreter's stack for a whole request.

CPython keeps the frames of calls in pieces of 16 KiB. A call that crosses the end of a piece takes the next one from
the system, and gives it back when it returns. A page that does so in a loop, since its templates happen to nest just so
deep, had 4,000 page faults and took up to a third longer; which page that is depends on the server below it. A frame
larger than a piece gets a piece of twice its size or more, and the frames of all that it calls fit into it.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

SLOTS = 16_500
"""Values that the frame has room for: the piece is 256 KiB then, of which the frame takes half."""


def _with_room(answer: Callable[[HttpRequest], HttpResponse], request: HttpRequest) -> HttpResponse:
    return answer(request)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=SLOTS)


class StackRoom:
    """Stands before every other middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return _with_room(self.get_response, request)
