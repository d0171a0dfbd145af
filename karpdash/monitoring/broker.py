"""Checks whether the broker answers."""

from redis import Redis
from redis.exceptions import RedisError

from karpdash.configuration.env import current
from migrations_app.clients.addresses import redis_url


def broker_answers() -> bool:
    """Whether the broker answers one request within a second; a broker in memory always does."""
    url = current().broker_url
    if url.startswith("memory"):
        return True
    try:
        return bool(_client(url).ping())
    except RedisError:
        return False


def _client(url: str) -> Redis:
    return Redis.from_url(redis_url(url), socket_timeout=1, socket_connect_timeout=1)
