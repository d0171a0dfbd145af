"""Carries one mail to the installation's mail server: judged address, TLS before anything of weight, a hard end."""

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
"""Bytes that a server may say to one mail."""
PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """`safe` from the first byte on; else TLS is begun before the mail (STARTTLS)."""

    host: str
    port: int
    safe: bool
    user: str
    password: Secret
    sender: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """`id` is the same whenever the same mail is sent again, so that mailboxes can tell."""

    to: tuple[str, ...]
    subject: str
    text: str
    id: str


def read_mail_server(url: str) -> MailServer:
    """smtp:// (STARTTLS) or smtps://user:password@host:port?from=address. Raises BadInput; the address stands in no
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


def send(
    server: MailServer,
    mail: Mail,
    *,
    reach: OutboundPolicy,
    seconds: float = SECONDS,
    resolver: Resolver = ask_resolver,
) -> None:
    """Gives the mail to the server, for everybody at once. Nothing of its answers is kept.

    Raises AddressRefused, Unreachable, TlsRefused, TimedOut, and ServerFailed: `mail_refused`, or `mail_partly_refused`
    when the server took it for some of them.
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
    """Whether somebody was refused."""
    line = _Line(server, address, over=over)
    try:
        _begin(line, server, here=ipaddress.ip_address(address).is_loopback)
        refused = line.send_message(_written(server, mail), server.sender, list(mail.to))
        # The mail is taken: what is said for a goodbye changes nothing.
        with suppress(smtplib.SMTPException, OSError):
            line.quit()
    finally:
        line.close()
    return bool(refused)


class _Over:
    """Cuts the line at the end of the time, whatever the server drips."""

    def __init__(self) -> None:
        self.ran_out = False
        self._line: socket.socket | None = None

    def watch(self, line: socket.socket) -> socket.socket:
        """The line that is cut from now on. Raises TimeoutError when it is too late for that."""
        self._line = line
        if self.ran_out:
            line.close()
            raise TimeoutError("the time for the mail server is over")
        return line

    def cut(self) -> None:
        self.ran_out = True
        if self._line is not None:
            with suppress(OSError):
                # That of the plain socket: TLS's own takes away what the other thread is just reading from.
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
    """Connects to the address that was judged, and names the server as it is called."""

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
        """Raises SMTPException when the server will not."""
        self.starttls(context=tls())
        if self.sock is not None:
            self._over.watch(self.sock)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        return super().getreply()


class _Bounded:
    """What a server says in one session, up to an end."""

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
    """What the system trusts, and nothing older than TLS 1.2."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _begin(line: _Line, server: MailServer, *, here: bool) -> None:
    """In clear only to a server on this machine, and never with a password. Raises TlsRefused."""
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
    # Several people do not learn of each other's addresses.
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
