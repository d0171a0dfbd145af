"""Sends webhook notifications: https only, checked addresses, no redirects, ten-second timeout (T03)."""

import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.http import CallBounds, deliver
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput

TIMEOUT_SECONDS = 10.0
MAX_URL_LENGTH = 2000


def read_address(url: str) -> SplitResult:
    """The parts of an https URL. Raises InvalidInput; messages never contain the URL, since it may be a secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput("is not a URL", where="target", code="bad_target") from None
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url and len(url) <= MAX_URL_LENGTH
    if not plain or not host or port == 0 or parts.scheme != "https" or "@" in parts.netloc or parts.fragment:
        raise InvalidInput("must be https://host/path", where="target", code="bad_target")
    return parts


def post(
    url: str, body: bytes, *, headers: Mapping[str, str], reach: OutboundPolicy, resolver: Resolver = ask_resolver
) -> None:
    """Sends the body; any 2xx status means received. Raises InvalidInput for the URL, and ReadError."""
    read_address(url)
    bounds = CallBounds(server="webhook", reach=reach, ends=time.monotonic() + TIMEOUT_SECONDS, resolver=resolver)
    deliver(url, body, bounds=bounds, headers={"User-Agent": "karpdash", **headers})


def signed(body: bytes, *, secrets: Sequence[Secret], at: int) -> dict[str, str]:
    """HMAC signature headers that let a receiver verify the sender and the time; one signature for each secret."""
    text = str(at).encode() + b"." + body
    signatures = [hmac.new(secret.reveal().encode(), text, hashlib.sha256).hexdigest() for secret in secrets]
    return {
        "Karpdash-Timestamp": str(at),
        "Karpdash-Signature": ",".join(f"v1={signature}" for signature in signatures),
    }
