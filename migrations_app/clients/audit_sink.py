"""Delivers audit checkpoints to an append-only file or by one POST request; both time out after two seconds (R30)."""

import ipaddress
import os
import queue
import socket
import ssl
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver, resolve
from migrations_app.clients.secret import Secret
from migrations_app.errors import AddressRefused, InvalidResponse, ServerFailed, TimedOut, TlsRefused, Unreachable

SECONDS = 2.0
_HEAD = 4096
_RECORD = 16_384
_NO_TOKEN = Secret("")
_stuck: dict[str, threading.Thread] = {}
"""Writer threads that did not return in time, by path: a later write to that path fails at once instead of waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sinks:
    """Where checkpoints are sent besides the database; an empty string means that this sink is off."""

    file: str = ""
    url: str = ""
    token: Secret = _NO_TOKEN

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(target for target in (f"file:{self.file}" if self.file else "", self.url) if target)


def append(path: str, lines: bytes, *, seconds: float = SECONDS) -> None:
    """Appends the lines and syncs them to disk. Raises Unreachable, or TimedOut if the disk hangs."""
    if path in _stuck and _stuck[path].is_alive():
        raise TimedOut("the file did not answer in time, and still does not")
    told: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()
    writer = threading.Thread(target=lambda: told.put(_append(path, lines)), name="audit file", daemon=True)
    writer.start()
    try:
        wrong = told.get(timeout=seconds)
    except queue.Empty:
        _stuck[path] = writer
        raise TimedOut("the file did not answer in time") from None
    if wrong is not None:
        raise Unreachable(f"the file can not be written: {wrong.strerror}", code="sink_unwritable")


def _append(path: str, lines: bytes) -> OSError | None:
    # Without O_NONBLOCK, opening a pipe without a reader would block for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o640)
    except OSError as wrong:
        return wrong
    try:
        _write_all(descriptor, lines)
    except OSError as wrong:
        return wrong
    finally:
        os.close(descriptor)
    return None


def _write_all(descriptor: int, lines: bytes) -> None:
    left = memoryview(lines)
    while left:
        left = left[os.write(descriptor, left) :]
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fsync(descriptor)


def post(url: str, lines: bytes, *, token: Secret, reach: OutboundPolicy, seconds: float = SECONDS,
         resolver: Resolver = ask_resolver) -> None:  # fmt: skip
    """Sends the lines; any 2xx status means received. Redirects are not followed and no proxy is used (K02, K04, K05).

    Raises ReadError: AddressRefused, TlsRefused, TimedOut, Unreachable, ServerFailed, InvalidResponse.
    """
    exchange(url, _request(urlsplit(url), lines, token=token), reach=reach, seconds=seconds, resolver=resolver)


def exchange(
    url: str, request: bytes, *, reach: OutboundPolicy, seconds: float, resolver: Resolver = ask_resolver
) -> None:
    """Sends a complete request to a checked address and returns on a 2xx status. Raises the same errors as `post`."""
    ends = time.monotonic() + seconds
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    addresses = resolve(host, port, reach=reach, seconds=seconds, resolver=resolver)
    if parts.scheme != "https" and not all(ipaddress.ip_address(address).is_loopback for address in addresses):
        raise AddressRefused("plain http is only spoken inside this machine")
    left = _clock(ends)
    try:
        with socket.create_connection((addresses[0], port), timeout=left()) as plain:
            if parts.scheme != "https":
                status = _asked(plain, request, left=left)
            else:
                plain.settimeout(left())
                with _context().wrap_socket(plain, server_hostname=host) as safe:
                    status = _asked(safe, request, left=left)
    except TimeoutError:
        raise TimedOut("the sink did not answer in time") from None
    except ssl.SSLError:
        raise TlsRefused("the sink's certificate is not trusted, or it does not speak TLS") from None
    except OSError as wrong:
        raise Unreachable(f"the sink does not answer: {wrong.strerror or 'connection lost'}") from None
    if not 200 <= status < 300:
        raise ServerFailed(f"the sink answered {status}", code=f"sink_{status}")


def _clock(ends: float) -> Callable[[], float]:
    def left() -> float:
        seconds = ends - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the time for the sink is over")
        return seconds

    return left


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _request(parts: SplitResult, lines: bytes, *, token: Secret) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "User-Agent: karpdash audit",
        "Content-Type: application/x-ndjson",
        f"Content-Length: {len(lines)}",
        "Connection: close",
        *([f"Authorization: Bearer {token.reveal()}"] if token else []),
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + lines


def _asked(line: socket.socket, request: bytes, *, left: Callable[[], float]) -> int:
    """The status code of the response; the rest is not read. Every wait counts against the same deadline."""
    # Over TLS the timeout of sendall restarts with each record, so a slow reader could delay it without end.
    for start in range(0, len(request), _RECORD):
        line.settimeout(left())
        line.sendall(request[start : start + _RECORD])
    head = b""
    while b"\n" not in head and len(head) < _HEAD:
        line.settimeout(left())
        more = line.recv(_HEAD)
        if not more:
            break
        head += more
    if not head:
        raise Unreachable("the sink closed the connection")
    version, _, rest = head.partition(b"\n")[0].partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or len(status) != 3 or not status.isdigit():
        raise InvalidResponse("the sink's answer is no HTTP")
    return int(status)
