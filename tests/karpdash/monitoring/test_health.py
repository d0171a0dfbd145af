"""Is karpdash itself alive and ready."""

from redis.exceptions import ConnectionError as RedisDown

from karpdash.monitoring import broker


def test_alive_needs_nothing(client):
    assert client.get("/healthz").content == b"ok\n"


def test_a_broker_that_does_not_answer_is_missing(monkeypatch):
    class Dead:
        def ping(self):
            raise RedisDown("gone")

    monkeypatch.setattr(broker, "_client", lambda _url: Dead())
    assert broker.broker_answers() is False


def test_every_answer_carries_the_policy(client):
    headers = client.get("/healthz").headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe-inline" not in headers["Content-Security-Policy"]
    assert (headers["X-Frame-Options"], headers["Cache-Control"]) == ("DENY", "no-store")
