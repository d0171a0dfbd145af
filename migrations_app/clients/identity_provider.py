"""OpenID Connect client: discovery document, signing keys, and the token endpoint, by the guarded client (T03)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from migrations_app.clients.addresses import OutboundPolicy, is_loopback
from migrations_app.clients.http import CallBounds, send
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, InvalidResponse, ServerFailed

TIMEOUT_SECONDS = 10.0
MAX_BYTES = 512 * 1024
WELL_KNOWN = "/.well-known/openid-configuration"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcClient:
    """The OpenID Connect settings. Groups that start with `groups_prefix` become teams, named without the prefix."""

    issuer: str
    client_id: str
    client_secret: Secret
    username_claim: str
    groups_claim: str
    groups_prefix: str
    scopes: str
    label: str


def read_issuer(url: str) -> str:
    """The issuer URL: https, or http on this machine. Raises InvalidInput."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput("is not a URL") from None
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= 500
    if not plain or not host or port == 0 or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidInput("must be https://host/path")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise InvalidInput("must begin with https://; http is allowed for a loopback address only")
    return url


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The provider's endpoints, from its discovery document."""

    issuer: str
    authorization: str
    token: str
    keys: str


def discover(issuer: str, *, reach: OutboundPolicy) -> Provider:
    """The endpoints of that issuer. Raises ReadError; InvalidResponse if the document names another issuer."""
    document = _fetch("GET", issuer.rstrip("/") + WELL_KNOWN, reach=reach)
    if document.get("issuer") != issuer:
        raise InvalidResponse("the identity provider names another issuer", code="other_issuer")
    return Provider(
        issuer=issuer,
        authorization=_address(document, "authorization_endpoint", issuer=issuer),
        token=_address(document, "token_endpoint", issuer=issuer),
        keys=_address(document, "jwks_uri", issuer=issuer),
    )


def keys_of(provider: Provider, *, reach: OutboundPolicy) -> list[dict[str, Any]]:
    """The provider's signing keys. Raises ReadError."""
    keys = _fetch("GET", provider.keys, reach=reach).get("keys")
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
        raise InvalidResponse("the identity provider's keys cannot be read")
    return keys


def tokens_for(provider: Provider, form: Mapping[str, str], *, reach: OutboundPolicy) -> dict[str, Any]:
    """The token endpoint's response to an authorization code. Raises ReadError; ServerFailed if the code is refused."""
    return _fetch("POST", provider.token, reach=reach, form=form)


def _address(document: Mapping[str, Any], name: str, *, issuer: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or len(url) > 2000:
        raise InvalidResponse(f"the identity provider's {name} is not an address")
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    # Plain http is accepted only if the issuer itself uses it, which the settings allow on this machine only.
    if not usable or (parts.scheme != "https" and not (parts.scheme == "http" and issuer.startswith("http://"))):
        raise InvalidResponse(f"the identity provider's {name} is not an https address", code="not_https")
    return url


def _fetch(method: str, url: str, *, reach: OutboundPolicy, form: Mapping[str, str] | None = None) -> dict[str, Any]:
    # The settings take plain http for loopback addresses alone, and the client refuses it for others.
    policy = replace(reach, allow_loopback=True) if url.startswith("http://") else reach
    bounds = CallBounds(
        server="identity provider", reach=policy, ends=time.monotonic() + TIMEOUT_SECONDS, most=MAX_BYTES
    )
    headers = {"Accept": "application/json", "User-Agent": "karpdash"} | ({"Content-Type": FORM} if form else {})
    answer = send(method, url, bounds=bounds, headers=headers, body=urlencode(form).encode() if form else None)
    if answer.status != 200:
        raise ServerFailed(f"the identity provider answered {answer.status}")
    try:
        document = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        document = None
    if not isinstance(document, dict):
        raise InvalidResponse("the identity provider's answer cannot be read")
    return document
