"""A call that crosses the end of a piece of the interpreter's stack is no page fault inside of a request."""

import resource

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from karpdash.middleware.stack_room import StackRoom

CALLS = 300
DEPTHS = 200
"""More frames than a piece holds, so that its end is met at one of the depths."""


def _leaf(a: int, b: int, c: int) -> int:
    return a + b + c


def _faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        _leaf(number, number, number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _most_faults(depth: int = DEPTHS) -> int:
    return max(_faults(), _most_faults(depth - 1)) if depth else _faults()


def test_no_depth_of_calls_is_dear_in_a_request():
    found: list[int] = []

    def answer(_: HttpRequest) -> HttpResponse:
        found.append(_most_faults())
        return HttpResponse()

    answer(HttpRequest())
    StackRoom(answer)(HttpRequest())
    without, within = found
    assert without >= CALLS > 2 * within


def test_it_stands_before_every_other_middleware():
    assert settings.MIDDLEWARE[0] == f"{StackRoom.__module__}.{StackRoom.__qualname__}"
