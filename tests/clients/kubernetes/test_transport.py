"""K13, K16, K17, T23: what is sent, what is kept, what is never shown."""

import logging
import subprocess
import sys

import pytest

from migrations_app.clients.kubernetes.connection import Server
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, InvalidResponse, Unreachable
from tests.clients.kubernetes.rig import CANARY, FAST, HERE, always, connection, speaking
from tests.fakes.evilk8s import LOOPBACK, EvilServer, Request, Wire
from tests.house.measures import ROOT


def test_a_good_answer_is_read_and_counted() -> None:
    script = always(lambda wire: wire.answer(b'{"a": 1}', Date="Fri, 02 Jan 2026 03:04:05 GMT", Audit_Id="x1"))
    with speaking(script) as (transport, evil):
        answer = transport.get("/version")
        meter = transport.meter
    assert (bytes(answer.body), answer.audit_id) == (b'{"a": 1}', "x1")
    assert (meter.requests, meter.total, meter.in_flight, meter.server_date) == (1, 8, 0, "2026-01-02T03:04:05Z")
    assert evil.requests[0].path == "/version"


def test_requests_are_counted_by_verb_and_status() -> None:
    def script(request: Request, wire: Wire) -> None:
        if request.method == "POST":
            wire.answer(status="201 Created")
        elif request.path == "/gone":
            wire.cut()
        else:
            wire.answer(status="403 Forbidden" if "pods" in request.path else "200 OK")

    with speaking(script) as (transport, _):
        transport.get("/version")
        transport.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {})
        with pytest.raises(Forbidden):
            transport.get("/api/v1/pods", verb="list")
        with pytest.raises(Unreachable):
            transport.get("/gone")
        counted = dict(transport.meter.calls)
    lost = counted.pop(("get", "none"))
    assert counted == {("get", "200"): 1, ("create", "201"): 1, ("list", "403"): 1}
    assert lost == FAST.tries


def test_the_connection_is_kept_for_the_next_call() -> None:
    with speaking(always(lambda wire: wire.answer())) as (transport, evil):
        for _ in range(5):
            transport.get("/version")
    assert (len(evil.requests), evil.connections) == (5, 1)


def test_a_refusal_with_a_short_body_keeps_the_connection() -> None:
    def script(_: Request, wire: Wire) -> None:
        wire.answer(b'{"message": "no"}', status="403 Forbidden")

    with speaking(script) as (transport, evil):
        for _ in range(3):
            with pytest.raises(Forbidden):
                transport.get("/api/v1/pods", verb="list")
    assert (len(evil.requests), evil.connections) == (3, 1)


def test_who_we_are_is_said_in_the_headers() -> None:  # K16
    with speaking(always(lambda wire: wire.answer())) as (transport, evil):
        transport.get("/version")
    headers = evil.requests[0].headers
    assert headers["authorization"] == f"Bearer {CANARY}"
    assert headers["user-agent"].startswith("karpdash/")
    assert headers["user-agent"].endswith(" scan attempt=1")
    assert headers["host"] == f"{LOOPBACK}:{evil.port}"


def test_a_token_source_is_asked_for_each_call() -> None:
    tokens = iter(["one", "two"])
    with EvilServer(always(lambda wire: wire.answer())) as evil:
        transport = Transport(connection(evil), reach=HERE, limits=FAST, token=lambda: Secret(next(tokens)))
        transport.get("/version")
        transport.get("/version")
        transport.close()
    assert [request.headers["authorization"] for request in evil.requests] == ["Bearer one", "Bearer two"]


def test_a_closed_client_sends_nothing() -> None:
    with speaking(always(lambda wire: wire.answer())) as (transport, evil):
        transport.close()
        transport.close()
        with pytest.raises(Unreachable) as caught:
            transport.get("/version")
    assert (caught.value.code, evil.requests) == ("closed", [])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "version",
        "//version",
        "/api/../version",
        "/api/v1/pods/.",
        "/a?b=c",
        "/a#b",
        "/a b",
        "/a\r\nX: y",
        "/%2e",
        "/é",
    ],
)
def test_a_path_that_no_server_has_is_not_sent(path: str) -> None:
    with speaking(always(lambda wire: wire.answer())) as (transport, evil), pytest.raises(InvalidResponse) as caught:
        transport.get(path)
    assert (caught.value.code, evil.connections) == ("bad_path", 0)


def test_a_path_prefix_of_a_front_end_is_kept() -> None:
    with EvilServer(always(lambda wire: wire.answer())) as evil:
        behind = connection(evil, server=Server(LOOPBACK, evil.port, "/k8s/clusters/c-1"))
        transport = Transport(behind, reach=HERE, limits=FAST)
        transport.get("/version")
        transport.close()
    assert evil.requests[0].path == "/k8s/clusters/c-1/version"


def test_no_token_or_body_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:  # K17
    caplog.set_level(logging.DEBUG)
    with speaking(always(lambda wire: wire.answer(b"canary-body"))) as (transport, _):
        transport.get("/version")
    printed = capfd.readouterr()
    everything = caplog.text + printed.out + printed.err
    assert CANARY not in everything
    assert "canary-body" not in everything


def test_no_token_is_in_what_can_be_shown() -> None:  # T23
    with EvilServer(always(lambda wire: wire.cut())) as evil:
        shown = connection(evil)
        transport = Transport(shown, reach=HERE, limits=FAST)
        with pytest.raises(Unreachable) as caught:
            transport.get("/version")
        transport.close()
    assert CANARY not in repr((shown, caught.value, vars(transport)))


def test_threads_that_open_the_first_transports_together() -> None:
    """The official client is imported by the first transport; its modules import each other."""
    program = (
        "import threading\n"
        "from migrations_app.clients.kubernetes.round_tripper import _client\n"
        "failed, ready = [], threading.Barrier(8)\n"
        "def load():\n"
        "    ready.wait()\n"
        "    try:\n"
        "        _client()\n"
        "    except ImportError as wrong:\n"
        "        failed.append(wrong)\n"
        "threads = [threading.Thread(target=load) for _ in range(8)]\n"
        "[one.start() for one in threads]\n"
        "[one.join() for one in threads]\n"
        "assert failed == [], failed\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60, cwd=ROOT)
