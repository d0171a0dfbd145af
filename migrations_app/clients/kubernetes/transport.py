"""All HTTP traffic to API servers, by rules K01-K18. Only reads are retried.

The official client supplies configuration and connection pool; sockets, deadlines, size limits and errors are
implemented here.
"""

import ipaddress
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
import urllib3

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver, resolve
from migrations_app.clients.kubernetes import errors
from migrations_app.clients.kubernetes.api import ApiRequest, Verb, api_request
from migrations_app.clients.kubernetes.connection import Connection, digest_of_ca
from migrations_app.clients.kubernetes.deadline_socket import ResponseDeadline, context_for, with_deadline
from migrations_app.clients.kubernetes.errors import HttpFailure
from migrations_app.clients.kubernetes.limits import DEFAULT, KIB, ClientLimits
from migrations_app.clients.kubernetes.response import NO_ANSWER, ApiResponse, TrafficMeter, read_beginning, read_body
from migrations_app.clients.secret import Secret
from migrations_app.errors import KarpdashError, TimedOut, Unreachable

if TYPE_CHECKING:
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject

Query = Sequence[tuple[str, str]]
TokenSource = Callable[[], Secret]

JSON = "application/json"
_JITTER = random.SystemRandom()
_IMPORTING = threading.Lock()
"""Its modules import each other: two threads that begin with different ones would each see a half of the other's."""
_CLOSED = "the client is closed"
_VERBS: dict[str, Verb] = {
    "GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_MOST_SAID = 64 * KIB
"""Limit for the body of a refused change, which names the manager of each field and is longer than other errors."""
# These libraries log requests with their headers at debug level (K17).
for _name in ("urllib3", "kubernetes", "client"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def agent() -> str:
    """The User-Agent sent to API servers (K16)."""
    try:
        return f"karpdash/{metadata.version('karpdash')}"
    except metadata.PackageNotFoundError:
        return "karpdash/source"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One outgoing request; `ends` is a time on the monotonic clock."""

    method: str
    request: ApiRequest
    query: Query = ()
    headers: dict[str, str]
    body: Mapping[str, Any] | list[Any] | bytes | None = None
    ends: float


@dataclass(frozen=True, slots=True)
class WriteResponse:
    """A response of any status to a request that changes something. `retry_after` is in seconds."""

    status: int
    body: bytes
    audit_id: str = ""
    retry_after: float | None = None


class Transport:
    """Calls to one server. Thread-safe. The name is resolved and checked when the object is created (K05)."""

    def __init__(
        self,
        connection: Connection,
        *,
        reach: OutboundPolicy,
        limits: ClientLimits = DEFAULT,
        token: TokenSource | None = None,
        resolver: Resolver = ask_resolver,
        purpose: str = "scan",
    ) -> None:
        self._ends = time.monotonic() + limits.scan_seconds
        server = connection.server
        self._addresses = resolve(
            server.host, server.port, reach=reach, seconds=limits.connect_seconds, resolver=resolver
        )
        self._current = 0
        self._server = server
        self.ca_digest = digest_of_ca(connection)
        self._token = token or _fixed(connection.token)
        self._limits = limits
        self._agent = f"{agent()} {purpose}"
        self._pool: RESTClientObject | None = _pool(connection, context_for(connection), limits=limits)
        # Compression costs the server more than it saves on loopback.
        local = ipaddress.ip_address(self._addresses[0]).is_loopback
        self._encoding = "identity" if local else "gzip"
        self.meter = TrafficMeter(limits)

    def close(self) -> None:
        """Closes the connections and drops the credentials."""
        pool, self._pool = self._pool, None
        self._token = _fixed(None)
        if pool is not None:
            _end(pool.pool_manager)

    def get(
        self, path: str, query: Query = (), *, verb: Verb = "get", accept: str = JSON, tries: int = 0
    ) -> ApiResponse:
        """The response to a read, after as many tries as the limits allow (K07). Raises ReadError."""
        request = api_request(verb, path)
        ends = self._call_ends()
        attempt = 0
        while True:
            attempt += 1
            headers = self._headers(attempt, accept)
            found = self._try(_Call(method="GET", request=request, query=query, headers=headers, ends=ends))
            if isinstance(found, ApiResponse):
                return found
            if attempt >= (tries or self._limits.tries):
                raise found.error from None
            self._pause(found, attempt, ends=ends)

    def post(self, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """The response to a query that is sent by POST, such as an access review. Sent once, never retried."""
        headers = self._headers(1, JSON) | {"Content-Type": JSON}
        found = self._try(
            _Call(
                method="POST", request=api_request("create", path), headers=headers, body=body, ends=self._call_ends()
            )
        )
        if isinstance(found, HttpFailure):
            raise found.error from None
        return found

    def change(
        self,
        method: str,
        path: str,
        *,
        query: Query,
        body: Mapping[str, Any],
        content_type: str,
        purpose: str,
    ) -> WriteResponse:
        """The response to a request that changes something. Sent once, never retried (K07, A20).

        A response of any status is returned. Raises ReadError only if none came: then it is unknown whether the
        change happened.
        """
        return self._once(method, path, query=query, body=body, content_type=content_type, purpose=purpose)

    def forward(
        self,
        method: str,
        path: str,
        *,
        query: Query,
        body: Mapping[str, Any] | list[Any] | None,
        content_type: str,
        purpose: str,
        accept: str = JSON,
    ) -> WriteResponse:
        """The response of any status to a request that another program made, by the same rules. Sent once, never
        retried. Raises ReadError if none came.
        """
        return self._once(
            method, path, query=query, body=body, content_type=content_type, purpose=purpose, accept=accept
        )

    def _once(
        self,
        method: str,
        path: str,
        *,
        query: Query,
        body: Mapping[str, Any] | list[Any] | None,
        content_type: str,
        purpose: str,
        accept: str = JSON,
    ) -> WriteResponse:
        headers = self._headers(1, accept) | {"Content-Type": content_type, "User-Agent": f"{agent()} {purpose}"}
        call = _Call(
            method=method,
            request=api_request(_VERBS[method], path),
            query=query,
            headers=headers,
            body=body if body is None or "json" in content_type else msgspec.json.encode(body),
            ends=self._call_ends(),
        )
        pace = ResponseDeadline(self._limits, ends=min(call.ends, time.monotonic() + self._limits.read_seconds))
        with with_deadline(pace):
            try:
                return self._write_response(self._send(call, pace), pace=pace)
            except errors.CAUGHT as wrong:
                raise errors.from_exception(wrong).error from None

    def _write_response(self, response: urllib3.HTTPResponse, *, pace: ResponseDeadline) -> WriteResponse:
        self._note_date(response.headers.get("Date"))
        pace.begin_body()
        try:
            good = 200 <= response.status < 300
            body = bytes(read_body(response, self.meter)) if good else self._excuse(response, _MOST_SAID)
            return WriteResponse(
                response.status, body, response.headers.get("Audit-Id", ""), errors.pause(response.headers)
            )
        finally:
            if response.closed:
                response.release_conn()
            else:
                response.close()

    def _call_ends(self) -> float:
        now = time.monotonic()
        if now >= self._ends:
            raise TimedOut("the scan's time is over")
        return min(self._ends, now + self._limits.call_seconds)

    def _headers(self, attempt: int, accept: str) -> dict[str, str]:
        headers = {
            "Accept": accept,
            "Accept-Encoding": self._encoding,
            "Host": self._server.authority,
            "User-Agent": f"{self._agent} attempt={attempt}",
        }
        token = self._token()
        return headers | {"Authorization": f"Bearer {token.reveal()}"} if token else headers

    def _try(self, call: _Call) -> ApiResponse | HttpFailure:
        pace = ResponseDeadline(self._limits, ends=min(call.ends, time.monotonic() + self._limits.read_seconds))
        with with_deadline(pace):
            try:
                return self._received(self._send(call, pace), call.request, pace=pace)
            except errors.CAUGHT as wrong:
                return errors.from_exception(wrong)

    def _url(self, path: str, query: Query) -> str:
        address = self._addresses[self._current % len(self._addresses)]
        host = f"[{address}]" if ":" in address else address
        url = f"https://{host}:{self._server.port}{self._server.prefix}{path}"
        return f"{url}?{urlencode(query)}" if query else url

    def _send(self, call: _Call, pace: ResponseDeadline) -> urllib3.HTTPResponse:
        pool = self._pool
        if pool is None:
            raise Unreachable(_CLOSED, code="closed")
        self.meter.begin()
        left = pace.patience()
        timeout = (min(self._limits.connect_seconds, left), left)
        url = self._url(call.request.path, call.query)
        try:
            response = _answer(pool, call, url=url, timeout=timeout)
        except errors.CAUGHT:
            self.meter.note(call.request.verb, NO_ANSWER)
            raise
        self.meter.note(call.request.verb, str(response.status))
        return response

    def _received(
        self, response: urllib3.HTTPResponse, request: ApiRequest, *, pace: ResponseDeadline
    ) -> ApiResponse | HttpFailure:
        self._note_date(response.headers.get("Date"))
        pace.begin_body()
        try:
            if 200 <= response.status < 300:
                return ApiResponse(read_body(response, self.meter), response.headers.get("Audit-Id", ""))
            excuse = self._excuse(response)
            return errors.from_status(response.status, excuse, headers=response.headers, request=request)
        finally:
            # A connection whose body was not read to the end cannot be reused.
            if response.closed:
                response.release_conn()
            else:
                response.close()

    def _excuse(self, response: urllib3.HTTPResponse, most: int = 0) -> bytes:
        try:
            return read_beginning(response, most or self._limits.error_bytes)
        except (*errors.CAUGHT, KarpdashError):
            return b""

    def _note_date(self, text: str | None) -> None:
        try:
            found = parsedate_to_datetime(text or "").astimezone(UTC)
        except (ValueError, OverflowError):
            return
        self.meter.server_date = found.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _pause(self, fault: HttpFailure, attempt: int, *, ends: float) -> None:
        """Waits before the next try; raises the failure's error if there must be none (K07, K08)."""
        if not fault.again and not (fault.elsewhere and attempt < len(self._addresses)):
            raise fault.error from None
        self._current = (self._current + 1) % len(self._addresses)
        longest = min(self._limits.longest_pause_seconds, self._limits.first_pause_seconds * 2**attempt)
        wait = _JITTER.uniform(0, longest)
        if fault.after is not None:
            wait = min(fault.after, self._limits.retry_after_seconds)
        if time.monotonic() + wait >= ends:
            raise fault.error from None
        time.sleep(wait)


def _end(manager: urllib3.PoolManager) -> None:
    """Closes the idle connections now; the pool manager alone leaves that to the garbage collector."""
    keys = manager.pools.keys()
    for key in keys:
        manager.pools[key].close()
    manager.clear()


def _fixed(token: Secret | None) -> Callable[[], Secret]:
    kept = token or Secret("")
    return lambda: kept


def _answer(pool: "RESTClientObject", call: _Call, *, url: str, timeout: tuple[float, float]) -> urllib3.HTTPResponse:
    """The response, its body unread. Raises one of errors.CAUGHT: the client's own exceptions wrap those of urllib3."""
    from kubernetes.client.exceptions import OpenApiException

    try:
        sent = pool.request(call.method, url, call.headers, call.body, None, timeout)  # type: ignore[no-untyped-call]  # untyped there
    except OpenApiException as wrong:
        raise wrong.__context__ or urllib3.exceptions.HTTPError("the client refused the request") from None
    response: urllib3.HTTPResponse = sent.response
    return response


def _client() -> "tuple[type[Configuration], type[RESTClientObject]]":
    """The official client, imported by who first talks to a cluster: it is slow to load."""
    with _IMPORTING:
        from kubernetes.client.configuration import Configuration
        from kubernetes.client.rest import RESTClientObject
    return Configuration, RESTClientObject


def _pool(connection: Connection, context: ssl.SSLContext, *, limits: ClientLimits) -> "RESTClientObject":
    """The official client's pool without retries, redirects or a proxy from the environment (K04, K07)."""
    configured, pooled = _client()
    configuration = configured(host=connection.server.url, retries=False, verify_ssl=True, proxy="", no_proxy="")
    configuration.tls_server_name = connection.tls_name
    configuration.connection_pool_maxsize = limits.parallel
    pool = pooled(configuration)
    pool.pool_manager.connection_pool_kw["ssl_context"] = context
    return pool
