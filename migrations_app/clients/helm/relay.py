"""The relay between helm and a cluster: a server on loopback that sends helm's requests over karpdash's own connection.

helm knows neither the address of the cluster nor any credential. Its kubeconfig names this relay with a random path.
The relay sends only what its rules allow, only to the registered cluster, and under all rules of the transport (K02
to K13, K16, K19). When the process ends, helm can no longer reach the cluster.
"""

import json
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from migrations_app.clients.helm.relay_rules import RelayAnswer, RelayedRequest, RelayRules, refusal
from migrations_app.clients.kubernetes.api import check_path
from migrations_app.clients.kubernetes.limits import MIB
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import InvalidResponse, KarpdashError

MAX_BODY = 4 * MIB
"""Limit for the body of one request; etcd takes 1.5 MiB."""
WATCH_SECONDS = "3"
"""Seconds that one watch lasts: its answer is passed on when it ends, and helm watches again."""
LONGEST_IDLE = 120.0
MAX_CONNECTIONS = 64
"""At the same time; helm keeps a few open. Further connections are closed unread."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_JSON = "application/json"
_SCHEMA = re.compile(r"application/com\.github\.proto-openapi\.spec\.v[23]@v1\.0\+protobuf", re.ASCII)


class _RelayServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in socketserver
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as above
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


class ClusterRelay:
    """The relay of one run. helm connects to `url`, whose path no other program on this machine knows."""

    def __init__(self, transport: Transport, rules: RelayRules, *, purpose: str) -> None:
        self._transport, self._rules, self._purpose = transport, rules, purpose
        self._lock = threading.Lock()
        self._is_over = False
        self._secret = secrets.token_urlsafe(32)
        self._server = _RelayServer(self._handler())
        looks = {"poll_interval": 0.05}  # seconds until it notices a shutdown
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs=looks, name="helm-relay", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{self._secret}"

    @contextmanager
    def serving(self) -> Iterator["ClusterRelay"]:
        """Answers until the block ends. A request under way is finished first; requests that wait for it are refused.

        Connections that helm, or a program started by it, keeps open get no answer afterwards.
        """
        self._thread.start()
        try:
            yield self
        finally:
            self._is_over = True
            self._server.shutdown()
            with self._lock:
                self._server.server_close()

    def answer(self, request: RelayedRequest) -> RelayAnswer:
        """The answer to one request. Changes go one at a time; a watch does not wait for them."""
        if not request.changes:
            return self._decide(request)
        with self._lock:
            return self._decide(request)

    def _decide(self, request: RelayedRequest) -> RelayAnswer:
        if self._is_over:
            return refusal(410, reason="Gone", message="karpdash: the run has ended")
        decision = self._rules.before(request)
        return decision if isinstance(decision, RelayAnswer) else self._rules.after(request, self._forward(decision))

    def _forward(self, request: RelayedRequest) -> RelayAnswer:
        try:
            answer = self._transport.send_once(
                request.method,
                request.path,
                query=request.query,
                body=request.body,
                content_type=request.content_type,
                purpose=self._purpose,
                accept=request.accept,
            )
        except KarpdashError as error:
            return refusal(504, reason="Timeout", message=f"karpdash: {error.message}")
        return RelayAnswer(answer.status, answer.body, answer.audit_id)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        relay, prefix = self, f"/{self._secret}/"

        class _RelayedCall(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = LONGEST_IDLE
            disable_nagle_algorithm = True
            """A body is sent at once: otherwise it waits 40 ms until helm has acknowledged the head."""

            def take(self) -> None:
                request = _read(self, prefix)
                answer = request if isinstance(request, RelayAnswer) else relay.answer(request)
                body = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
                self.send_response(answer.status)
                self.send_header("Content-Type", _JSON)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words: object) -> None:
                """Requests are never logged (K17)."""

        for method in _METHODS:
            setattr(_RelayedCall, f"do_{method}", _RelayedCall.take)
        return _RelayedCall


def _read(handler: BaseHTTPRequestHandler, prefix: str) -> RelayedRequest | RelayAnswer:
    """The request without the relay's own path; an answer for a refused one, whose body is not read."""
    if not secrets.compare_digest(handler.path[: len(prefix)].encode("utf-8", "replace"), prefix.encode()):
        handler.close_connection = True
        return refusal(404, reason="NotFound", message="karpdash: no such path")
    length = handler.headers.get("Content-Length") or "0"
    if not length.isdecimal() or int(length) > MAX_BODY or handler.headers.get("Transfer-Encoding"):
        handler.close_connection = True
        return refusal(413, reason="RequestEntityTooLarge", message="karpdash: the request is larger than the limit")
    raw = handler.rfile.read(int(length))
    parts = urlsplit(handler.path.removeprefix(prefix[:-1]))
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if query.get("watch") in ("true", "1"):
        query["timeoutSeconds"] = WATCH_SECONDS
    try:
        check_path(parts.path)
        body = _decoded(raw)
    except (InvalidResponse, msgspec.DecodeError, RecursionError, ValueError):
        return refusal(400, reason="BadRequest", message="karpdash: the request cannot be read")
    return RelayedRequest(
        method=handler.command,
        path=parts.path,
        query=tuple(query.items()),
        body=body,
        content_type=handler.headers.get("Content-Type") or _JSON,
        accept=_accepted(handler.headers.get("Accept") or "", parts.path),
    )


def _accepted(text: str, path: str) -> str:
    """The Accept header to send: JSON for everything but schemas, which helm reads in one form only."""
    return text if path.startswith("/openapi/") and _SCHEMA.fullmatch(text) else _JSON


def _decoded(raw: bytes) -> Any:  # noqa: ANN401 - plain JSON
    return json.loads(raw) if raw.strip() else None
