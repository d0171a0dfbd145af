"""A real HTTPS server that receives notifications, correctly or with faults."""

import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.fakes.certificates import Authority


class Receiver(ThreadingHTTPServer):
    """`got` holds headers and body of each POST, `asked` method and path of each request.

    `answer` is the status of a POST, or a function called with the handler instead. `found` has status and body for
    each path that is read; others are a 404.
    """

    daemon_threads = True
    answer: int | Callable[[BaseHTTPRequestHandler], None]

    def __init__(self, folder: Path, *, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Taking)
        authority = Authority()
        pair = authority.issue(names=["localhost"])
        (folder / "ca.pem").write_text(authority.pem)
        (folder / "server.pem").write_text(pair.certificate + pair.key)
        self.trust = str(folder / "ca.pem")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.pem")
        self.socket = self.context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://{host}:{self.server_address[1]}/hook?x=1"
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.asked: list[str] = []
        self.found: dict[str, tuple[int, bytes]] = {}
        self.answer = 200
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, *_: object) -> None:
        """Ignores a sender that closes the connection."""


class _Taking(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        self.server.asked.append(f"POST {self.path}")
        if callable(self.server.answer):
            self.server.answer(self)
            return
        self.send_response(self.server.answer)
        self.send_header("Location", "https://169.254.169.254/latest/meta-data/")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.asked.append(f"GET {self.path}")
        status, body = self.server.found.get(self.path.partition("?")[0], (404, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def hangs(handler: BaseHTTPRequestHandler) -> None:
    """Sends nothing until the test is over."""
    handler.server.stopped.wait(60)  # type: ignore[attr-defined]  # a Receiver


def drips(handler: BaseHTTPRequestHandler) -> None:
    """Sends a status line that never ends, one character at a time."""
    while not handler.server.stopped.is_set():  # type: ignore[attr-defined]  # a Receiver
        handler.wfile.write(b"H")
        handler.wfile.flush()
        time.sleep(0.1)


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Sends a correct answer whose body never ends."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.stopped.is_set():  # type: ignore[attr-defined]  # a Receiver
        handler.wfile.write(b"canary-body " * 10_000)


def garbled(handler: BaseHTTPRequestHandler) -> None:
    """Sends bytes that are not HTTP."""
    handler.wfile.write(b"\x00\xffcanary-body\r\n")


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    """Closes the connection without an answer."""
    handler.connection.close()
