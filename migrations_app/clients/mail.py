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

SECONDS = 15.0
MOST = 65_536
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
        raise _bad() from None
    plain = sender.isascii() and sender.isprintable() and " " not in sender and sender.count("@") == 1
    if not host or not url.isprintable() or not plain:
        raise _bad()
    user, password = unquote(parts.username or ""), Secret(unquote(parts.password or ""))
    return MailServer(host=host, port=port, safe=parts.scheme == "smtps", user=user, password=password, sender=sender)


def send(
    server: MailServer,
    mail: Mail,
    *,
    reach: OutboundPolicy,
    seconds: float = SECONDS,
    resolver: Resolver = ask_resolver,
) -> None:
    """Sends the mail to all recipients at once. Nothing of the server's responses is kept.

    Raises AddressRefused, Unreachable, TlsRefused, TimedOut, and ServerFailed: `mail_refused`, or
    `mail_partly_refused` if the server refused some of the recipients.
    """
    address = resolve(server.host, server.port, reach=reach, seconds=seconds, resolver=resolver)[0]
    with _ended_after(seconds) as over:
        try:
            refused = _sent(server, mail, address=address, over=over)
        except ssl.SSLError:
            raise _late(over) or TlsRefused("the mail server is not trusted, or does not speak TLS") from None
        except smtplib.SMTPException:
            raise _late(over) or ServerFailed("the mail server did not take the mail", code="mail_refused") from None
        except OSError:
            raise _late(over) or Unreachable("the mail server does not answer") from None
    if refused:
        raise ServerFailed("the mail server refused some of the addresses", code="mail_partly_refused")


def _sent(server: MailServer, mail: Mail, *, address: str, over: "_Over") -> bool:
    """Whether the server refused some recipient."""
    line = _Line(server, address, over=over)
    try:
        _begin(line, server, here=ipaddress.ip_address(address).is_loopback)
        refused = line.send_message(_written(server, mail), server.sender, list(mail.to))
        # The mail is accepted: errors during QUIT no longer matter.
        with suppress(smtplib.SMTPException, OSError):
            line.quit()
    finally:
        line.close()
    return bool(refused)


class _Over:
    """Shuts the connection down when the time is over, even if the server keeps sending bytes."""

    def __init__(self) -> None:
        self.ran_out = False
        self._line: socket.socket | None = None

    def watch(self, line: socket.socket) -> socket.socket:
        """Registers the socket to shut down at the deadline. Raises TimeoutError if the deadline has already passed."""
        self._line = line
        if self.ran_out:
            line.close()
            raise TimeoutError("the time for the mail server is over")
        return line

    def cut(self) -> None:
        self.ran_out = True
        if self._line is not None:
            with suppress(OSError):
                # The shutdown of the plain socket: that of the TLS socket would remove state that the other thread is
                # reading.
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)


@contextmanager
def _ended_after(seconds: float) -> Iterator[_Over]:
    over = _Over()
    timer = threading.Timer(seconds, over.cut)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()


class _Line(smtplib.SMTP):
    """An SMTP connection to the checked address that still uses the server's host name."""

    def __init__(self, server: MailServer, address: str, *, over: _Over) -> None:
        self._server, self._address, self._over = server, address, over
        super().__init__(server.host, server.port, local_hostname="karpdash", timeout=SECONDS)

    def _get_socket(self, _host: str, port: int, timeout: float) -> socket.socket:
        plain = self._over.watch(socket.create_connection((self._address, port), timeout))
        if not self._server.safe:
            return plain
        safe = tls().wrap_socket(plain, server_hostname=self._server.host, do_handshake_on_connect=False)
        try:
            self._over.watch(safe)
            safe.do_handshake()
        except OSError:
            safe.close()
            raise
        return safe

    def begin_tls(self) -> None:
        """Starts TLS. Raises SMTPException if the server refuses."""
        self.starttls(context=tls())
        if self.sock is not None:
            self._over.watch(self.sock)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        return super().getreply()


class _Bounded:
    """A reader that limits what the server may send in one session."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, MOST

    def readline(self, most: int) -> bytes:
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise OSError("the mail server says too much")
        return line

    def close(self) -> None:
        self._file.close()


def tls() -> ssl.SSLContext:
    """A context with the system's trusted certificates and at least TLS 1.2."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _begin(line: _Line, server: MailServer, *, here: bool) -> None:
    """Starts TLS and logs in. Plain text is used only with a server on this machine, and never with a password. Raises
    TlsRefused.
    """
    line.ehlo()
    if not server.safe:
        if line.has_extn("starttls"):
            line.begin_tls()
            line.ehlo()
        elif not here or server.user:
            raise TlsRefused("the mail server does not offer STARTTLS")
    if server.user:
        line.login(server.user, server.password.reveal())


def _written(server: MailServer, mail: Mail) -> EmailMessage:
    made = EmailMessage()
    made["From"] = server.sender
    # Recipients do not see each other's addresses.
    made["To"] = mail.to[0] if len(mail.to) == 1 else server.sender
    made["Subject"] = mail.subject
    made["Date"] = formatdate()
    made["Message-ID"] = f"<{mail.id}@karpdash>" if mail.id else make_msgid(domain="karpdash")
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(mail.text)
    return made


def _late(over: _Over) -> TimedOut | None:
    return TimedOut("the mail server did not answer in time") if over.ran_out else None


def _bad() -> InvalidInput:
    return InvalidInput("must be smtp(s)://user:password@host:port?from=address", code="bad_mail_server")
