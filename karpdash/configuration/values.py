"""Parses the texts of single settings. Each function raises InvalidInput, with a message that contains no secret."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from migrations_app.clients.addresses import is_loopback
from migrations_app.clients.helm.charts import read_registry
from migrations_app.clients.identity_provider import read_issuer
from migrations_app.clients.mail import MailServer, read_mail_server
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput

TLS_OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Options of libpq that are allowed in the query of a PostgreSQL URL."""


def read_database(url: str) -> dict[str, Any]:
    """Returns Django's dictionary for one database."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(parts.path[1:] if parts.path.startswith("//") else parts.path)
    if parts.scheme in ("postgres", "postgresql"):
        return _postgres(parts)
    raise InvalidInput(f"scheme {parts.scheme!r} is neither sqlite nor postgres")


def _sqlite(path: str) -> dict[str, Any]:
    # Measured: without IMMEDIATE most concurrent writes fail at once instead of waiting for the lock.
    options = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": options, "CONN_MAX_AGE": 60}


def _postgres(parts: SplitResult) -> dict[str, Any]:
    if not parts.path.lstrip("/"):
        raise InvalidInput("names no database")
    options = dict(parse_qsl(parts.query))
    strange = [name for name in options if name not in TLS_OPTIONS]
    if strange:
        raise InvalidInput(f"{strange[0]!r} is none of {', '.join(TLS_OPTIONS)}")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": options,
        "NAME": parts.path.lstrip("/"),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def read_broker(url: str) -> str:
    """Returns the broker's URL, as Celery takes it."""
    if (scheme := urlsplit(url).scheme) not in ("redis", "rediss", "redis+socket", "memory"):
        raise InvalidInput(f"scheme {scheme!r} is none of redis, rediss, redis+socket")
    return url


def read_keys(text: str) -> tuple[tuple[str, bytes], ...]:
    """Returns pairs of id and key of 32 bytes, in the order of the text."""
    return tuple(_key(piece.strip()) for piece in text.split(",") if piece.strip())


def _key(text: str) -> tuple[str, bytes]:
    name, _, encoded = text.partition(":")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise InvalidInput(f"key {name!r} is not base64") from None
    if len(key) != 32 or not name:
        raise InvalidInput(f"key {name!r} must be id:base64 of 32 bytes")
    return name, key


def read_signing_key(text: str) -> bytes:
    """Returns 32 bytes; an empty value for an empty text."""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b"?"
    if len(key) not in (0, 32):
        raise InvalidInput("must be base64 of 32 bytes")
    return key


def read_email(url: str) -> MailServer | None:
    """Returns the mail server; None for an empty text: no mail is sent."""
    return read_mail_server(url) if url else None


def read_endpoint(url: str) -> str:
    """Returns the endpoint of signed AWS requests; plain http only on this machine. Empty: AWS's own endpoints."""
    if url:
        parts, host = _split(url)
        if parts.username is not None or not host or parts.scheme not in ("http", "https"):
            raise InvalidInput("must be https://host, or http://127.0.0.1:port for tests")
        if parts.scheme == "http" and not is_loopback(host):
            raise InvalidInput("plain http is allowed for a loopback address only")
    return url


def read_audit_url(url: str) -> str:
    """Returns the URL that checkpoints are sent to; whether plain http is allowed depends on another setting."""
    if url:
        parts, host = _split(url)
        if not url.isascii() or not url.isprintable() or " " in url or len(url) > 500:
            raise InvalidInput("is no URL of at most 500 plain characters")
        if not host or parts.username is not None or parts.fragment or parts.scheme not in ("http", "https"):
            raise InvalidInput("must be https://host/path")
    return url


def _split(url: str) -> tuple[SplitResult, str]:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput("is no URL") from None
    return parts, host


def read_audit_file(path: str) -> str:
    """Returns the path; empty if checkpoints are not written to a file."""
    if path and not Path(path).is_absolute():
        raise InvalidInput("must be an absolute path: every process writes to the same file")
    return path


def read_alive_file(path: str) -> str:
    """Returns the path; empty if no health check looks at a file."""
    if path and not Path(path).is_absolute():
        raise InvalidInput("must be an absolute path")
    return path


def read_token(text: str) -> Secret:
    """Returns a token that a header may contain."""
    if not text.isascii() or not (text or "x").isprintable() or " " in text:
        raise InvalidInput("holds characters that no header may carry")
    return Secret(text)


def read_charts(text: str) -> str:
    """Returns the registry; empty if charts come from the data folder only."""
    if text not in ("", "official"):
        read_registry(text)
    return text


def read_oidc_issuer(url: str) -> str:
    """Returns the provider's URL; empty if sign-in uses passwords only."""
    return read_issuer(url) if url else ""


def read_scopes(text: str) -> str:
    """Returns scopes of OpenID Connect from a text separated by spaces."""
    if "openid" not in text.split():
        raise InvalidInput("must name openid")
    return text


def read_line(text: str) -> str:
    """Returns a text that is not empty and has one line."""
    if not text or not text.isprintable():
        raise InvalidInput("must be a text in one line")
    return text
