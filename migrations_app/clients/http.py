"""The HTTP client for all servers but API servers: audit sink, webhooks, chart registry, identity provider (T03).

A host is resolved once, all its addresses are checked, and the connection goes to one of them (K05). TLS is 1.2 or
newer with the system's trusted certificates; plain http is spoken to loopback addresses only (K02). No proxy, no
redirect, no retry (K04). One deadline in wall-clock time covers the call from the resolver to the last byte, a body
below the minimum rate ends it sooner (K06), and bytes are counted (K09).
"""

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver, resolve
from migrations_app.clients.kubernetes import errors
from migrations_app.clients.kubernetes.deadline_socket import (
    DeadlineSocket,
    ResponseDeadline,
    current_deadline,
    with_deadline,
)
from migrations_app.clients.kubernetes.limits import DEFAULT, ClientLimits
from migrations_app.clients.kubernetes.response import TrafficMeter, read_body
from migrations_app.errors import AddressRefused, ReadError, ServerFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBounds:
    """What a call may reach, and what it may cost. `ends` is in `time.monotonic()`; messages begin with `server`.

    At most `most` bytes of a body are read, and only for status 200 unless `any_status` is set.
    """

    server: str
    reach: OutboundPolicy
    ends: float
    most: int = 0
    any_status: bool = False
    limits: ClientLimits = DEFAULT
    resolver: Resolver = ask_resolver


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One answer. `body` is empty if the bounds did not ask for it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def send(
    method: str, url: str, *, bounds: CallBounds, headers: Mapping[str, str], body: bytes | None = None
) -> HttpAnswer:
    """The answer to one request to a URL that was validated before. Without `most` in the bounds no body is read.

    Raises ReadError: AddressRefused, TlsRefused, TimedOut, Unreachable, TooLarge, InvalidResponse.
    """
    try:
        return _exchange(method, url, bounds=bounds, headers=headers, body=body)
    except ReadError as error:
        raise type(error)(f"{bounds.server}: {error.message}", code=error.code) from None


def deliver(url: str, body: bytes, *, bounds: CallBounds, headers: Mapping[str, str]) -> None:
    """Posts the body; any 2xx status means received, and nothing more of the answer is read.

    Raises the errors of `send`, and ServerFailed with code `sink_<status>` for any other status.
    """
    try:
        status = send("POST", url, bounds=bounds, headers=headers, body=body).status
    except ReadError as error:
        # Failures of receivers differ by their error type; only an unknown host name has a code of its own.
        raise type(error)(error.message, code=error.code if error.code == "unknown_host" else None) from None
    if not 200 <= status < 300:
        raise ServerFailed(f"{bounds.server}: the server answered {status}", code=f"sink_{status}")


def _exchange(
    method: str, url: str, *, bounds: CallBounds, headers: Mapping[str, str], body: bytes | None
) -> HttpAnswer:
    parts = urlsplit(url)
    host, safe = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if safe else 80)
    limits = replace(bounds.limits, page_bytes=bounds.most)
    deadline = ResponseDeadline(limits, ends=bounds.ends)
    sent = {"Host": parts.netloc, "Accept-Encoding": "identity", "Connection": "close", **headers}
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        seconds = min(limits.connect_seconds, deadline.seconds_left())
        addresses = resolve(host, port, reach=bounds.reach, seconds=seconds, resolver=bounds.resolver)
        if not safe and not all(ipaddress.ip_address(address).is_loopback for address in addresses):
            raise AddressRefused("plain http is allowed to loopback addresses only")
        timeout = min(limits.connect_seconds, deadline.seconds_left())
        with with_deadline(deadline), _pool(addresses[0], port, host=host if safe else "", timeout=timeout) as pool:
            answer = pool.urlopen(
                method, path, body=body, headers=sent, redirect=False, preload_content=False, decode_content=False
            )
            with closing(answer):
                deadline.begin_body()
                reads_body = bounds.most and (bounds.any_status or answer.status == 200)
                text = bytes(read_body(answer, TrafficMeter(limits))) if reads_body else b""
                return HttpAnswer(answer.status, answer.headers, text)
    except errors.CAUGHT as error:
        raise errors.from_exception(error).error from None


def _pool(address: str, port: int, *, host: str, timeout: float) -> urllib3.HTTPConnectionPool:
    """One connection to the checked address. If a host is given, TLS is used and the certificate must match it."""
    if not host:
        return _PlainPool(address, port, maxsize=1, retries=False, timeout=timeout)
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _TlsSocket
    return urllib3.HTTPSConnectionPool(
        address, port, maxsize=1, retries=False, timeout=timeout, ssl_context=context, server_hostname=host
    )


class _TlsSocket(DeadlineSocket):
    """A TLS socket with the call's deadline. A plain timeout would restart at the handshake and at each record sent."""

    def do_handshake(self, block: bool = False) -> None:
        self.settimeout(current_deadline().seconds_left())
        super().do_handshake(block)

    def send(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - the parameters are those of ssl
        self.settimeout(current_deadline().seconds_left())
        return super().send(*args, **kwargs)


class _PlainSocket(socket.socket):
    """A plain socket with the call's deadline."""

    def sendall(self, *args: Any) -> None:  # noqa: ANN401 - the parameters are those of socket
        self.settimeout(current_deadline().seconds_left())
        super().sendall(*args)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:  # noqa: ANN401 - as above
        deadline = current_deadline()
        self.settimeout(deadline.seconds_left())
        count = super().recv_into(*args, **kwargs)
        deadline.add_bytes(count)
        return count


class _PlainConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _PlainSocket(fileno=super()._new_conn().detach())


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection
