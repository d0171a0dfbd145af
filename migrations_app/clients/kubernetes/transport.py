"""All HTTP traffic to API servers, by rules K01-K18. Only reads are retried.

The official client supplies configuration and connection pool; sockets, deadlines, size limits and errors are
implemented here.
"""

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib import metadata
from typing import Any, TypeVar

import msgspec
import urllib3

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.kubernetes import errors
from migrations_app.clients.kubernetes.api import ApiRequest, Verb, api_request
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.deadline_socket import ResponseDeadline, with_deadline
from migrations_app.clients.kubernetes.errors import HttpFailure
from migrations_app.clients.kubernetes.limits import DEFAULT, KIB, ClientLimits
from migrations_app.clients.kubernetes.response import (
    NO_ANSWER,
    ApiResponse,
    TrafficMeter,
    read_beginning,
    read_body,
    read_lines,
)
from migrations_app.clients.kubernetes.round_tripper import ApiCall, DirectRoundTripper, QueryParameters, RoundTripper
from migrations_app.clients.secret import Secret
from migrations_app.errors import KarpdashError, TimedOut

T = TypeVar("T")
TokenSource = Callable[[], Secret]

JSON = "application/json"
_JITTER = random.SystemRandom()
_VERBS: dict[str, Verb] = {
    "GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_MAX_REFUSAL_BYTES = 64 * KIB
"""Limit for the body of a refused change, which names the manager of each field and is longer than other errors."""
# These libraries log requests with their headers at debug level (K17).
for _name in ("urllib3", "kubernetes", "client"):
    logging.getLogger(_name).setLevel(logging.WARNING)
# These log odd headers with everything that a server put into them, however long.
for _name in ("urllib3.connection", "urllib3.response"):
    logging.getLogger(_name).setLevel(logging.ERROR)


def user_agent() -> str:
    """The User-Agent sent to API servers (K16)."""
    try:
        return f"karpdash/{metadata.version('karpdash')}"
    except metadata.PackageNotFoundError:
        return "karpdash/source"


@dataclass(frozen=True, slots=True)
class WriteResponse:
    """A response of any status to a request that changes something. `retry_after` is in seconds."""

    status: int
    body: bytes
    audit_id: str = ""
    retry_after: float | None = None


class Transport:
    """Calls to one server. Thread-safe. Without a `round_tripper`, requests go to the server's own address;
    its name is resolved and checked when the object is created (K05).
    """

    def __init__(
        self,
        connection: Connection,
        *,
        reach: OutboundPolicy,
        limits: ClientLimits = DEFAULT,
        token: TokenSource | None = None,
        resolver: Resolver = ask_resolver,
        purpose: str = "scan",
        round_tripper: RoundTripper | None = None,
    ) -> None:
        self._ends = time.monotonic() + limits.scan_seconds
        self._round_tripper: RoundTripper = round_tripper or DirectRoundTripper(
            connection, reach=reach, limits=limits, resolver=resolver
        )
        self.ca_digest = self._round_tripper.ca_digest
        self._token = token or _fixed_source(connection.token)
        self._limits = limits
        self._agent = f"{user_agent()} {purpose}"
        self.meter = TrafficMeter(limits)

    def close(self) -> None:
        """Closes the connections and drops the credentials."""
        self._token = _fixed_source(None)
        self._round_tripper.close()

    def get(
        self, path: str, query: QueryParameters = (), *, verb: Verb = "get", accept: str = JSON, tries: int = 0
    ) -> ApiResponse:
        """The response to a read, after as many tries as the limits allow (K07). Raises ReadError."""
        request = api_request(verb, path)
        ends = self._call_ends()
        attempt = 0
        while True:
            attempt += 1
            headers = self._headers(attempt, accept)
            result = self._try(ApiCall(method="GET", request=request, query=query, headers=headers, ends=ends))
            if isinstance(result, ApiResponse):
                return result
            if attempt >= (tries or self._limits.tries):
                raise result.error from None
            self._pause(result, attempt, ends=ends)

    def watch(
        self, path: str, query: QueryParameters, *, seconds: float, find: Callable[[bytes], T | None]
    ) -> T | None:
        """The first value that `find` returns for a line of the answer; None if there is none.

        Sent once, never retried. Raises ReadError.
        """
        ends = min(self._call_ends(), time.monotonic() + seconds)
        headers = self._headers(1, JSON) | {"Accept-Encoding": "identity"}
        call = ApiCall(method="GET", request=api_request("watch", path), query=query, headers=headers, ends=ends)
        # A watch without events sends nothing, so it has no minimum rate, only an end.
        deadline = ResponseDeadline(replace(self._limits, slow_start_seconds=seconds), ends=ends)
        with with_deadline(deadline):
            try:
                return self._first_match(self._send(call, deadline), call.request, find=find)
            except errors.CAUGHT as error:
                raise errors.from_exception(error).error from None

    def _first_match(
        self, response: urllib3.HTTPResponse, request: ApiRequest, *, find: Callable[[bytes], T | None]
    ) -> T | None:
        self._note_date(response.headers.get("Date"))
        try:
            if response.status != 200:
                content = self._error_body(response)
                raise errors.from_status(response.status, content, headers=response.headers, request=request).error
            return next((value for line in read_lines(response, self.meter) if (value := find(line)) is not None), None)
        finally:
            response.close()

    def post(self, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """The response to a query that is sent by POST, such as an access review. Sent once, never retried."""
        headers = self._headers(1, JSON) | {"Content-Type": JSON}
        result = self._try(
            ApiCall(
                method="POST", request=api_request("create", path), headers=headers, body=body, ends=self._call_ends()
            )
        )
        if isinstance(result, HttpFailure):
            raise result.error from None
        return result

    def send_once(
        self,
        method: str,
        path: str,
        *,
        query: QueryParameters,
        body: Mapping[str, Any] | list[Any] | None,
        content_type: str,
        purpose: str,
        accept: str = JSON,
    ) -> WriteResponse:
        """The response to a request that changes something, or that another program made (K07, A20). Never retried.

        A response of any status is returned. Raises ReadError only if none came: then it is unknown whether the
        change happened.
        """
        headers = self._headers(1, accept) | {"Content-Type": content_type, "User-Agent": f"{user_agent()} {purpose}"}
        call = ApiCall(
            method=method,
            request=api_request(_VERBS[method], path),
            query=query,
            headers=headers,
            body=body if body is None or "json" in content_type else msgspec.json.encode(body),
            ends=self._call_ends(),
        )
        deadline = ResponseDeadline(self._limits, ends=min(call.ends, time.monotonic() + self._limits.read_seconds))
        with with_deadline(deadline):
            try:
                return self._write_response(self._send(call, deadline), deadline=deadline)
            except errors.CAUGHT as error:
                raise errors.from_exception(error).error from None

    def _write_response(self, response: urllib3.HTTPResponse, *, deadline: ResponseDeadline) -> WriteResponse:
        self._note_date(response.headers.get("Date"))
        deadline.begin_body()
        try:
            succeeded = 200 <= response.status < 300
            body = (
                bytes(read_body(response, self.meter)) if succeeded else self._error_body(response, _MAX_REFUSAL_BYTES)
            )
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
            raise TimedOut("the scan's deadline is over")
        return min(self._ends, now + self._limits.call_seconds)

    def _headers(self, attempt: int, accept: str) -> dict[str, str]:
        headers = {
            "Accept": accept,
            "Accept-Encoding": self._round_tripper.encoding,
            "User-Agent": f"{self._agent} attempt={attempt}",
        }
        token = self._token()
        return headers | {"Authorization": f"Bearer {token.reveal()}"} if token else headers

    def _try(self, call: ApiCall) -> ApiResponse | HttpFailure:
        deadline = ResponseDeadline(self._limits, ends=min(call.ends, time.monotonic() + self._limits.read_seconds))
        with with_deadline(deadline):
            try:
                return self._api_response(self._send(call, deadline), call.request, deadline=deadline)
            except errors.CAUGHT as error:
                return errors.from_exception(error)

    def _send(self, call: ApiCall, deadline: ResponseDeadline) -> urllib3.HTTPResponse:
        self.meter.begin()
        try:
            response = self._round_tripper.round_trip(call, patience=deadline.seconds_left())
        except (*errors.CAUGHT, KarpdashError):
            self.meter.note(call.request.verb, NO_ANSWER)
            raise
        self.meter.note(call.request.verb, str(response.status))
        return response

    def _api_response(
        self, response: urllib3.HTTPResponse, request: ApiRequest, *, deadline: ResponseDeadline
    ) -> ApiResponse | HttpFailure:
        self._note_date(response.headers.get("Date"))
        deadline.begin_body()
        try:
            if 200 <= response.status < 300:
                return ApiResponse(read_body(response, self.meter), response.headers.get("Audit-Id", ""))
            content = self._error_body(response)
            return errors.from_status(response.status, content, headers=response.headers, request=request)
        finally:
            # A connection whose body was not read to the end cannot be reused.
            if response.closed:
                response.release_conn()
            else:
                response.close()

    def _error_body(self, response: urllib3.HTTPResponse, most: int = 0) -> bytes:
        try:
            return read_beginning(response, most or self._limits.error_bytes)
        except (*errors.CAUGHT, KarpdashError):
            return b""

    def _note_date(self, text: str | None) -> None:
        try:
            server_date = parsedate_to_datetime(text or "").astimezone(UTC)
        except (ValueError, OverflowError):
            return
        self.meter.server_date = server_date.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _pause(self, failure: HttpFailure, attempt: int, *, ends: float) -> None:
        """Waits before the next try; raises the failure's error if no further try is allowed (K07, K08)."""
        if not failure.again and not (failure.elsewhere and attempt < self._round_tripper.addresses):
            raise failure.error from None
        self._round_tripper.next_address()
        longest = min(self._limits.longest_pause_seconds, self._limits.first_pause_seconds * 2**attempt)
        wait = _JITTER.uniform(0, longest)
        if failure.after is not None:
            wait = min(failure.after, self._limits.retry_after_seconds)
        if time.monotonic() + wait >= ends:
            raise failure.error from None
        time.sleep(wait)


def _fixed_source(token: Secret | None) -> Callable[[], Secret]:
    fixed_token = token or Secret("")
    return lambda: fixed_token
