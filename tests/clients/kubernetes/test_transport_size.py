"""K09, T06: answers have limits, alone and together."""

import gzip
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.errors import InvalidResponse, ReadError, ServerFailed, TooLarge
from tests.clients.kubernetes.rig import always, failure, outcome, speaking
from tests.fakes.evilk8s import Request, Wire


def test_a_huge_body_is_left_at_the_limit() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.begin()
        while not wire.stop.is_set():
            wire.chunk(b"x" * MIB)

    limits = ClientLimits(page_bytes=3 * MIB)
    assert outcome(failure(script, limits=limits)) == (TooLarge, "too_large")


def test_a_gzip_bomb_is_never_unfolded() -> None:
    bomb = gzip.compress(b"0" * (80 * MIB), 9)
    script = always(lambda wire: wire.answer(bomb, Content_Encoding="gzip"))
    with speaking(script, limits=ClientLimits(page_bytes=4 * MIB)) as (transport, _):
        before = peak_memory()
        with pytest.raises(TooLarge):
            transport.get("/version")
        assert peak_memory() - before < 24 * MIB


def peak_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_a_header_without_end_is_left() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.raw(b"HTTP/1.1 200 OK\r\nX-A: ")
        while not wire.stop.is_set():
            wire.raw(b"a" * 65536)

    assert outcome(failure(script)) == (InvalidResponse, "garbled")


def test_headers_without_number_are_left() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.raw(b"HTTP/1.1 200 OK\r\n")
        while not wire.stop.is_set():
            wire.raw(b"X-A: b\r\n" * 1000)

    assert outcome(failure(script)) == (InvalidResponse, "garbled")


def test_all_bodies_of_a_scan_have_a_limit_together() -> None:
    with speaking(always(lambda wire: wire.answer(b"x" * 1000)), limits=ClientLimits(scan_bytes=2500)) as (
        transport,
        _,
    ):
        transport.get("/version")
        transport.get("/version")
        with pytest.raises(TooLarge) as caught:
            transport.get("/version")
    assert caught.value.code == "scan_too_large"


def test_bodies_under_way_at_one_moment_have_a_limit_together() -> None:  # T06
    gate = threading.Barrier(3)

    def script(_: Request, wire: Wire) -> None:
        wire.begin()
        wire.chunk(b"x" * 600_000)
        gate.wait(5)
        time.sleep(0.2)
        wire.chunk(b"x" * 600_000)
        wire.end()

    results: list[str] = []
    with speaking(script, limits=ClientLimits(in_flight_bytes=2 * 10**6)) as (transport, _):
        run_in_threads(3, lambda: results.append(code_of(lambda: transport.get("/version"))))
        assert "too_large" in results
        assert transport.meter.in_flight == 0


def code_of(call: Callable[[], object]) -> str:
    try:
        call()
    except ReadError as reason:
        return reason.code
    return "good"


def run_in_threads(count: int, what: Callable[[], object]) -> None:
    threads = [threading.Thread(target=what) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)


def test_several_threads_share_a_client() -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.answer(request.path.encode() * 1000)

    seen: list[bool] = []

    def ask(number: int) -> None:
        for _ in range(20):
            path = f"/api/v1/namespaces/n{number}"
            seen.append(bytes(transport.get(path).body) == path.encode() * 1000)

    with speaking(script) as (transport, _):
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert seen == [True] * 80


def test_a_packed_answer_is_unpacked() -> None:
    body = json.dumps({"a": ["b"] * 1000}).encode()
    with speaking(always(lambda wire: wire.answer(gzip.compress(body), Content_Encoding="gzip"))) as (transport, _):
        assert bytes(transport.get("/version").body) == body
        assert transport.meter.total == len(body)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"x" * 1000, mtime=0)[:-4], "gzip"),
        (gzip.compress(b"x" * 1000, mtime=0) + b"more", "gzip"),
        (b"not gzip", "gzip"),
        (b"", "gzip"),
        (b"{}", "br"),
        (b"{}", "gzip, gzip"),
    ],
)
def test_a_badly_packed_answer_is_garbled(body: bytes, encoding: str) -> None:
    script = always(lambda wire: wire.answer(body, Content_Encoding=encoding))
    assert outcome(failure(script)) == (InvalidResponse, "garbled")


def test_a_long_error_is_cut_and_cleaned() -> None:  # K09, T23
    text = "no\x00\x1b[31m\u202e Bearer abc.def " + "y" * 5_000_000
    body = json.dumps({"kind": "Status", "message": text}).encode()
    error = failure(always(lambda wire: wire.answer(body, status="422 Odd")))
    assert outcome(error) == (ServerFailed, "refused")
    assert len(error.message) < 400
    assert error.message.startswith("/version: HTTP 422: no\ufffd\ufffd[31m\ufffd Bearer (removed) yyy")


def test_an_answer_of_nothing_but_small_values_is_left() -> None:
    limits = ClientLimits(page_commas=1000)
    script = always(lambda wire: wire.answer(b'{"groups":[' + b"{}," * 1001 + b"{}]}"))
    assert outcome(failure(script, limits=limits)) == (TooLarge, "too_large")
