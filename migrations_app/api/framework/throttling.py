"""Limits the number of requests of each caller, so that one caller cannot use up what the others need (T29)."""

from typing import Any

from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

REQUESTS = 200
WINDOW_SECONDS = 10
_OWN_COUNTS = LocMemCache("api-requests", {"OPTIONS": {"MAX_ENTRIES": 10_000}})
"""The counts of this process, while the shared cache does not answer."""


class CallerThrottle(SimpleRateThrottle):
    """Answers 429 once a caller has used up the requests of a window; `API_BURST` in the settings is their
    number.

    The counts are in Django's cache, so that all web processes share one budget. While that cache does not answer, each
    web process counts alone: the API works without the broker (R05), and there still is a limit.
    """

    rate = f"{REQUESTS}/{WINDOW_SECONDS}s"
    scope = "api"
    num_requests: int
    duration: int

    def parse_rate(self, rate: str | None) -> tuple[int, int]:  # noqa: ARG002 - DRF's own form knows no ten seconds
        return int(getattr(settings, "API_BURST", REQUESTS)), WINDOW_SECONDS

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ANN401, ARG002 - DRF's signature
        return self.cache_format % {"scope": self.scope, "ident": _caller(request)}

    def allow_request(self, request: Request, view: Any) -> bool:  # noqa: ANN401 - DRF's signature
        try:
            is_allowed = super().allow_request(request, view)
        except RedisError:
            self.cache = _OWN_COUNTS
            is_allowed = super().allow_request(request, view)
        request.throttles = [self]  # type: ignore[attr-defined]  # read back by Endpoint.finalize_response
        return is_allowed

    def wait(self) -> float:
        """Returns the seconds until the next request is allowed, at least one."""
        return max(1.0, super().wait() or 0.0)

    def headers(self) -> dict[str, str]:
        """Returns the remaining requests as RateLimit header fields."""
        reset = self.duration - (self.now - self.history[0]) if self.history else 0
        return {
            "RateLimit-Limit": str(self.num_requests),
            "RateLimit-Remaining": str(max(0, self.num_requests - len(self.history))),
            "RateLimit-Reset": str(int(max(0, reset))),
        }


def _caller(request: Request) -> str:
    if request.user and request.user.is_authenticated:
        return f"user:{request.user.pk}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"
