"""The agent's connection to its karpdash server: HTTPS with a verified certificate, through the environment's proxy.

No redirect is followed and nothing is repeated here. A proxy sees a CONNECT and then TLS: never the token. Plain http
is used only to this machine, and without a proxy.
"""

import ipaddress
import re
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec
import urllib3

from migrations_app.clients.agents.protocol import (
    MAX_CALLS,
    MAX_REQUEST,
    MEDIA,
    ROOT,
    SESSION_HEADER,
    AgentRefusal,
    unpacked,
)
from migrations_app.clients.agents.protocol import packed as as_sent
from migrations_app.clients.secret import Secret, clean
from migrations_app.errors import (
    InvalidInput,
    InvalidResponse,
    ReadError,
    ServerFailed,
    TimedOut,
    TlsRefused,
    Unauthorized,
    Unreachable,
)

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 30.0
"""Seconds to wait for the first byte, and between two bytes; a poll is answered sooner."""
MAX_ANSWER: Final = MAX_CALLS * MAX_REQUEST

M = TypeVar("M", bound=msgspec.Struct)


class RefusedByServer(ReadError):
    """The server answered with a refusal; `expected` is the index of the piece that it expects."""

    code = "agent_refused"
    expected = -1


@dataclass(frozen=True, slots=True)
class _ServerAddress:
    """The server's URL without a slash at its end, and the parts of it that a connection needs."""

    base: str
    name: str
    host: str
    safe: bool


