"""A token bucket for each caller, in this process: one noisy client cannot use up what the others need (T29)."""

import threading
import time
from collections import OrderedDict
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

PER_SECOND = 20.0
BURST = 200.0
MOST_CALLERS = 10_000

_lock = threading.Lock()
_buckets: "OrderedDict[str, tuple[float, float]]" = OrderedDict()


class TokenBucketThrottle(BaseThrottle):
    """Answers 429 when a caller's bucket is empty; `API_BURST` in the settings changes its size."""

    def __init__(self) -> None:
        self._left = 0.0
        self._size = float(getattr(settings, "API_BURST", BURST))

    def allow_request(self, request: Request, view: Any) -> bool:  # noqa: ANN401, ARG002 - DRF's signature
        now = time.monotonic()
        name = _caller(request)
        with _lock:
            left, since = _buckets.pop(name, (self._size, now))
            self._left = min(self._size, left + (now - since) * PER_SECOND) - 1
            _buckets[name] = (max(self._left, 0.0), now)
            while len(_buckets) > MOST_CALLERS:
                _buckets.popitem(last=False)
        request.throttles = [self]  # type: ignore[attr-defined]  # read back by Endpoint.finalize_response
        return self._left >= 0

    def wait(self) -> float:
        return max(1.0, -self._left / PER_SECOND)

    def headers(self) -> dict[str, str]:
        """How much is left, in the words of the RateLimit header fields."""
        left = max(0, int(self._left))
        return {
            "RateLimit-Limit": str(int(self._size)),
            "RateLimit-Remaining": str(left),
            "RateLimit-Reset": str(int((self._size - left) / PER_SECOND)),
        }


def _caller(request: Request) -> str:
    if request.user and request.user.is_authenticated:
        return f"user:{request.user.pk}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"
