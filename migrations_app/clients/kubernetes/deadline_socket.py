"""Deadlines that hold byte by byte (K06): a socket that knows when its answer must be there.

A read timeout counts from the last byte, so one byte a second runs for ever. Here each read may wait only until the
answer's deadline, or until the body falls behind the minimum rate, whichever comes first.

The TLS side of a connection (K02, K03): the registered CA only, everything from memory, no way around.
"""

import os
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.errors import TlsRefused, TooLarge

HEADER_ROOM = MIB
"""Bytes beyond the body's limit for headers, chunk sizes and TLS: an endless header ends here."""


class ResponseDeadline:
    """The clock and the byte count of one answer."""

    __slots__ = ("_ends", "_left", "_rate", "_received", "_slow_start", "_started")

    def __init__(self, limits: ClientLimits, *, ends: float) -> None:
        self._ends = ends
        self._left = limits.page_bytes + HEADER_ROOM
        self._rate = limits.bytes_per_second
        self._slow_start = limits.slow_start_seconds
        self._received = 0
        self._started: float | None = None

    def begin_body(self) -> None:
        """The rate counts from here: a server may think about a large list before its first byte."""
        self._started = time.monotonic()
        self._received = 0

    def patience(self) -> float:
        """Seconds that the next read may take. Raises TimeoutError when there are none."""
        until = self._ends
        if self._started is not None:
            until = min(until, self._started + self._slow_start + self._received / self._rate)
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer was too slow")
        return left

    def took(self, count: int) -> None:
        self._received += count
        self._left -= count
        if self._left < 0:
            raise TooLarge("the answer is larger than a page may be")


_pace: ContextVar[ResponseDeadline | None] = ContextVar("pace", default=None)


@contextmanager
def with_deadline(pace: ResponseDeadline) -> Iterator[ResponseDeadline]:
    """Every PacedSocket read by this thread keeps to the pace until the block ends."""
    token = _pace.set(pace)
    try:
        yield pace
    finally:
        _pace.reset(token)


class DeadlineSocket(ssl.SSLSocket):
    """A TLS socket whose reads keep to the pace of their thread."""

    def recv_into(self, *args: Any, **named: Any) -> int:  # noqa: ANN401 - the parameters are those of ssl
        pace = _pace.get()
        if pace is None:
            return super().recv_into(*args, **named)
        self.settimeout(pace.patience())
        count = super().recv_into(*args, **named)
        pace.took(count)
        return count


def context_for(connection: Connection) -> ssl.SSLContext:
    """A context that trusts the connection's CA and nothing else. Raises TlsRefused with code `tls_material`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A registered intermediate or leaf is an anchor of its own, as it is for kubectl.
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
    # load_cert_chain takes a path only; a memory file has one and leaves nothing behind, even after kill -9.
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        # A password prompt on the terminal would hang a worker: an encrypted key gets an empty password.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: b"")
    finally:
        os.close(descriptor)
