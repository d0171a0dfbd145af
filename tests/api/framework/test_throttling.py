"""T29: one budget for all web processes, in a real Redis."""

import json
from types import SimpleNamespace

import pytest
import redis
from django.core.cache.backends.redis import RedisCache
from pytest_django import Settings

from karpdash.configuration.cache import caches
from migrations_app.api.framework.throttling import CallerThrottle

LIMIT = 5


@pytest.fixture(autouse=True)
def _small(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.API_BURST = LIMIT
    monkeypatch.setattr("migrations_app.api.framework.throttling.WINDOW_SECONDS", 300)


def a_process(url: str, monkeypatch: pytest.MonkeyPatch) -> CallerThrottle:
    """The throttle as another web process has it: with connections of its own."""
    chosen = caches(url)["default"]
    throttle = CallerThrottle()
    monkeypatch.setattr(throttle, "cache", RedisCache(chosen["LOCATION"], {**chosen}), raising=False)
    return throttle


def a_request(address: str) -> SimpleNamespace:
    return SimpleNamespace(user=None, META={"REMOTE_ADDR": address})


def test_all_web_processes_share_one_budget(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = a_process(redis_url, monkeypatch), a_process(redis_url, monkeypatch)
    caller = a_request("192.0.2.1")
    allowed = [throttle.allow_request(caller, None) for throttle in (one, other) * 4]  # type: ignore[arg-type]  # reads two fields
    assert allowed == [True] * LIMIT + [False] * 3
    assert (other.headers()["RateLimit-Remaining"], 1 <= other.wait() <= 300) == ("0", True)
    assert one.allow_request(a_request("192.0.2.2"), None)  # type: ignore[arg-type]  # as above


def test_what_lies_in_redis_is_json_and_goes_away(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert a_process(redis_url, monkeypatch).allow_request(a_request("192.0.2.3"), None)  # type: ignore[arg-type]  # as above
    with redis.Redis.from_url(redis_url) as connection:
        (key,) = connection.keys("karpdash:*192.0.2.3")
        (moment,) = json.loads(connection.get(key))
        assert (isinstance(moment, float), 0 < connection.ttl(key) <= 300) == (True, True)


def test_without_redis_each_process_counts_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:  # R05, T29
    gone = "redis+socket:///nowhere/broker.sock?virtual_host=0"
    request = a_request("192.0.2.4")
    allowed = [a_process(gone, monkeypatch).allow_request(request, None) for _ in range(LIMIT + 2)]  # type: ignore[arg-type]  # as above
    assert allowed == [True] * LIMIT + [False] * 2
    assert a_process(gone, monkeypatch).allow_request(a_request("192.0.2.5"), None)  # type: ignore[arg-type]  # as above
