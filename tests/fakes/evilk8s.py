"""A hostile or broken API server on loopback: TLS, one thread a connection, and a script that writes raw bytes."""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.certificates import Authority, Pair

LOOPBACK = "127.0.0.1"
PATIENCE = 20.0
AUTHORITY = Authority("evil")
OTHER = Authority("other")
GOOD = AUTHORITY.issue(names=("kubernetes.test",))


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


@dataclass(slots=True)
class Wire:
    """The server's end of one connection."""

    socket: ssl.SSLSocket
    stop: threading.Event
    keep: bool = True

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, body: bytes = b"{}", *, status: str = "200 OK", **headers: str) -> None:
        """Sends a whole, well-formed answer."""
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.raw(head(status, fields) + body)

    def begin(self, status: str = "200 OK", **headers: str) -> None:
        """Sends the head of an answer whose body comes in chunks."""
        fields = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        self.raw(head(status, fields | {name.replace("_", "-"): value for name, value in headers.items()}))

    def chunk(self, data: bytes) -> None:
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.raw(b"0\r\n\r\n")

    def drip(self, data: bytes, *, every: float, most: float = PATIENCE) -> None:
        """Sends the bytes one by one, until the client has closed the connection."""
        for number in range(int(most / every)):
            if self.stop.wait(every):
                return
            self.raw(data[number % len(data) :][:1])

    def hang(self) -> None:
        """Sends nothing more and keeps the connection open."""
        self.stop.wait(PATIENCE)

    def cut(self) -> None:
        """Closes the connection without a TLS close."""
        self.keep = False
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.socket.close()


def head(status: str, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


Script = Callable[[Request, Wire], None]


@dataclass(slots=True)
class EvilServer:
    """A context manager that runs the script for each request, and keeps the requests."""

    script: Script
    pair: Pair = GOOD
    tls: bool = True
    client_ca: str = ""
    place: tuple[str, int] = (LOOPBACK, 0)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _listener: socket.socket = field(default_factory=socket.socket)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _connected: set[socket.socket] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self._listener.bind(self.place)
        self._listener.listen(64)
        self.port = self._listener.getsockname()[1]
        self._run(self._accept, self._context())  # made here: what a test takes away later is still there
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        # A client may keep its connection open: nothing more of it is read. What is being answered is answered.
        for connected in tuple(self._connected):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RD)  # that of TLS would end the writing too
        for thread in self._threads:
            thread.join(PATIENCE)

    def _run(self, what: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=what, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, context: ssl.SSLContext) -> None:
        while not self._stop.is_set():
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._run(self._serve, context, plain)

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        descriptor = os.memfd_create("served")
        os.write(descriptor, (self.pair.certificate + self.pair.key).encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        os.close(descriptor)
        if self.client_ca:
            context.load_verify_locations(cadata=self.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _serve(self, context: ssl.SSLContext, plain: socket.socket) -> None:
        plain.settimeout(PATIENCE)
        with contextlib.suppress(OSError):  # the client is perhaps gone already
            # The first answer would wait for the client's word that it has the tickets of TLS: 40 ms, each time.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, ValueError), plain:
            if not self.tls:
                plain.recv(1)
                plain.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                return
            with context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as wrapped:
                self._connected.add(wrapped)
                if not self._stop.is_set():
                    wrapped.do_handshake()
                    self._talk(wrapped)
                self._connected.discard(wrapped)

    def _talk(self, wrapped: ssl.SSLSocket) -> None:
        wire = Wire(wrapped, self._stop)
        with wrapped.makefile("rb") as lines:
            while wire.keep and not self._stop.is_set():
                request = _read(lines)
                if request is None:
                    return
                self.requests.append(request)
                self.script(request, wire)


def _read(lines: object) -> Request | None:
    first = lines.readline()  # type: ignore[attr-defined]  # a buffered reader
    if not first:
        return None
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := lines.readline()) not in (b"\r\n", b""):  # type: ignore[attr-defined]  # as above
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = lines.read(int(headers.get("content-length", 0)))  # type: ignore[attr-defined]  # as above
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
