"""Sends one mail through Django's SMTP backend, over TLS, to the server that the operator named."""

import ipaddress
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.utils import make_msgid

from django.core.mail import BadHeaderError, EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.message import sanitize_address

from migrations_app.clients.mail import MailServer
from migrations_app.errors import InvalidInput, ServerFailed, TimedOut, TlsRefused, Unreachable

SECONDS = 10.0
"""How long each answer of the server may take."""
ENCODING = "utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """`id` is the same whenever the same mail is sent again, so that mailboxes can tell."""

    to: tuple[str, ...]
    subject: str
    text: str
    id: str


def send(server: MailServer, mail: Mail, *, seconds: float = SECONDS) -> None:
    """Gives the mail to the server, for all recipients at once. Nothing of its answers is kept.

    Raises Unreachable, TlsRefused, TimedOut, and ServerFailed: `mail_refused`, or `mail_partly_refused` when the server
    took it for some of them. InvalidInput `bad_mail`: a header would hold a line break.
    """
    message = _message(server, mail)
    recipients = [_address(each) for each in mail.to]
    try:
        refused = _sent(server, recipients, message=message, seconds=seconds)
    except ssl.SSLError:
        raise TlsRefused("the mail server is not trusted, or does not speak TLS") from None
    except smtplib.SMTPException as wrong:
        if isinstance(wrong.__context__, TimeoutError):
            raise TimedOut("the mail server did not answer in time") from None
        raise ServerFailed("the mail server did not take the mail", code="mail_refused") from None
    except TimeoutError:
        raise TimedOut("the mail server did not answer in time") from None
    except OSError:
        raise Unreachable("the mail server does not answer") from None
    if refused:
        raise ServerFailed("the mail server refused some of the addresses", code="mail_partly_refused")


def _sent(server: MailServer, recipients: list[str], *, message: bytes, seconds: float) -> bool:
    """Whether the server refused some of the recipients."""
    backend = _opened(server, seconds=seconds)
    try:
        connection = backend.connection
        if connection is None:
            raise ServerFailed("the mail server did not take the mail", code="mail_refused")
        return bool(connection.sendmail(_address(server.sender), recipients, message))
    finally:
        _close(backend)


def _opened(server: MailServer, *, seconds: float) -> EmailBackend:
    """In clear only to a server on this machine that offers no TLS, and never with a password. Raises TlsRefused."""
    backend = _backend(server, seconds=seconds, starttls=not server.safe)
    try:
        backend.open()
    except smtplib.SMTPNotSupportedError:
        _close(backend)
        if server.safe:
            raise  # it offers no sign-in
        if server.user or not _is_here(server.host):
            raise TlsRefused("the mail server does not offer STARTTLS, or no sign-in") from None
        backend = _backend(server, seconds=seconds, starttls=False)
        backend.open()
    except OSError:
        _close(backend)
        raise
    return backend


def _backend(server: MailServer, *, seconds: float, starttls: bool) -> EmailBackend:
    return EmailBackend(
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password.reveal(),
        use_ssl=server.safe,
        use_tls=starttls,
        timeout=seconds,
    )


def _close(backend: EmailBackend) -> None:
    # The mail was taken or refused before: what the server says to a goodbye changes nothing.
    with suppress(smtplib.SMTPException, OSError):
        backend.close()


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _message(server: MailServer, mail: Mail) -> bytes:
    made = EmailMessage(
        subject=mail.subject,
        body=mail.text,
        from_email=server.sender,
        # Several people do not learn of each other's addresses.
        to=[mail.to[0] if len(mail.to) == 1 else server.sender],
        headers={
            "Message-ID": f"<{mail.id}@karpdash>" if mail.id else make_msgid(domain="karpdash"),
            "Auto-Submitted": "auto-generated",
        },
    )
    try:
        return made.message().as_bytes(linesep="\r\n")  # type: ignore[call-arg]  # Django's messages take it, the stubs do not know
    except BadHeaderError:
        raise _bad() from None


def _address(text: str) -> str:
    """The address as the protocol takes it, a domain of other letters in its ASCII form."""
    try:
        return sanitize_address(text, ENCODING)
    except ValueError:
        raise _bad() from None


def _bad() -> InvalidInput:
    return InvalidInput("a header of the mail would hold a line break, or an address is none", code="bad_mail")
