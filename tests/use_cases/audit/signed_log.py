"""Helpers for tests of the audit log: a signing key, events, the log as it would be exported."""

from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings as django_settings
from django.db import transaction

from migrations_app.clients.audit_sink import Sinks
from migrations_app.models.checkpoint import Checkpoint
from migrations_app.queries.audit.log import export_lines
from migrations_app.use_cases.audit import checkpoints as checkpoint
from migrations_app.use_cases.audit.log import Actor, Event, record

KEY = b"s" * 32
PUBLIC = Ed25519PrivateKey.from_private_bytes(KEY).public_key().public_bytes_raw()
ADA = Actor(name="ada", address="127.0.0.1")


def with_sinks(settings, **sinks) -> None:
    """Returns settings with a key and these sinks."""
    settings.ENV = replace(django_settings.ENV, audit_signing_key=KEY, audit_sinks=Sinks(**sinks), allow_loopback=True)


def write(count: int = 1, **more) -> int:
    """Writes that many events; returns the number of the last."""
    seq = 0
    with transaction.atomic():
        for _ in range(count):
            seq = record(Event(**({"verb": "test.done", "actor": ADA} | more)))
    return seq


def log() -> list[bytes]:
    return list(export_lines())


def checkpoints() -> list[bytes]:
    return [checkpoint.line(row) + b"\n" for row in Checkpoint.objects.order_by("seq")]
