"""Pages that come slowly: a test that looks at its page too soon fails each time then, not once in a hundred runs."""

import os
import time
from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

LATE = "KARPDASH_TEST_LATE"
"""Seconds, such as 0.5, for `pytest tests/browser`: the wait behind the first tag of each page. Unset: none."""


def slow_pages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponseBase]:
    """A middleware, outermost; parts of pages, files and redirects come as they are."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        whole = get_response(request)
        is_page = request.headers.get("Sec-Fetch-Dest") == "document" and whole.status_code == 200
        if whole.streaming or not is_page or "text/html" not in whole.get("Content-Type", ""):
            return whole
        slow = StreamingHttpResponse(_in_two(whole.content, float(os.environ[LATE])))
        for name, value in whole.items():
            if name != "Content-Length":
                slow[name] = value
        slow.cookies = whole.cookies
        return slow

    return answer


def _in_two(page: bytes, seconds: float) -> Iterator[bytes]:
    head, end, rest = page.partition(b">")
    yield head + end
    time.sleep(seconds)
    yield rest
