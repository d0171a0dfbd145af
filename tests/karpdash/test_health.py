"""Is karpdash itself alive and ready, and does it refuse to start unsafely."""

import dataclasses

import pytest
from redis.exceptions import ConnectionError as RedisDown

from karpdash import health, system_checks
from migrations_app.clients.audit_sink import Sinks


def test_alive_needs_nothing(client):
    assert client.get("/healthz").content == b"ok\n"


@pytest.mark.django_db
@pytest.mark.parametrize(("broker", "status", "missing"), [(True, 200, []), (False, 503, ["broker"])])
def test_ready_says_what_is_missing(client, monkeypatch, *, broker, status, missing):
    monkeypatch.setattr(health, "_broker", lambda: broker)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (status, {"ready": not missing, "missing": missing})


def test_a_broker_that_does_not_answer_is_missing(monkeypatch):
    class Dead:
        def ping(self):
            raise RedisDown("gone")

    monkeypatch.setattr(health, "_client", lambda _url: Dead())
    assert health._broker() is False


def test_every_answer_carries_the_policy(client):
    headers = client.get("/healthz").headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe-inline" not in headers["Content-Security-Policy"]
    assert (headers["X-Frame-Options"], headers["Cache-Control"]) == ("DENY", "no-store")


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"secret_key": ""}, ["karpdash.E001"]),
        ({"encryption_keys": ()}, ["karpdash.E002"]),
        ({"allowed_hosts": ("*",)}, ["karpdash.E003"]),
        ({"secret_key": bytes(32).hex()}, ["karpdash.E005"]),
        ({"audit_sinks": Sinks(file="/outside.jsonl"), "audit_signing_key": b""}, ["karpdash.E006"]),
        ({"audit_sinks": Sinks(file="/outside.jsonl"), "audit_signing_key": bytes(32)}, []),
    ],
)
def test_an_unsafe_configuration_does_not_start(settings, changes, wrong):  # T30
    good = {"secret_key": "s", "encryption_keys": (("k", bytes(32)),), "allowed_hosts": ("localhost",)}
    settings.ENV = dataclasses.replace(settings.ENV, **(good | changes))
    settings.DEBUG = False
    assert [error.id for error in system_checks.configuration()] == wrong


def test_debug_does_not_start(settings):  # T30
    settings.DEBUG = True
    assert "karpdash.E004" in [error.id for error in system_checks.configuration()]
