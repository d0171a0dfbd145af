"""A client of the REST API of a karpdash server, for `karpdash --server`."""

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.http import CallBounds, HttpAnswer, send
from migrations_app.clients.secret import Secret, clean
from migrations_app.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidResponse,
    KarpdashError,
    NotFound,
    ReadError,
    ServerFailed,
    Unauthorized,
)

ROOT: Final = "/api/v1/"
TIMEOUT_SECONDS = 60.0
MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
PAGE_SIZE: Final = 200
_REFUSALS: Final[Mapping[int, type[KarpdashError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    429: ServerFailed,
}
"""The error for each status; other statuses below 500 become InvalidInput."""


class KarpdashServer:
    """One server, asked with one token. Methods raise ReadError if the server does not answer, is not karpdash, or
    refuses the token; InvalidInput, NotFound or Conflict if it refuses the request.
    """

    def __init__(self, url: str, token: Secret) -> None:
        """Raises InvalidInput for an invalid URL. Plain http is used only to this machine."""
        parts = _parts(url)
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(ROOT.rstrip('/'))}"
        self._name = parts.netloc
        self._token = token

    def read(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of one answer; `path` is below /api/v1/, and empty values of the query are left out."""
        filled = {name: value for name, value in (query or {}).items() if value}
        return self._request("GET", path + (f"?{urlencode(filled)}" if filled else "")).body

    def one(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object at the path."""
        return self._object(self.read(path, query))

    def rows(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row of a list, page after page."""
        page_query = {**(query or {}), "limit": str(PAGE_SIZE)}
        while True:
            page = self.one(path, page_query)
            results, next_url = page.get("results"), page.get("next")
            if not isinstance(results, list):
                raise InvalidResponse(f"{self._name}: the list has no results")
            yield from results
            if not next_url:
                return
            page_query["cursor"] = _cursor(str(next_url), name=self._name)

    def post(self, path: str, body: Mapping[str, Any], *, tag: str = "") -> dict[str, Any]:
        """The server's answer to a change. `tag` is the ETag of the object as it was read before.

        The idempotency key is always new: the same request, sent again by a person, is a second request.
        """
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        headers |= {"If-Match": tag} if tag else {}
        return self._object(self._request("POST", path, headers=headers, body=msgspec.json.encode(body)).body)

    def tag(self, path: str) -> str:
        """The current ETag of the object at the path."""
        return self._request("GET", path).headers.get("ETag", "")

    def _request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HttpAnswer:
        bounds = CallBounds(
            server=self._name,
            reach=OutboundPolicy(allow_loopback=True),
            ends=time.monotonic() + TIMEOUT_SECONDS,
            most=MAX_RESPONSE_BYTES,
            any_status=True,
        )
        sent = {"Authorization": f"Bearer {self._token.reveal()}", "Accept": "*/*", **(headers or {})}
        answer = send(method, f"{self._base}{ROOT}{path}", bounds=bounds, headers=sent, body=body)
        if not 200 <= answer.status < 300:
            raise _refusal(answer, name=self._name)
        return answer

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            document = None
        if not isinstance(document, dict):
            raise InvalidResponse(f"{self._name}: the answer is not a JSON object; is this a karpdash server?")
        return document


def _parts(url: str) -> Any:  # noqa: ANN401 - urllib's result has no public type
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        complete = None
    if not complete or parts.username or parts.query or parts.fragment:
        raise InvalidInput(
            f"{clean(url, longest=60)!r} is not a URL such as https://karpdash.example.com", where="--server"
        )
    return parts


def _cursor(next_url: str, *, name: str) -> str:
    """The cursor in the address of the next page; the address itself is not followed."""
    cursors = parse_qs(urlsplit(next_url).query).get("cursor")
    if not cursors:
        raise InvalidResponse(f"{name}: the list names a next page that cannot be requested")
    return cursors[0]


def _refusal(answer: HttpAnswer, *, name: str) -> KarpdashError:
    if 300 <= answer.status < 400:
        location = clean(answer.headers.get("Location", "another address"), longest=200)
        return InvalidResponse(f"{name}: the server redirects to {location}; use the final URL")
    detail = _detail(answer)
    kind = _REFUSALS.get(answer.status, ServerFailed if answer.status >= 500 else InvalidInput)
    message = f"{name}: {detail or f'the server answered {answer.status}'}"
    return kind(message if issubclass(kind, ReadError) else detail or message)


def _detail(answer: HttpAnswer) -> str:
    """The detail of a problem (RFC 9457), with the fields that it names; empty if the body is no problem."""
    try:
        problem = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return ""
    if not isinstance(problem, dict) or not isinstance(problem.get("detail"), str):
        return ""
    fields = problem.get("errors") if isinstance(problem.get("errors"), list) else ()
    field_errors = [
        f"{field.get('pointer', '')} {field.get('detail', '')}".strip()
        for field in fields or ()
        if isinstance(field, dict)
    ]
    return clean(
        ": ".join((problem["detail"].rstrip("."), "; ".join(field_errors))) if field_errors else problem["detail"]
    )
