"""A small real SMTP server: accepts mail, offers STARTTLS, requires a password, or behaves badly."""

import socketserver
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.fakes.certificates import Authority


class MailSink(socketserver.ThreadingTCPServer):
    """`got` holds (recipients, text, whether over TLS, who signed in) of each mail."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, folder: Path, *, tls: bool = True, at_once: bool = False, refuse: Sequence[str] = (), bad: str = ""
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        authority = Authority()
        pair = authority.issue()
        (folder / "mail-ca.pem").write_text(authority.pem)
        (folder / "mail.pem").write_text(pair.certificate + pair.key)
        self.trust = str(folder / "mail-ca.pem")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "mail.pem")
        self.tls, self.at_once, self.refuse, self.bad = tls, at_once, tuple(refuse), bad
        self.port = self.server_address[1]
        self.got: list[tuple[list[str], str, bool, str]] = []
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, *_: object) -> None:
        """Ignores a sender that closes the connection."""


class _Session(socketserver.StreamRequestHandler):
    server: MailSink

    def handle(self) -> None:
        self.safe, self.who = False, ""
        self.to: list[str] = []
        if self.server.at_once:
            self._secure()
        if self.server.bad:
            self._misbehave()
            return
        self._say("220 sink")
        while line := self.rfile.readline(2000):
            if self._done(line.decode("latin-1").strip()):
                return

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.connection.close()

    def _done(self, line: str) -> bool:
        verb = line.partition(" ")[0].upper()
        if verb == "EHLO":
            offers = ["sink", *(["STARTTLS"] if self.server.tls and not self.safe else []), "AUTH PLAIN"]
            self._say("\r\n".join(f"250-{offer}" for offer in offers[:-1]) + f"\r\n250 {offers[-1]}")
        elif verb == "STARTTLS":
            self._say("220 go on")
            self._secure()
        elif verb == "RCPT":
            self._rcpt(line)
        elif verb == "DATA":
            self._data()
        elif verb == "AUTH":
            self.who = line.split()[-1]
            self._say("235 welcome")
        else:
            self._say("221 bye" if verb == "QUIT" else "250 fine")
        return verb == "QUIT"

    def _rcpt(self, line: str) -> None:
        address = line.partition("<")[2].partition(">")[0]
        if address in self.server.refuse:
            self._say("550 canary-answer: no such mailbox")
            return
        self.to.append(address)
        self._say("250 fine")

    def _data(self) -> None:
        self._say("354 go on")
        lines: list[bytes] = []
        while (line := self.rfile.readline(10_000)) not in (b".\r\n", b""):
            lines.append(line)
        self.server.got.append((self.to, b"".join(lines).decode(), self.safe, self.who))
        self._say("250 taken")

    def _misbehave(self) -> None:
        while not self.server.stopped.is_set():
            if self.server.bad == "drip":
                self.wfile.write(b"2")
                time.sleep(0.05)
            elif self.server.bad == "flood":
                self.wfile.write(b"220-canary-answer and more\r\n" * 1000)
            else:
                self.server.stopped.wait(0.1)

    def _secure(self) -> None:
        self.safe = True
        self.connection = self.request = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")
