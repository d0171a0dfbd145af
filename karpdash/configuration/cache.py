"""Django's cache in the broker's Redis, so that all web processes share it. It holds the API's request counts alone."""

import json
from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry

SECONDS = 0.5
"""How long a request waits for the cache: longer than a healthy Redis ever takes."""


class JsonSerializer:
    """JSON instead of Django's pickle: write access to the broker must not allow running code here."""

    def dumps(self, value: Any) -> bytes:  # noqa: ANN401 - what Django's cache is given
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:  # noqa: ANN401 - as above
        return json.loads(data)


def redis_url(broker_url: str) -> str:
    """The broker's address as redis-py writes it; Celery's own form of a socket's address is translated."""
    return broker_url.replace("redis+socket://", "unix://").replace("virtual_host=", "db=")


def caches(broker_url: str) -> dict[str, Any]:
    """The setting CACHES. A broker in memory, which only tests have, leaves the cache in memory too."""
    if broker_url.startswith("memory:"):
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    options = {
        "serializer": "karpdash.configuration.cache.JsonSerializer",
        "socket_timeout": SECONDS,
        "socket_connect_timeout": SECONDS,
        "retry": Retry(NoBackoff(), 0),
    }
    return {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": redis_url(broker_url),
            "KEY_PREFIX": "karpdash",
            "OPTIONS": options,
        }
    }
