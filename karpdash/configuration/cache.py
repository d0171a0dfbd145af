"""Django's cache in the broker's Redis, shared by all web processes. It holds only the API's request counts."""

import json
from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry

from migrations_app.clients.addresses import redis_url

TIMEOUT_SECONDS = 0.5
"""How long a request waits for the cache: longer than a healthy Redis ever takes."""


class JsonSerializer:
    """JSON instead of Django's pickle: write access to the broker must not allow running code here."""

    def dumps(self, value: Any) -> bytes:  # noqa: ANN401 - what Django's cache is given
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:  # noqa: ANN401 - as above
        return json.loads(data)


def caches(broker_url: str) -> dict[str, Any]:
    """Returns the setting CACHES. With a broker in memory, which only tests have, the cache is in memory too."""
    if broker_url.startswith("memory:"):
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    options = {
        "serializer": "karpdash.configuration.cache.JsonSerializer",
        "socket_timeout": TIMEOUT_SECONDS,
        "socket_connect_timeout": TIMEOUT_SECONDS,
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
