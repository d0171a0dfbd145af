"""What tests of the transport share: a client of a scripted server, and how a call ended."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.connection import Connection, Server
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.clients.secret import Secret
from migrations_app.errors import ReadError
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, EvilServer, Request, Script, Wire
from tests.servers.waiting import AT_ONCE

HERE = OutboundPolicy(allow_loopback=True)
FAST = ClientLimits(
    connect_seconds=2,
    read_seconds=1.0,
    call_seconds=3,
    scan_seconds=10,
    slow_start_seconds=0.3,
    first_pause_seconds=0.01,
    longest_pause_seconds=0.05,
    retry_after_seconds=1,
)
PATIENT = replace(FAST, connect_seconds=60, read_seconds=60, call_seconds=60, scan_seconds=120, slow_start_seconds=60)
"""For calls that are answered: a machine whose cores are busy is no reason to give one up."""
CANARY = "canary-token-8c1f"


def connection(evil: EvilServer, /, **changes: object) -> Connection:
    given = {"server": Server(LOOPBACK, evil.port), "ca_pem": AUTHORITY.pem, "token": Secret(CANARY)}
    return Connection(**(given | changes))  # type: ignore[arg-type]  # mixed on purpose


@contextmanager
def speaking(
    script: Script, *, limits: ClientLimits = PATIENT, **server: object
) -> Iterator[tuple[Transport, EvilServer]]:
    with EvilServer(script, **server) as evil:  # type: ignore[arg-type]  # mixed on purpose
        transport = Transport(connection(evil), reach=HERE, limits=limits)
        yield transport, evil
        transport.close()


def always(*parts: Callable[[Wire], None]) -> Script:
    def script(_: Request, wire: Wire) -> None:
        for part in parts:
            part(wire)

    return script


def failure(script: Script, *, limits: ClientLimits = FAST, path: str = "/version", **server: object) -> ReadError:
    """How a get ends against that server; it must end within the call's deadline."""
    started = time.monotonic()
    with speaking(script, limits=limits, **server) as (transport, _), pytest.raises(ReadError) as caught:
        transport.get(path)
    assert time.monotonic() - started < limits.call_seconds + AT_ONCE
    return caught.value


def outcome(error: ReadError) -> tuple[type[ReadError], str]:
    return type(error), error.code
