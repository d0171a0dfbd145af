"""The guarded client: audit sink, webhooks, chart registry and identity provider keep the same bounds (T03)."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from migrations_app.clients import audit_sink, identity_provider, webhooks
from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.helm.charts import pull_chart
from migrations_app.clients.http import CallBounds, send
from migrations_app.clients.kubernetes.connection import Server
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.secret import Secret
from migrations_app.errors import (
    AddressRefused,
    InvalidResponse,
    ReadError,
    ServerFailed,
    TimedOut,
    TlsRefused,
    TooLarge,
    Unreachable,
)
from tests.clients.kubernetes.rig import FAST, HERE, always
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, OTHER, EvilServer, Request, Wire

Use = Callable[[EvilServer, OutboundPolicy], object]


def to_audit_sink(server: EvilServer, reach: OutboundPolicy) -> object:
    return audit_sink.post(f"{server.url}/in?x=1", b"{}\n", token=Secret("t"), reach=reach, seconds=1.0)


def to_webhook(server: EvilServer, reach: OutboundPolicy) -> object:
    return webhooks.post(f"{server.url}/in?x=1", b"[]", headers={}, reach=reach)


def to_registry(server: EvilServer, reach: OutboundPolicy) -> object:
    return pull_chart(Server(LOOPBACK, server.port, "/k"), "karpenter", tag="1.0.9", reach=reach, limits=FAST)


def to_provider(server: EvilServer, reach: OutboundPolicy) -> object:
    return identity_provider.discover(server.url, reach=reach)


USES: dict[str, Use] = {
    "audit sink": to_audit_sink, "webhook": to_webhook, "chart registry": to_registry, "identity provider": to_provider,
}  # fmt: skip


@pytest.fixture(autouse=True)
def trusted(tmp_path, monkeypatch) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(identity_provider, "TIMEOUT_SECONDS", 1.0)


@pytest.fixture(params=USES.values(), ids=USES)
def use(request: pytest.FixtureRequest) -> Use:
    return request.param  # type: ignore[no-any-return]  # of the table above


def failed(use: Use, script: Callable[[Request, Wire], None], *, reach: OutboundPolicy = HERE) -> ReadError:
    with EvilServer(script) as server, pytest.raises(ReadError) as caught:
        use(server, reach)
    return caught.value


def test_an_address_that_is_refused_is_not_connected_to(use):  # K05
    with EvilServer(always(Wire.answer)) as server, pytest.raises(AddressRefused):
        use(server, OutboundPolicy())
    assert server.connections == 0


def test_a_server_that_hangs_is_given_up(use):  # K06
    assert type(failed(use, always(Wire.hang))) is TimedOut


def test_a_head_that_drips_is_given_up(use):  # K06
    assert type(failed(use, always(lambda wire: wire.drip(b"HTTP/1.1 200 OK\r\nX: ", every=0.2)))) is TimedOut


def test_headers_without_end_are_given_up(use):  # K06, K09
    def script(_request: Request, wire: Wire) -> None:
        while True:
            wire.raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)

    assert type(failed(use, script)) in (TooLarge, TimedOut)


def test_a_redirect_is_not_followed(use):  # K04
    script = always(lambda wire: wire.answer(status="302 Found", Location="https://127.0.0.1:1/"))
    with EvilServer(script) as server, pytest.raises((ServerFailed, InvalidResponse)):
        use(server, HERE)
    assert len(server.requests) == 1


def test_a_certificate_of_another_authority_is_refused(use, tmp_path):  # K02
    (tmp_path / "ca.pem").write_text(OTHER.pem)
    with EvilServer(always(Wire.answer)) as server, pytest.raises(TlsRefused):
        use(server, HERE)
    assert server.requests == []


def test_a_proxy_of_the_surroundings_is_not_used(use, monkeypatch):  # K04
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with EvilServer(always(lambda wire: wire.answer(status="503 Down"))) as server, pytest.raises(ServerFailed):
        use(server, HERE)
    assert [one.headers["host"] for one in server.requests] == [f"{LOOPBACK}:{server.port}"]


def test_what_is_no_http_is_told_as_such(use):
    assert type(failed(use, always(lambda wire: wire.raw(b"\0\1 nonsense\r\n\r\n")))) is InvalidResponse


def test_a_connection_that_ends_without_a_word_is_told(use):
    assert type(failed(use, always(Wire.cut))) is Unreachable


@pytest.mark.parametrize("name", ["chart registry", "identity provider"])
def test_a_body_without_end_is_given_up(name):  # K09
    def script(_request: Request, wire: Wire) -> None:
        wire.begin()
        while True:
            wire.chunk(b" " * 65_536)

    assert type(failed(USES[name], script)) is TooLarge


@pytest.mark.parametrize("name", ["chart registry", "identity provider"])
def test_a_body_that_drips_is_given_up(name):  # K06
    def script(_request: Request, wire: Wire) -> None:
        wire.begin()
        wire.drip(b"1\r\n \r\n", every=0.05)

    assert type(failed(USES[name], script)) is TimedOut


@pytest.mark.parametrize("name", ["audit sink", "webhook"])
def test_the_body_of_a_receivers_answer_is_not_read(name):
    def script(_request: Request, wire: Wire) -> None:
        wire.begin("202 Accepted")
        while True:
            wire.chunk(b" " * 65_536)

    with EvilServer(script) as server:
        USES[name](server, HERE)


# The client itself.


def bounds(**changes: object) -> CallBounds:
    given = {"server": "test", "reach": HERE, "ends": time.monotonic() + 1.0, "most": 100, "limits": ClientLimits()}
    return CallBounds(**(given | changes))  # type: ignore[arg-type]  # mixed on purpose


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A listener that completes connections, reads nothing and says nothing."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        yield listener


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("body", [b"", b"x" * 20_000_000])
def test_one_deadline_covers_handshake_sending_and_waiting(silent, scheme, body):  # K06
    url = f"{scheme}://{LOOPBACK}:{silent.getsockname()[1]}/"
    with pytest.raises(TimedOut, match=r"^test: "):
        send("POST", url, bounds=bounds(ends=time.monotonic() + 0.5), headers={}, body=body)


def read_slowly(listener: socket.socket, context: ssl.SSLContext, stopped: threading.Event) -> None:
    plain, _ = listener.accept()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as wrapped:
        while not stopped.wait(0.05):
            wrapped.recv(1024)


def test_a_server_that_reads_slowly_over_tls_is_given_up(silent):  # K06
    stopped = threading.Event()
    with EvilServer(always(Wire.answer)) as server:
        thread = threading.Thread(target=read_slowly, args=(silent, server._context(), stopped))
        thread.start()
        url = f"https://{LOOPBACK}:{silent.getsockname()[1]}/"
        with pytest.raises(TimedOut):
            send("POST", url, bounds=bounds(), headers={}, body=b"x" * 20_000_000)
        stopped.set()
        thread.join()


def test_a_deadline_that_is_over_asks_nobody():  # K06
    asked: list[str] = []
    over = bounds(ends=time.monotonic() - 1, resolver=lambda host, _port: asked.append(host) or ["127.0.0.1"])
    with pytest.raises(TimedOut):
        send("GET", "https://a.example/", bounds=over, headers={})
    assert asked == []


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1"])
def test_plain_http_goes_to_loopback_addresses_only(address):  # K02
    anywhere = OutboundPolicy(allow_loopback=True, allowed=("0.0.0.0/0",))
    given = bounds(reach=anywhere, resolver=lambda _host, _port: [address])
    with pytest.raises(AddressRefused, match="plain http"):
        send("GET", "http://a.example/", bounds=given, headers={})


def test_one_refused_address_of_many_refuses_the_host():  # K05
    given = bounds(resolver=lambda _host, _port: ["127.0.0.1", "169.254.169.254"])
    with pytest.raises(AddressRefused):
        send("GET", "https://localhost/", bounds=given, headers={})


@pytest.mark.parametrize("status", ["204 No Content", "404 Not Found", "500 Error"])
def test_only_the_body_of_200_is_read(status):
    with EvilServer(always(lambda wire: wire.answer(b"", status=status, X_Told="yes"))) as server:
        found = send("GET", f"{server.url}/a/b?c=d", bounds=bounds(), headers={"X-A": "b"})
    assert (found.status, found.headers["X-Told"], found.body) == (int(status[:3]), "yes", b"")
    assert (server.requests[0].path, server.requests[0].query, server.requests[0].headers["x-a"]) == (
        "/a/b", {"c": "d"}, "b",
    )  # fmt: skip


@pytest.mark.parametrize(("size", "fits"), [(100, True), (101, False)])
def test_a_body_is_as_long_as_it_may_be(size, fits):  # K09
    with EvilServer(always(lambda wire: wire.answer(b"x" * size))) as server:
        if fits:
            assert send("GET", server.url, bounds=bounds(), headers={}).body == b"x" * size
        else:
            with pytest.raises(TooLarge):
                send("GET", server.url, bounds=bounds(), headers={})
