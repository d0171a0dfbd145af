"""Sends one request to an API server and returns the response: directly, or through an agent in the cluster.

The transport decides what is sent, how often, and what the answer means. A RoundTripper only carries the request.
"""

import ipaddress
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import urllib3

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver, resolve
from migrations_app.clients.kubernetes.api import ApiRequest
from migrations_app.clients.kubernetes.connection import Connection, digest_of_ca
from migrations_app.clients.kubernetes.deadline_socket import context_for
from migrations_app.clients.kubernetes.limits import DEFAULT, ClientLimits
from migrations_app.errors import Unreachable

if TYPE_CHECKING:
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject

QueryParameters = Sequence[tuple[str, str]]
_IMPORTING = threading.Lock()
"""Its modules import each other: two threads that import different ones first would each see a half-loaded module."""
_CLOSED = "the client is closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One outgoing request; `ends` is a time on the monotonic clock."""

    method: str
    request: ApiRequest
    query: QueryParameters = ()
    headers: dict[str, str]
    body: Mapping[str, Any] | list[Any] | bytes | None = None
    ends: float


class RoundTripper(Protocol):
    """Carries requests to one API server, each of them once. Thread-safe."""

    ca_digest: str
    """SHA-256 of the CA that has to have signed the server's certificate."""
    encoding: str
    """The encodings that the server may use for its answers, as in Accept-Encoding."""
    addresses: int
    """The number of addresses of the server that can be tried."""

    def round_trip(self, call: ApiCall, *, patience: float) -> urllib3.HTTPResponse:
        """The response, its body unread. `patience` is how many seconds to wait for its first byte.

        Raises one of errors.CAUGHT, or a ReadError that a second try cannot change.
        """

    def next_address(self) -> None:
        """Sends the next request to another address of the server, if it has several."""

    def close(self) -> None:
        """Closes connections and drops credentials; safe to call twice."""


class DirectRoundTripper:
    """A RoundTripper to the server's address. The name is resolved and checked when the object is created (K05)."""

    def __init__(
        self,
        connection: Connection,
        *,
        reach: OutboundPolicy,
        limits: ClientLimits = DEFAULT,
        resolver: Resolver = ask_resolver,
    ) -> None:
        server = connection.server
        self._addresses = resolve(
            server.host, server.port, reach=reach, seconds=limits.connect_seconds, resolver=resolver
        )
        self.addresses = len(self._addresses)
        self._current = 0
        self._server = server
        self._limits = limits
        self.ca_digest = digest_of_ca(connection)
        self._pool: RESTClientObject | None = _pool(connection, context_for(connection), limits=limits)
        # Compression costs the server more than it saves on loopback.
        local = ipaddress.ip_address(self._addresses[0]).is_loopback
        self.encoding = "identity" if local else "gzip"

    def round_trip(self, call: ApiCall, *, patience: float) -> urllib3.HTTPResponse:
        """The response, its body unread. Raises one of errors.CAUGHT, and Unreachable once it is closed.

        The client's own exceptions wrap those of urllib3.
        """
        from kubernetes.client.exceptions import OpenApiException

        pool = self._pool
        if pool is None:
            raise Unreachable(_CLOSED, code="closed")
        timeout = (min(self._limits.connect_seconds, patience), patience)
        headers = call.headers | {"Host": self._server.authority}
        try:
            sent = pool.request(call.method, self._url(call), headers, call.body, None, timeout)  # type: ignore[no-untyped-call]  # untyped there
        except OpenApiException as error:
            raise error.__context__ or urllib3.exceptions.HTTPError("the client refused the request") from None
        response: urllib3.HTTPResponse = sent.response
        return response

    def next_address(self) -> None:
        self._current = (self._current + 1) % self.addresses

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool.pool_manager)

    def _url(self, call: ApiCall) -> str:
        address = self._addresses[self._current % self.addresses]
        host = f"[{address}]" if ":" in address else address
        url = f"https://{host}:{self._server.port}{self._server.prefix}{call.request.path}"
        return f"{url}?{urlencode(call.query)}" if call.query else url


def _end(manager: urllib3.PoolManager) -> None:
    """Closes the idle connections now; the pool manager alone leaves that to the garbage collector."""
    keys = manager.pools.keys()
    for key in keys:
        manager.pools[key].close()
    manager.clear()


def _client() -> "tuple[type[Configuration], type[RESTClientObject]]":
    """The official client, imported at the first request to a cluster: it is slow to load."""
    with _IMPORTING:
        from kubernetes.client.configuration import Configuration
        from kubernetes.client.rest import RESTClientObject
    return Configuration, RESTClientObject


def _pool(connection: Connection, context: ssl.SSLContext, *, limits: ClientLimits) -> "RESTClientObject":
    """The official client's pool without retries, redirects or a proxy from the environment (K04, K07)."""
    configured, pooled = _client()
    configuration = configured(host=connection.server.url, retries=False, verify_ssl=True, proxy="", no_proxy="")
    configuration.tls_server_name = connection.tls_name
    # Each of two proofs that a list is unchanged (watching.py) has a second request beside its watch.
    configuration.connection_pool_maxsize = limits.parallel + 2
    pool = pooled(configuration)
    pool.pool_manager.connection_pool_kw["ssl_context"] = context
    return pool
