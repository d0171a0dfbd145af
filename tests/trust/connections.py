"""A network that changes bytes on the way to an API server, and API servers whose watch lies (T06, T21, R11, R14)."""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from unittest.mock import patch

from migrations_app.clients.kubernetes import watching
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.clients.kubernetes.connection import Server
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import ReadError, TimedOut
from tests.clients.kubernetes.rig import CANARY, FAST, HERE, PATIENT, connection, speaking
from tests.fakes.evilk8s import LOOPBACK, EvilServer, Request, Wire
from tests.servers.waiting import AT_ONCE
from tests.trust.parts import Part

SHORT_LIMITS = replace(FAST, connect_seconds=0.5, read_seconds=0.5, call_seconds=1, slow_start_seconds=0.3, tries=2)
LONGEST = 2 * SHORT_LIMITS.call_seconds + AT_ONCE
"""Seconds: a handshake that does not end, and a call behind it."""
TRUTH = json.dumps({"kind": "PodList", "items": [{"metadata": {"name": f"pod-{n}"}} for n in range(40)]}).encode()
CHANGES = ("nothing", "cut", "flip", "insert", "drop", "repeat", "silence", "drip")
SERVER_BYTES, CLIENT_BYTES = 2600, 700
"""Of one connection: the server's handshake and answer, the client's handshake and request. Measured: 2,700 and 800."""


@dataclass(slots=True, kw_only=True)
class ChangingProxy:
    """Between client and server: changes each connection once, at that byte of one direction."""

    server_port: int
    change: str
    at: int
    from_server: bool
    reached: bool = False
    seen: bytearray = field(default_factory=bytearray)
    _sockets: list[socket.socket] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[int]:
        """The port to connect to."""
        with socket.create_server((LOOPBACK, 0)) as listener:
            accepting = threading.Thread(target=self._accept, args=(listener,), daemon=True)
            accepting.start()
            try:
                yield listener.getsockname()[1]
            finally:
                self._stop.set()
                listener.shutdown(socket.SHUT_RDWR)
                accepting.join()
                for each in self._sockets:
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
                    each.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while not self._stop.is_set():
                client, _ = listener.accept()
                self._sockets.append(client)
                server = socket.create_connection((LOOPBACK, self.server_port))
                self._sockets.append(server)
                for ends, is_server in (((client, server), False), ((server, client), True)):
                    passes = self._change_one if is_server is self.from_server else self._pass
                    threading.Thread(target=passes, args=ends, daemon=True).start()

    def _pass(self, taken: socket.socket, given: socket.socket) -> None:
        with suppress(OSError):
            while data := taken.recv(65536):
                self.seen += data
                given.sendall(data)
            given.shutdown(socket.SHUT_WR)

    def _change_one(self, taken: socket.socket, given: socket.socket) -> None:
        passed = 0
        with suppress(OSError):
            while data := taken.recv(65536):
                self.seen += data
                here = self.at - passed
                passed += len(data)
                if 0 <= here < len(data):
                    self.reached = True
                    given.sendall(data[:here])
                    self._send_changed(given, data[here:])
                else:
                    given.sendall(data)
            given.shutdown(socket.SHUT_WR)

    def _send_changed(self, given: socket.socket, rest: bytes) -> None:
        match self.change:
            case "cut":
                given.shutdown(socket.SHUT_RDWR)
            case "flip":
                given.sendall(bytes([rest[0] ^ 1]) + rest[1:])
            case "insert":
                given.sendall(b"\0" + rest)
            case "drop":
                given.sendall(rest[1:])
            case "repeat":
                given.sendall(rest[:1] + rest)
            case "silence":
                self._stop.wait(LONGEST)
            case "drip":
                for number in range(len(rest)):
                    given.sendall(rest[number : number + 1])
                    self._stop.wait(0.01)
            case _:
                given.sendall(rest)


def one_connection(dice: random.Random) -> str:
    """Empty if a get through a changing proxy came to the truth or to a reason in time, and told nobody the token."""
    change, from_server = dice.choice(CHANGES), dice.random() < 0.7
    at = dice.randrange(SERVER_BYTES if from_server else CLIENT_BYTES)
    honest = change == "nothing"
    with EvilServer(lambda _, wire: wire.answer(TRUTH)) as server:
        proxy = ChangingProxy(server_port=server.port, change=change, at=at, from_server=from_server)
        with proxy.running() as port:
            there = connection(server, server=Server(LOOPBACK, port))
            transport = Transport(there, reach=HERE, limits=PATIENT if honest else SHORT_LIMITS)
            began = time.monotonic()
            try:
                said = "" if transport.get("/api/v1/pods").body == TRUTH else "another answer than the server's"
                if not proxy.reached:
                    said = said or "the connection ended before that byte"
            except ReadError as reason:
                said = "" if reason.code and not honest else f"ended as {reason.code!r}"
                # Before that byte only the deadline may end it, on a busy machine.
                if not proxy.reached and not isinstance(reason, TimedOut):
                    said = said or f"ended as {reason.code!r} before that byte"
            finally:
                took = time.monotonic() - began
                transport.close()
    if not honest and took > LONGEST:
        said = said or f"took {took:.1f} s"
    if CANARY.encode() in proxy.seen:
        said = said or "the token was readable on the way"
    return said and f"{change} at {at} of the {'server' if from_server else 'client'}: {said}"


