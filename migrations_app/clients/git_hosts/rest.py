"""One REST server of a Git host: requests within one deadline, answers as JSON, refusals as errors with a reason."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.http import CallBounds, HttpAnswer, send
from migrations_app.clients.secret import clean
from migrations_app.errors import (
    Conflict,
    Forbidden,
    InvalidResponse,
    NotServed,
    ReadError,
    ServerFailed,
    Unauthorized,
)

TIMEOUT_SECONDS = 25.0
"""Seconds for all requests of one page to a host."""
CLEANUP_SECONDS = 10.0
"""Seconds for the clean-up after a failure."""
MAX_BYTES: Final = 8 * 1024 * 1024


class HostServer:
    """Sends requests to one server with one set of headers. Nothing is sent twice, and no redirect is followed."""

    def __init__(
        self, base: str, *, headers: Mapping[str, str], reach: OutboundPolicy, resolver: Resolver = ask_resolver
    ) -> None:
        self._base = base
        self._headers = {"User-Agent": "karpdash", "Accept": "application/json", **headers}
        self._reach, self._resolver = reach, resolver
        self._ends = time.monotonic() + TIMEOUT_SECONDS

    def extend(self) -> None:
        """Gives time for the requests of a clean-up, however much time was used before."""
        self._ends = max(self._ends, time.monotonic() + CLEANUP_SECONDS)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - whatever JSON the host sends
        """The JSON of an answer 200. Raises ReadError: Unauthorized, Forbidden, NotServed, ServerFailed and others."""
        return decoded(self.answer("GET", path, query=query))

    def find(self, path: str, query: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - whatever JSON the host sends
        """Like `get`, but returns None for status 404."""
        answer = self.exchange("GET", path, query=query)
        return None if answer.status == 404 else decoded(_checked(answer))

    def answer(self, method: str, path: str, *, query: Mapping[str, str] | None = None) -> HttpAnswer:
        """An answer with a status of 200 to 299. Raises as `get`."""
        return _checked(self.exchange(method, path, query=query))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON the host sends
        """The JSON of the answer to a write. Raises as `get`, and Conflict `refused_by_host` with the host's reason."""
        answer = self.exchange("POST", path, body=body)
        if answer.status in (400, 405, 409, 422):
            raise Conflict(f"the Git host refused it: {reason_of(answer)}", code="refused_by_host")
        return decoded(_checked(answer))

    def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> HttpAnswer:
        """The answer, of any status. Raises ReadError if there is none."""
        bounds = CallBounds(
            server="git host", reach=self._reach, ends=self._ends, most=MAX_BYTES, any_status=True,
            resolver=self._resolver,
        )  # fmt: skip
        url = f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")
        content = None if body is None else msgspec.json.encode(body)
        headers = self._headers | ({} if content is None else {"Content-Type": "application/json"})
        return send(method, url, bounds=bounds, headers=headers, body=content)


def _checked(answer: HttpAnswer) -> HttpAnswer:
    if not 200 <= answer.status < 300:
        raise _refusal(answer)
    return answer


def _refusal(answer: HttpAnswer) -> ReadError:
    status, reason = answer.status, reason_of(answer)
    if 300 <= status < 400:
        message = "the host redirects: the repository was moved or renamed; register its new address"
        return ServerFailed(message, code="redirected")
    if status == 401:
        return Unauthorized(f"the host refuses the credential: wrong, expired or revoked ({reason})")
    if status == 429 or (status == 403 and answer.headers.get("x-ratelimit-remaining") == "0"):
        return ServerFailed("the Git host limits the number of requests; try again later", code="rate_limited")
    if status == 403:
        return Forbidden(f"the credential lacks a right on the repository ({reason})")
    if status == 404:
        return NotServed("it does not exist, or the credential may not read it")
    return ServerFailed(f"the host answered {status} ({reason})")


def reason_of(answer: HttpAnswer) -> str:
    """The host's reason for a refusal, on one line and shortened; the status if the host gives no reason."""
    try:
        document = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        document = None
    texts = list(_texts(document))
    return clean("; ".join(dict.fromkeys(texts))) if texts else f"status {answer.status}"


def _texts(document: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """GitHub: message, and errors with a message each. GitLab: message or error, a text, a list or a map of lists."""
    if isinstance(document, str):
        return [document]
    if isinstance(document, Sequence):
        return [text for part in document[:5] for text in _texts(part)]
    if isinstance(document, Mapping):
        parts = [document[name] for name in ("message", "error", "errors") if name in document]
        return [text for part in (parts or list(document.values())[:5]) for text in _texts(part)]
    return []


def decoded(answer: HttpAnswer) -> Any:  # noqa: ANN401 - whatever JSON the host sends
    """The JSON of the answer. Raises InvalidResponse."""
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse("the host's answer is not JSON") from None


def field(document: Any, *names: str) -> str:  # noqa: ANN401 - any JSON
    """A text inside the answer. Raises InvalidResponse."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(document, str) or not document:
        raise InvalidResponse(f"the host's answer has no {'.'.join(names)}")
    return document


def rows(document: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401 - any JSON
    """A list of objects. Raises InvalidResponse."""
    if not isinstance(document, list) or not all(isinstance(item, Mapping) for item in document):
        raise InvalidResponse("the host's answer is not a list of objects")
    return document
