"""Sends one mail through the configured mail server: checked address, TLS before credentials or content, a hard
timeout.
"""

import ipaddress
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import IO
from urllib.parse import parse_qs, unquote, urlsplit

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver, resolve
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, ServerFailed, TimedOut, TlsRefused, Unreachable

TIMEOUT_SECONDS = 15.0
MAX_REPLY_BYTES = 65_536
"""Bytes that the server may send in one session."""
PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """`safe`: TLS from the first byte; otherwise TLS starts with STARTTLS before the mail is sent."""

    host: str
    port: int
    safe: bool
    user: str
    password: Secret
    sender: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """`id` stays the same if the same mail is sent again, so that mailboxes can detect the duplicate."""

    to: tuple[str, ...]
    subject: str
    text: str
    id: str


def read_mail_server(url: str) -> MailServer:
    """Parses smtp:// (STARTTLS) or smtps://user:password@host:port?from=address. Raises InvalidInput; messages never
    contain the URL, since it holds a password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        sender = parse_qs(parts.query)["from"][0]
    except (ValueError, KeyError):
        raise _invalid_url() from None
    plain = sender.isascii() and sender.isprintable() and " " not in sender and sender.count("@") == 1
    if not host or not url.isprintable() or not plain:
        raise _invalid_url()
    user, password = unquote(parts.username or ""), Secret(unquote(parts.password or ""))
    return MailServer(host=host, port=port, safe=parts.scheme == "smtps", user=user, password=password, sender=sender)


def send(
    server: MailServer,
    mail: Mail,
    *,
    reach: OutboundPolicy,
    seconds: float = TIMEOUT_SECONDS,
    resolver: Resolver = ask_resolver,
) -> None:
    """Sends the mail to all recipients at once. Nothing of the server's responses is kept.

    Raises AddressRefused, Unreachable, TlsRefused, TimedOut, and ServerFailed: `mail_refused`, or
    `mail_partly_refused` if the server refused some of the recipients. InvalidInput `bad_mail`: a header would hold a
    line break, or an address is none.
    """
    message, recipients = _message(server, mail), [_address(recipient) for recipient in mail.to]
    address = resolve(server.host, server.port, reach=reach, seconds=seconds, resolver=resolver)[0]
    with _time_limit(seconds) as deadline:
        try:
            refused = _deliver(server, message, recipients=recipients, address=address, deadline=deadline)
        except ssl.SSLError:
            raise _timeout_error(deadline) or TlsRefused(
                "the mail server is not trusted, or does not speak TLS"
            ) from None
        except smtplib.SMTPException:
            raise _timeout_error(deadline) or ServerFailed(
                "the mail server did not accept the mail", code="mail_refused"
            ) from None
        except OSError:
            raise _timeout_error(deadline) or Unreachable("the mail server does not answer") from None
    if refused:
        raise ServerFailed("the mail server refused some of the addresses", code="mail_partly_refused")


def _deliver(
    server: MailServer, message: EmailMessage, *, recipients: list[str], address: str, deadline: "_Deadline"
) -> bool:
    """Whether the server refused some recipient."""
    line = _Connection(server, address, deadline=deadline)
    try:
        _start_session(line, server, on_this_machine=ipaddress.ip_address(address).is_loopback)
        refused = line.send_message(message, server.sender, recipients)
        # The mail is accepted: errors during QUIT no longer matter.
        with suppress(smtplib.SMTPException, OSError):
            line.quit()
    finally:
        line.close()
    return bool(refused)


class _Deadline:
    """Shuts the connection down when the time is over, even if the server keeps sending bytes."""

    def __init__(self) -> None:
        self.ran_out = False
        self._line: socket.socket | None = None

    def watch(self, line: socket.socket) -> socket.socket:
        """Registers the socket to shut down at the deadline. Raises TimeoutError if the deadline has already passed."""
        self._line = line
        if self.ran_out:
            line.close()
            raise TimeoutError("the time limit for the mail server is over")
        return line

    def cut(self) -> None:
        self.ran_out = True
        if self._line is not None:
            with suppress(OSError):
                # The shutdown of the plain socket: that of the TLS socket would remove state that the other thread is
                # reading.
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)


@contextmanager
def _time_limit(seconds: float) -> Iterator[_Deadline]:
    deadline = _Deadline()
    timer = threading.Timer(seconds, deadline.cut)
    timer.daemon = True
    timer.start()
    try:
        yield deadline
    finally:
        timer.cancel()


class _Connection(smtplib.SMTP):
    """An SMTP connection to the checked address that still uses the server's host name."""

    def __init__(self, server: MailServer, address: str, *, deadline: _Deadline) -> None:
        self._server, self._address, self._deadline = server, address, deadline
        super().__init__(server.host, server.port, local_hostname="karpdash", timeout=TIMEOUT_SECONDS)

    def _get_socket(self, _host: str, port: int, timeout: float) -> socket.socket:
        plain = self._deadline.watch(socket.create_connection((self._address, port), timeout))
        if not self._server.safe:
            return plain
        safe = tls().wrap_socket(plain, server_hostname=self._server.host, do_handshake_on_connect=False)
        try:
            self._deadline.watch(safe)
            safe.do_handshake()
        except OSError:
            safe.close()
            raise
        return safe

    def begin_tls(self) -> None:
        """Starts TLS. Raises SMTPException if the server refuses."""
        self.starttls(context=tls())
        if self.sock is not None:
            self._deadline.watch(self.sock)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _BoundedReplies(self.sock.makefile("rb"))
        return super().getreply()