PODS, SINCE, COUNT = Resource("", "v1", "pods"), 100, 3
LIES = ("nothing", "cut", "byte", "garbage", "endless line", "pieces", "silence", "expired", "early bookmark", "number")


@dataclass(frozen=True, slots=True)
class History:
    """What was written since version 100: `events` of the list itself; `now` counts every write of the cluster."""

    events: tuple[bytes, ...]
    now: int


def a_history(dice: random.Random) -> History:
    version, events = SINCE, []
    for _ in range(dice.randrange(1, 5)):
        version += 1
        if dice.random() < 0.4:
            events.append(_event(dice.choice(("ADDED", "MODIFIED", "DELETED")), str(version)))
    return History(tuple(events), version)


def _event(kind: str, version: object) -> bytes:
    return (
        json.dumps({"type": kind, "object": {"kind": "Pod", "metadata": {"resourceVersion": version}}}).encode() + b"\n"
    )


def chunks_of(history: History, lie: str, dice: random.Random) -> tuple[list[bytes], str]:
    """The chunks of the watch with that lie, and how it ends: whole, cut or hanging."""
    bookmark = _event("BOOKMARK", str(history.now))
    events = b"".join(history.events)
    honest = events + bookmark
    # Half of what is cut ends just before the end of the line, where all is said but that it is said.
    at = len(honest) - 1 if dice.random() < 0.5 else dice.randrange(len(honest))
    match lie:
        case "cut":
            return [honest[:at]], "cut"
        case "silence":
            return [honest[:at]], "hang"
        case "byte":
            at = dice.randrange(len(honest))
            return [honest[:at] + bytes([dice.randrange(256)]) + honest[at + 1 :]], "whole"
        case "garbage":
            return [events, dice.randbytes(dice.randrange(1, 300)) + b"\n", bookmark], "whole"
        case "endless line":
            return [events, b"x" * (1 << 20), b"x" * (2 << 20), b"\n", bookmark], "whole"
        case "pieces":
            return [honest[n : n + 1] for n in range(len(honest))], "whole"
        case "expired":
            return [events, _event("ERROR", ""), bookmark], "whole"
        case "early bookmark":
            return [_event("BOOKMARK", str(history.now - 1)), honest], "whole"
        case "number":
            return [events, _event("MODIFIED", history.now), bookmark], "whole"
    return [honest], "whole"


BELIEVED = ("nothing", "pieces")
"""Where the watch is honest: it has to be believed."""
NEVER_BELIEVED = ("cut", "silence", "garbage", "endless line", "expired", "number")
"""Where the watch says something else before its bookmark, or never ends it."""


def one_watch(dice: random.Random) -> str:
    """Empty if a list that changed was not told as unchanged, an honest watch was believed, and all ended in time."""
    history, lie = a_history(dice), dice.choice(LIES)
    chunks, end = chunks_of(history, lie, dice)

    def script(request: Request, wire: Wire) -> None:
        if "watch" not in request.query:
            metadata = {"resourceVersion": str(history.now), "continue": "c", "remainingItemCount": COUNT - 1}
            wire.answer(json.dumps({"kind": "PodList", "metadata": metadata, "items": [{}]}).encode())
            return
        wire.begin()
        for chunk in filter(None, chunks):
            wire.chunk(chunk)
        {"whole": wire.end, "cut": wire.cut, "hang": wire.hang}[end]()

    seconds = 1 if end == "hang" else 60  # the others end by themselves, on a busy machine later
    began = time.monotonic()
    with speaking(script) as (transport, _), patch.object(watching, "SLACK", 0.5):
        try:
            found: object = watching.is_unchanged(transport, PODS, since=str(SINCE), count=COUNT, seconds=seconds)
        except ReadError as reason:
            found = reason.code
        took = time.monotonic() - began
    said = f"took {took:.1f} s" if took > seconds + 1 + AT_ONCE else ""
    if found is True and (history.events or lie in NEVER_BELIEVED):
        said = "told as unchanged"
    elif lie in BELIEVED and found is not (not history.events):
        said = f"an honest watch was told as {found}"
    return said and f"{lie}, {len(history.events)} events: {said}"


def each(trial: Callable[[random.Random], str], count: int, dice: random.Random) -> Sequence[str]:
    """An answer for each of so many cases, with the seed of its own that makes it again."""
    answers = []
    for _ in range(count):
        seed = dice.randrange(2**32)
        try:
            why = trial(random.Random(seed))
        except Exception as wrong:  # noqa: BLE001 - whatever is raised is the finding
            why = f"{type(wrong).__name__}: {wrong}"
        answers.append(why and f"seed {seed}: {why}")
    return answers


PARTS = (
    Part(name="changed connections", full=5_000, rules="T06, T21, R11", series=partial(each, one_connection)),
    Part(name="lying watches", full=5_000, rules="T06, R14", series=partial(each, one_watch)),
)
