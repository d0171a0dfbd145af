"""TLS sockets with a deadline for the whole response (K06), and the TLS context for a registered CA (K02, K03).

A normal read timeout restarts with every byte, so one byte a second would run for ever. Here each read may wait
only until the response's deadline, or until the body falls below the minimum rate. The context trusts only the
registered CA, is built from memory, and cannot be disabled.
"""

import os
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.errors import TlsRefused, TooLarge

HEADER_ROOM = MIB
"""Bytes allowed beyond the body limit for headers, chunk sizes and TLS, so that endless headers are stopped."""


class ResponseDeadline:
    """The deadline and the byte count of one response."""

    __slots__ = ("_ends", "_left", "_rate", "_received", "_slow_start", "_started")

    def __init__(self, limits: ClientLimits, *, ends: float) -> None:
        self._ends = ends
        self._left = limits.page_bytes + HEADER_ROOM
        self._rate = limits.bytes_per_second
        self._slow_start = limits.slow_start_seconds
        self._received = 0
        self._started: float | None = None

    def begin_body(self) -> None:
        """Starts the rate measurement: a server may take its time before the first byte of a large list."""
        self._started = time.monotonic()
        self._received = 0

    def seconds_left(self) -> float:
        """Seconds that the next read may take. Raises TimeoutError if none are left."""
        until = self._ends
        if self._started is not None:
            until = min(until, self._started + self._slow_start + self._received / self._rate)
        seconds = until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the answer was too slow")
        return seconds

    def add_bytes(self, count: int) -> None:
        self._received += count
        self._left -= count
        if self._left < 0:
            raise TooLarge("the answer is larger than the limit of a page")


_deadline: ContextVar[ResponseDeadline | None] = ContextVar("deadline", default=None)


@contextmanager
def with_deadline(deadline: ResponseDeadline) -> Iterator[ResponseDeadline]:
    """Applies the deadline to every DeadlineSocket read by this thread until the block ends."""
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


def current_deadline() -> ResponseDeadline:
    """The deadline of this thread. Raises LookupError outside of `with_deadline`."""
    deadline = _deadline.get()
    if deadline is None:
        raise LookupError("no deadline is set")
    return deadline


class DeadlineSocket(ssl.SSLSocket):
    """A TLS socket whose reads respect the deadline set for their thread."""

    def sendall(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the parameters are those of ssl
        # Bytes that came before the request would be taken for its answer.
        if self.pending():
            raise ConnectionResetError("the server sent more than was requested")
        super().sendall(*args, **kwargs)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - the parameters are those of ssl
        deadline = _deadline.get()
        if deadline is None:
            return super().recv_into(*args, **kwargs)
        self.settimeout(deadline.seconds_left())
        count = super().recv_into(*args, **kwargs)
        deadline.add_bytes(count)
        return count


def context_for(connection: Connection) -> ssl.SSLContext:
    """A context that trusts only the connection's CA. Raises TlsRefused with code `tls_material`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A registered intermediate or leaf certificate is a trust anchor, as in kubectl.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    context.sslsocket_class = DeadlineSocket
    try:
        context.load_verify_locations(cadata=connection.ca_pem)
        if connection.client_cert_pem is not None and connection.client_key_pem is not None:
            _load_pair(context, connection.client_cert_pem + "\n" + connection.client_key_pem.reveal())
    except (ssl.SSLError, OSError, ValueError):
        raise TlsRefused("the CA or the client certificate cannot be used", code="tls_material") from None
    return context


def _load_pair(context: ssl.SSLContext, pem: str) -> None:
    # load_cert_chain only takes a path. A memory file has one and leaves nothing behind, even after kill -9.
    if not hasattr(os, "memfd_create"):
        _load_pair_by_file(context, pem)
        return
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        _load_chain(context, f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _load_pair_by_file(context: ssl.SSLContext, pem: str) -> None:
    """For systems without memory files: a file that only this user can read, for the moment of the call."""
    descriptor, name = tempfile.mkstemp(prefix="karpdash-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem.encode())
        _load_chain(context, name)
    finally:
        Path(name).unlink()


def _load_chain(context: ssl.SSLContext, path: str) -> None:
    # A password prompt on the terminal would block a worker, so encrypted keys get an empty password.
    context.load_cert_chain(path, password=lambda: b"")
