"""T06, R11: whatever a server does, a scan ends in time, in bounded memory, with a reason for every part."""

import gzip
import json
import resource
import time
from collections.abc import Callable

import pytest

from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.readiness.report import Collected
from migrations_app.use_cases.collect import parts
from migrations_app.use_cases.collect.collect import collect
from tests.clients.rig import HERE, connection
from tests.fakes.evilk8s import EvilServer, Request, Wire
from tests.servers.waiting import AT_ONCE

LIMITS = ClientLimits(
    connect_seconds=1,
    read_seconds=0.5,
    call_seconds=1,
    scan_seconds=4,
    slow_start_seconds=0.2,
    first_pause_seconds=0.01,
    longest_pause_seconds=0.02,
    retry_after_seconds=0.5,
    page_bytes=4 * MIB,
    in_flight_bytes=8 * MIB,
    scan_bytes=40 * MIB,
    pages=30,
)
BOMB = gzip.compress(b'{"kind": "PodList", "items": [' + b" " * (64 * MIB), 6)
TOLD_BY_OTHERS = {name for job in (*parts.FIRST, *parts.SECOND) if job.needs for name in job.gives}
VERSION = b'{"major": "1", "minor": "30", "gitVersion": "v1.30.1"}'


def endless(request: Request, wire: Wire) -> None:
    token = str(int(request.query.get("continue", "0")) + 1)
    wire.answer(json.dumps({"kind": "List", "metadata": {"continue": token}, "items": []}).encode())


def huge(_: Request, wire: Wire) -> None:
    wire.begin()
    while not wire.stop.is_set():
        wire.chunk(b" " * 65536)


def half(_: Request, wire: Wire) -> None:
    wire.begin()
    wire.chunk(b'{"kind": "PodList", "items": [')
    wire.cut()


def forgets(request: Request, wire: Wire) -> None:
    if "continue" in request.query:
        wire.answer(b"{}", status="410 Gone")
    else:
        wire.answer(b'{"kind": "List", "metadata": {"continue": "1"}, "items": []}')


EVIL: dict[str, tuple[Callable[[Request, Wire], None], set[str]]] = {
    "silence": (lambda _, wire: wire.hang(), {"timeout"}),
    "drip": (lambda _, wire: (wire.begin(), wire.drip(b"1\r\nx\r\n", every=0.02)), {"timeout"}),
    "dripping head": (lambda _, wire: wire.drip(b"HTTP/1.1 200 OK\r\nX: y\r\n", every=0.02), {"timeout", "garbled"}),
    "huge": (huge, {"too_large", "scan_too_large", "timeout"}),
    "bomb": (lambda _, wire: wire.answer(BOMB, Content_Encoding="gzip"), {"too_large", "scan_too_large", "timeout"}),
    "endless": (endless, {"endless_list", "timeout"}),
    "same page": (lambda _, wire: wire.answer(b'{"items": [], "metadata": {"continue": "x"}}'), {"endless_list"}),
    "forgets": (forgets, {"expired", "timeout"}),
    "cut": (lambda _, wire: wire.cut(), {"cut", "timeout"}),
    "half": (half, {"cut", "timeout"}),
    "brackets": (lambda _, wire: wire.answer(b"[" * 200_000), {"garbled"}),
    "nothing": (lambda _, wire: wire.answer(b""), {"garbled"}),
    "null": (lambda _, wire: wire.answer(b"null"), {"garbled"}),
    "nul bytes": (lambda _, wire: wire.answer(b"\x00" * 1000), {"garbled"}),
    "redirect": (lambda _, wire: wire.answer(b"", status="302 Found", Location="https://127.0.0.1:1/"), {"redirected"}),
    "overloaded": (lambda _, wire: wire.answer(b"", status="429 Slow", Retry_After="21600"), {"throttled", "timeout"}),
    "failing": (lambda _, wire: wire.answer(b"", status="500 Oops"), {"server_failed", "timeout"}),
    # Parts whose place a forbidden part tells are never asked for: a right for them would not help alone.
    "forbidden": (lambda _, wire: wire.answer(b"{}", status="403 No"), {"forbidden", "not_asked"}),
    "unauthorized": (lambda _, wire: wire.answer(b"{}", status="401 No"), {"unauthorized"}),
    "another language": (lambda _, wire: (wire.raw(b"220 smtp\r\n"), wire.cut()), {"garbled", "cut", "timeout"}),
}


def scanned(script: Callable[[Request, Wire], None]) -> Collected:
    """A scan of a server that tells its version and then does what the script does."""

    def told(request: Request, wire: Wire) -> None:
        wire.answer(VERSION) if request.path == "/version" else script(request, wire)

    with EvilServer(told) as evil:
        api = open_live(connection(evil), reach=HERE, limits=LIMITS)
        started = time.monotonic()
        found = collect(api, cluster="evil", deadline=LIMITS.scan_seconds)
        assert time.monotonic() - started < LIMITS.scan_seconds + AT_ONCE
        api.close()
    return found


@pytest.mark.parametrize("name", EVIL)
def test_a_hostile_server_costs_time_and_memory_within_limits(name: str) -> None:
    script, allowed = EVIL[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = scanned(script)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 100 * MIB
    reasons = {line.why for line in found.parts if not line.seen}
    assert reasons <= allowed
    assert reasons
    assert {line.name for line in found.parts if line.why == "not_asked"} <= TOLD_BY_OTHERS
    assert not found.complete
    assert [line.name for line in found.parts if line.seen and line.count] == ["version"]
