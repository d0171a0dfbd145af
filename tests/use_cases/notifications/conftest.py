"""A receiver on this machine, and the leave to send to it."""

import dataclasses

import pytest

from tests.servers.receiver import Receiver


@pytest.fixture
def sends_to_loopback(settings):
    keys = (("k1", b"0" * 32),)
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=keys, allow_loopback=True, trusted_origins=())


@pytest.fixture
def receiver(tmp_path, monkeypatch):
    server = Receiver(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", server.trust)
    yield server
    server.stop()
