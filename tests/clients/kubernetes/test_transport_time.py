"""K06, T06: whatever a server does, a call ends in time."""

import socket
import time

import pytest

from migrations_app.clients.kubernetes.connection import Connection, Server
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import InvalidResponse, TimedOut
from tests.clients.kubernetes.rig import FAST, HERE, always, failure, outcome, speaking
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, Request, Wire
from tests.servers.waiting import AT_ONCE


def test_a_dripping_body_ends_at_the_deadline() -> None:
    script = always(lambda wire: wire.begin(), lambda wire: wire.drip(b"1\r\nx\r\n", every=0.02))
    assert outcome(failure(script)) == (TimedOut, "timeout")


def test_a_dripping_header_ends_at_the_deadline() -> None:
    script = always(lambda wire: wire.drip(b"HTTP/1.1 200 OK\r\nX-A: bbbbbbbbbbbbbbbbbbbbbbbbb", every=0.05))
    assert outcome(failure(script)) == (TimedOut, "timeout")


def test_a_slow_body_ends_before_the_deadline_by_the_minimum_rate() -> None:
    limits = ClientLimits(read_seconds=90, call_seconds=90, slow_start_seconds=0.3, bytes_per_second=1000, tries=1)
    script = always(lambda wire: wire.begin(), lambda wire: wire.drip(b"1\r\nx\r\n", every=0.01, most=80))
    started = time.monotonic()
    error = failure(script, limits=limits)
    assert outcome(error) == (TimedOut, "timeout")
    assert time.monotonic() - started < AT_ONCE


def test_silence_ends_at_the_deadline() -> None:
    assert outcome(failure(always(lambda wire: wire.hang()))) == (TimedOut, "timeout")


def test_silence_is_asked_once() -> None:  # a second try would only wait as long again
    with speaking(always(lambda wire: wire.hang()), limits=FAST) as (transport, evil), pytest.raises(TimedOut):
        transport.get("/version")
    assert len(evil.requests) == 1


def test_a_server_that_never_ends_the_handshake_is_left() -> None:
    with socket.socket() as silent:
        silent.bind((LOOPBACK, 0))
        silent.listen()
        there = Connection(server=Server(LOOPBACK, silent.getsockname()[1]), ca_pem=AUTHORITY.pem)
        transport = Transport(there, reach=HERE, limits=ClientLimits(connect_seconds=0.3, tries=1))
        with pytest.raises(TimedOut):
            transport.get("/version")
        transport.close()


def test_a_scan_has_an_end_of_its_own() -> None:
    late = speaking(always(lambda wire: wire.answer()), limits=ClientLimits(scan_seconds=0))
    with late as (transport, evil), pytest.raises(TimedOut):
        transport.get("/version")
    assert evil.requests == []


def test_endless_interim_answers_end_at_the_deadline() -> None:
    def script(_: Request, wire: Wire) -> None:
        while not wire.stop.wait(0.01):
            wire.raw(b"HTTP/1.1 100 Continue\r\n\r\n")

    assert outcome(failure(script))[0] in (TimedOut, InvalidResponse)
