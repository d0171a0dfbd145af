"""A TLS proxy in front of an API server that loses, holds, delays or repeats the requests that a test names."""

import base64
import http.client
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml

from tests.servers.apiserver import ApiServer
from tests.servers.pki import Authority
from tests.servers.processes import discard, folder

What = Literal["pass", "lose_request", "lose_answer", "cut_answer", "hold", "delay", "twice", "answer"]
_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "host"}
HOLD_SECONDS = 60.0


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` requests of that method whose path matches.

    `lose_request`: it never arrives. `lose_answer`: it arrives, its answer does not. `cut_answer`: half of the answer
    arrives. `hold`: it waits, even if the client has gone, until `let_go` is set. `answer`: the proxy answers with
    `status`, `body` and `headers`. `done` is set each time after the server has received the request, or not.
    """

    what: What
    method: str
    path: str
    times: int = 1
    seconds: float = 0.0
    status: int = 500
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    let_go: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    told: list[int] = field(default_factory=list)
    """The statuses of the real server, for each request that was passed on."""


@dataclass(slots=True, frozen=True)
class _Reply:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultProxy:
    """A running proxy. `server` may be replaced by another one while clients keep the same address."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._authority = Authority("tests proxy CA")
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._folder = folder("proxy")
        self._listener = _Listener(("127.0.0.1", 0), _handler(self))
        self._listener.socket = self._context().wrap_socket(
            self._listener.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://127.0.0.1:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        for fault in self._faults:
            fault.let_go.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join(10)
        discard(self._folder)

    def add(self, what: What, method: str, path: str, **more: Any) -> Fault:
        """Applies that fault to the next request that matches."""
        fault = Fault(what, method, path, **more)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Removes all faults."""
        with self._lock:
            self._faults = []

    def kubeconfig(self, token: str) -> str:
        """Returns a kubeconfig of the real server through this proxy."""
        document = yaml.safe_load(self.server.kubeconfig(token))
        authority = base64.b64encode(self._authority.pem.encode()).decode()
        document["clusters"][0]["cluster"] = {"server": self.url, "certificate-authority-data": authority}
        return yaml.safe_dump(document)

    def fault_for(self, method: str, path: str) -> Fault | None:
        """Returns the fault for this request and counts it down; None: the request passes."""
        with self._lock:
            for fault in self._faults:
                if fault.times > 0 and fault.method == method and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    def forward(self, method: str, path: str, *, headers: dict[str, str], body: bytes | None) -> _Reply:
        """Sends the request to the real server and returns its answer."""
        address = urlsplit(self.server.url)
        tls = ssl.create_default_context(cadata=self.server.ca_pem)
        connection = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=60, context=tls)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return _Reply(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def _context(self) -> ssl.SSLContext:
        certificate, key = self._authority.server()
        pair = Path(self._folder) / "proxy.pem"
        pair.write_text(certificate + key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair)
        return context


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignores clients that have gone, or whose connection was cut on purpose."""


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            headers = {name: text for name, text in self.headers.items() if name.lower() not in _HOP}
            fault = proxy.fault_for(self.command, self.path)

            def forward() -> _Reply:
                reply = proxy.forward(self.command, self.path, headers=headers, body=body)
                if fault is not None:
                    fault.told.append(reply.status)
                return reply

            reply = _met(fault, forward)
            if fault is not None:
                fault.done.set()
            self._answer(reply, cut=fault is not None and fault.what == "cut_answer")

        def _answer(self, reply: _Reply | None, *, cut: bool) -> None:
            self.close_connection = self.close_connection or reply is None or cut
            if reply is None:
                return
            self.send_response_only(reply.status)
            for name, text in reply.headers:
                if name.lower() not in _HOP:
                    self.send_header(name, text)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)

        def log_message(self, *_: object) -> None:
            return

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

    return Handler


def _met(fault: Fault | None, forward: Callable[[], _Reply]) -> _Reply | None:
    """Returns the answer to send; None: the connection ends without one."""
    if fault is None:
        return forward()
    fault.reached.set()
    match fault.what:
        case "lose_request":
            return None
        case "lose_answer":
            forward()
            return None
        case "hold":
            fault.let_go.wait(HOLD_SECONDS)
            return forward()
        case "delay":
            time.sleep(fault.seconds)
            return forward()
        case "twice":
            forward()
            return forward()
        case "answer":
            return _Reply(fault.status, [("Content-Type", "application/json"), *fault.headers.items()], fault.body)
        case "pass" | "cut_answer":
            return forward()