class _BoundedReplies:
    """A reader that limits what the server may send in one session."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, MAX_REPLY_BYTES

    def readline(self, most: int) -> bytes:
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise OSError("the mail server sent too much data")
        return line

    def close(self) -> None:
        self._file.close()


def tls() -> ssl.SSLContext:
    """A context with the system's trusted certificates and at least TLS 1.2."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _start_session(line: _Connection, server: MailServer, *, on_this_machine: bool) -> None:
    """Starts TLS and logs in. Plain text is used only with a server on this machine, and never with a password. Raises
    TlsRefused.
    """
    line.ehlo()
    if not server.safe:
        if line.has_extn("starttls"):
            line.begin_tls()
            line.ehlo()
        elif not on_this_machine or server.user:
            raise TlsRefused("the mail server does not offer STARTTLS")
    if server.user:
        line.login(server.user, server.password.reveal())


def _message(server: MailServer, mail: Mail) -> EmailMessage:
    """Raises InvalidInput `bad_mail` where a header would hold a line break."""
    message = EmailMessage()
    try:
        message["From"] = server.sender
        # Recipients do not see each other's addresses.
        message["To"] = _address(mail.to[0]) if len(mail.to) == 1 else server.sender
        message["Subject"] = mail.subject
        message["Date"] = formatdate()
        message["Message-ID"] = f"<{mail.id}@karpdash>" if mail.id else make_msgid(domain="karpdash")
    except ValueError:
        raise _invalid_mail() from None
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def _address(text: str) -> str:
    """The address in the form of SMTP, with the domain in ASCII. Raises InvalidInput `bad_mail`."""
    local, _, domain = text.rpartition("@")
    try:
        plain = f"{local}@{domain.encode('idna').decode()}"
    except UnicodeError:
        raise _invalid_mail() from None
    if not local or not plain.isascii() or not plain.isprintable() or any(character in plain for character in " <>"):
        raise _invalid_mail()
    return plain


def _timeout_error(deadline: _Deadline) -> TimedOut | None:
    return TimedOut("the mail server did not answer in time") if deadline.ran_out else None


def _invalid_mail() -> InvalidInput:
    return InvalidInput("a header of the mail would contain a line break, or an address is not valid", code="bad_mail")


def _invalid_url() -> InvalidInput:
    return InvalidInput("must be smtp(s)://user:password@host:port?from=address", code="bad_mail_server")