class ServerLink:
    """A client of one karpdash server, with one agent token. Thread-safe. Every method raises ReadError."""

    def __init__(self, url: str, token: Secret, *, ca_file: Path | None = None) -> None:
        """Raises InvalidInput for a URL, a proxy or a CA file that cannot be used."""
        self._place = _server_address(url)
        self._token = token
        self._pool = _pool(self._place, ca_file)
        self.session = ""

    @property
    def name(self) -> str:
        """Host and port of the server."""
        return self._place.name

    def ask(self, path: str, message: msgspec.Struct, *, kind: type[M]) -> M:
        """Returns the server's answer to one message, decoded as `kind`."""
        return unpacked(self._send(path, as_sent(message)), kind)

    def tell(self, path: str, message: msgspec.Struct | None = None, *, seconds: float = READ_SECONDS) -> None:
        """Sends one message and waits at most `seconds` for the answer, which is empty."""
        self._send(path, as_sent(message) if message is not None else b"", seconds=seconds)

    def close(self) -> None:
        """Closes the connections now; the pool manager alone leaves that to the garbage collector."""
        keys = self._pool.pools.keys()
        for key in keys:
            self._pool.pools[key].close()
        self._pool.clear()

    def _send(self, path: str, body: bytes, *, seconds: float = READ_SECONDS) -> bytes:
        headers = {"Authorization": f"Bearer {self._token.reveal()}", "Content-Type": MEDIA, "Accept": MEDIA}
        if self.session:
            headers[SESSION_HEADER] = self.session
        try:
            answer = self._pool.request(
                "POST",
                f"{self._place.base}{ROOT}{path}",
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            content = answer.read(MAX_ANSWER + 1)
            answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise self._failure(error) from None
        if len(content) > MAX_ANSWER:
            raise InvalidResponse(f"{self.name}: the answer is larger than the limit")
        if not 200 <= answer.status < 300:
            raise self._refusal(answer, content)
        return content

    def _refusal(self, answer: urllib3.BaseHTTPResponse, body: bytes) -> ReadError:
        if 300 <= answer.status < 400:
            location = clean(answer.headers.get("Location", "another address"), longest=200)
            words = f"{self.name}: the server redirects to {location}; use the final URL"
            return InvalidResponse(words, code="redirected")
        try:
            refusal = unpacked(body, AgentRefusal)
        except InvalidResponse:
            return ServerFailed(f"{self.name}: HTTP {answer.status}, not from karpdash")
        words = f"{self.name}: {clean(refusal.message)}"
        if answer.status == 401:
            return Unauthorized(words, code=clean(refusal.code, longest=40))
        refused = RefusedByServer(words, code=clean(refusal.code, longest=40))
        refused.expected = refusal.expected
        return refused

    def _failure(self, error: urllib3.exceptions.HTTPError) -> ReadError:
        reason = error.__cause__ or error.__context__ or error
        if isinstance(error, urllib3.exceptions.SSLError) or isinstance(reason, ssl.SSLError):
            return TlsRefused(f"{self.name}: the server's certificate is not accepted: {clean(str(reason))}")
        if isinstance(error, urllib3.exceptions.ProxyError):
            return Unreachable(f"{self.name}: the proxy does not pass it on: {clean(str(reason))}", code="proxy")
        if isinstance(error, urllib3.exceptions.TimeoutError):
            return TimedOut(f"{self.name}: no answer in time")
        return Unreachable(f"{self.name}: the connection failed")


_PROXY = re.compile(r"https?://[A-Za-z0-9.\[\]:_-]+/?")
_PLAIN = re.compile(r"https?://[A-Za-z0-9.\[\]:_-]+(/[A-Za-z0-9._~/-]*)?")


def checked_url(url: str) -> str:
    """Returns the URL of a server in the form that agents use. Raises InvalidInput for a URL that no agent accepts."""
    base = _server_address(url).base
    if not _PLAIN.fullmatch(base):
        raise InvalidInput(f"{clean(url, longest=60)!r} is not a plain URL", where="--server")
    return base


def checked_proxy(url: str) -> str:
    """The URL of a proxy for a manifest. Raises InvalidInput, also for one with a password in it."""
    if not _PROXY.fullmatch(url):
        raise InvalidInput("is not the URL of a proxy, such as http://proxy.example:3128", where="--proxy")
    return url.rstrip("/")


def _server_address(url: str) -> _ServerAddress:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        complete = parts.scheme in ("http", "https") and host and (parts.port or 1)
    except ValueError:
        complete, host = None, ""
    if not complete or parts.username or parts.query or parts.fragment:
        raise InvalidInput(
            f"{clean(url, longest=60)!r} is not a URL such as https://karpdash.example.com", where="--server"
        )
    safe = parts.scheme == "https"
    if not safe and not _is_loopback(host):
        raise InvalidInput("plain http would send the token unencrypted: use https", where="--server")
    return _ServerAddress(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", parts.netloc, host, safe)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _pool(place: _ServerAddress, ca_file: Path | None) -> urllib3.PoolManager:
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    if not place.safe:
        return urllib3.PoolManager(timeout=timeout, retries=False, maxsize=MAX_CALLS + 1)
    try:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except (OSError, ssl.SSLError):
        raise InvalidInput("contains no readable certificates", where=str(ca_file)) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    proxy = _proxy(place.host)
    if not proxy:
        return urllib3.PoolManager(timeout=timeout, retries=False, maxsize=MAX_CALLS + 1, ssl_context=context)
    parts = urlsplit(proxy)
    account = f"{parts.username}:{parts.password or ''}" if parts.username else ""
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    try:
        return urllib3.ProxyManager(
            address,
            timeout=timeout,
            retries=False,
            maxsize=MAX_CALLS + 1,
            ssl_context=context,
            proxy_headers=urllib3.make_headers(proxy_basic_auth=account) if account else None,
        )
    except (ValueError, urllib3.exceptions.HTTPError):
        raise InvalidInput(
            "is not the URL of a proxy, such as http://proxy.example:3128", where="HTTPS_PROXY"
        ) from None


def _proxy(host: str) -> str:
    """The proxy that the environment names for that host; empty without one."""
    if urllib.request.proxy_bypass_environment(host):  # type: ignore[attr-defined]  # missing in the stubs
        return ""
    proxies = urllib.request.getproxies_environment()
    return str(proxies.get("https") or proxies.get("all") or "")
