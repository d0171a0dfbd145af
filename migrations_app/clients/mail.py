"""The installation's mail server as KARPDASH_EMAIL_URL names it; use_cases/notifications/mail.py sends to it."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput

PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """`safe`: TLS from the first byte on; otherwise STARTTLS before anything else."""

    host: str
    port: int
    safe: bool
    user: str
    password: Secret
    sender: str


def read_mail_server(url: str) -> MailServer:
    """smtp:// (STARTTLS) or smtps://user:password@host:port?from=address. Raises InvalidInput; the address stands in no
    message, since it holds a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        sender = parse_qs(parts.query)["from"][0]
    except (ValueError, KeyError):
        raise _bad() from None
    plain = sender.isascii() and sender.isprintable() and " " not in sender and sender.count("@") == 1
    if not host or not url.isprintable() or not plain:
        raise _bad()
    user, password = unquote(parts.username or ""), Secret(unquote(parts.password or ""))
    return MailServer(host=host, port=port, safe=parts.scheme == "smtps", user=user, password=password, sender=sender)


def _bad() -> InvalidInput:
    return InvalidInput("must be smtp(s)://user:password@host:port?from=address", code="bad_mail_server")
