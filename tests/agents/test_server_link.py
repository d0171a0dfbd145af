"""The agent's way to its server: checked TLS, the proxy of the environment, no redirect, no plain http beyond here."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from migrations_app.clients.agents.protocol import AgentCalls, AgentPoll
from migrations_app.clients.agents.server_link import ServerLink
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, InvalidResponse, ReadError, ServerFailed, TlsRefused, Unreachable
from tests.agents.rig import Site, site_at, wait_for_end, wait_for_line
from tests.fakes.certificates import Authority
from tests.installations.slow_cluster import SlowCluster
from tests.servers.receiver import Receiver

TOKEN = "kd_canary-of-the-agent"


class Proxy(ThreadingHTTPServer):
    """A proxy that passes connections on; `seen` is all that it could read."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.seen: list[str] = []
        self.url = f"http://user:word@127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """An agent that ends the conversation is no news here."""


class _Passing(BaseHTTPRequestHandler):
    server: Proxy

    def do_CONNECT(self) -> None:
        self.server.seen += [self.path, str(self.headers.get("Proxy-Authorization")), str(self.headers)]
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self._pass, args=(there, self.connection), daemon=True)
            back.start()
            self._pass(self.connection, there)
            back.join()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while some := one.recv(65536):
                self.server.seen.append(some.decode("latin-1"))
                other.sendall(some)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def log_message(self, *_: object) -> None:
        """Nothing is written."""


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    found = Receiver(tmp_path)
    yield found
    found.stop()


@pytest.fixture
def agents(receiver: Receiver, tmp_path: Path) -> Iterator[Site]:
    """Agents whose server is the receiver."""
    with site_at(at(receiver), tmp_path) as found:
        yield found


def at(receiver: Receiver) -> str:
    return f"https://localhost:{receiver.server_address[1]}"


def failure(link: ServerLink) -> ReadError:
    with pytest.raises(ReadError) as caught:
        link.ask("poll", AgentPoll(1), kind=AgentCalls)
    return caught.value


def test_the_token_goes_to_a_server_whose_certificate_holds(receiver: Receiver) -> None:  # K02
    link = ServerLink(at(receiver), Secret(TOKEN), ca_file=Path(receiver.trust))
    assert isinstance(failure(link), InvalidResponse)  # the receiver says nothing that an agent understands
    assert [headers["Authorization"] for headers, _ in receiver.got] == [f"Bearer {TOKEN}"]


def test_a_server_that_cannot_prove_itself_gets_nothing(receiver: Receiver, tmp_path: Path) -> None:  # K02
    (tmp_path / "other.pem").write_text(Authority().pem)
    unknown = ServerLink(at(receiver), Secret(TOKEN))
    other = ServerLink(at(receiver), Secret(TOKEN), ca_file=tmp_path / "other.pem")
    assert (type(failure(unknown)), type(failure(other)), receiver.got) == (TlsRefused, TlsRefused, [])


def test_a_redirect_is_refused_and_ends_the_agent(receiver: Receiver, agents: Site) -> None:  # K04
    receiver.answer = 302
    with SlowCluster() as cluster:
        agent = agents.start(agents.token_file("far", TOKEN), cluster.kubeconfig, "--ca-file", receiver.trust)
        code, log = wait_for_end(agent)
    assert (code, "the server redirects to" in log, "use the final URL" in log) == (3, True, True)
    assert [headers["Authorization"] for headers, _ in receiver.got] == [f"Bearer {TOKEN}"]


def test_a_failing_server_is_asked_again(receiver: Receiver, agents: Site) -> None:
    receiver.answer = 502
    with SlowCluster() as cluster:
        agent = agents.start(agents.token_file("far", TOKEN), cluster.kubeconfig, "--ca-file", receiver.trust)
        wait_for_line(agent, "HTTP 502, not from karpdash")
        receiver.answer = 302
        assert wait_for_end(agent)[0] == 3


def test_the_proxy_of_the_environment_sees_a_tunnel_and_no_token(receiver: Receiver, agents: Site) -> None:  # K04
    receiver.answer = 302
    proxy = Proxy()
    with SlowCluster() as cluster:
        words = ("--ca-file", receiver.trust)
        token = agents.token_file("far", TOKEN)
        agent = agents.start(token, cluster.kubeconfig, *words, env={"HTTPS_PROXY": proxy.url})
        assert wait_for_end(agent)[0] == 3
    proxy.shutdown()
    proxy.server_close()
    assert proxy.seen[:2] == [f"localhost:{receiver.server_address[1]}", "Basic dXNlcjp3b3Jk"]
    assert (len(receiver.got), TOKEN in "".join(proxy.seen)) == (1, False)


def test_a_proxy_that_refuses_is_told(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    found = failure(ServerLink(at(receiver), Secret(TOKEN), ca_file=Path(receiver.trust)))
    assert (type(found), found.code, receiver.got) == (Unreachable, "proxy", [])


def test_a_host_of_no_proxy_is_reached_directly(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost")
    receiver.answer = 502
    assert isinstance(failure(ServerLink(at(receiver), Secret(TOKEN), ca_file=Path(receiver.trust))), ServerFailed)


@pytest.mark.parametrize(
    "url",
    [
        "http://karpdash.example.com", "http://localhost:8000", "http://192.0.2.1", "ftp://192.0.2.1", "karpdash",
        "https://user:word@karpdash.example.com", "https://karpdash.example.com/?a=1", "https://", "https://x:99999999",
    ],
)  # fmt: skip
def test_urls_that_no_agent_dials(url: str) -> None:
    with pytest.raises(InvalidInput):
        ServerLink(url, Secret(TOKEN))
