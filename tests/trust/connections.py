"""A network that changes bytes on the way to an API server, and API servers whose watch lies (T06, T21, R11)."""

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
from migrations_app.errors import ReadError
from tests.clients.rig import CANARY, FAST, HERE, PATIENT, connection, speaking
from tests.fakes.evilk8s import LOOPBACK, EvilServer, Request, Wire
from tests.servers.waiting import AT_ONCE
from tests.trust.parts import Part

HURRIED = replace(FAST, connect_seconds=0.5, read_seconds=0.5, call_seconds=1, slow_start_seconds=0.3, tries=2)
LONGEST = 2 * HURRIED.call_seconds + AT_ONCE
"""Seconds: a handshake that does not end, and a call behind it."""
TRUTH = json.dumps({"kind": "PodList", "items": [{"metadata": {"name": f"pod-{n}"}} for n in range(40)]}).encode()
CHANGES = ("nothing", "cut", "flip", "insert", "drop", "repeat", "silence", "drip")
MOST_BYTES = 6000
"""Of both directions: the handshake takes some 2,500, the answer as many."""


@dataclass(slots=True)
class Meddler:
    """Between client and server: changes one direction once, at a byte of the connection. A context manager."""

    port: int
    change: str
    at: int
    of_server: bool
    seen: bytearray = field(default_factory=bytearray)
    _listener: socket.socket = field(default_factory=socket.socket)
    _open: list[socket.socket] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[int]:
        """The port to connect to."""
        self._listener.bind((LOOPBACK, 0))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self._listener.getsockname()[1]
        finally:
            self._stop.set()
            for each in (self._listener, *self._open):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._stop.is_set():
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self.port))
                self._open += [client, server]
                for taken, given, is_server in ((client, server, False), (server, client, True)):
                    hurt = is_server == self.of_server
                    threading.Thread(target=self._pass, args=(taken, given, hurt), daemon=True).start()

    def _pass(self, taken: socket.socket, given: socket.socket, hurt: bool) -> None:
        passed = 0
        with suppress(OSError):
            while data := taken.recv(65536):
                self.seen += data
                here = self.at - passed
                passed += len(data)
                if hurt and 0 <= here < len(data):
                    given.sendall(data[:here])
                    self._changed(given, data[here:])
                else:
                    given.sendall(data)
        with suppress(OSError):
            given.shutdown(socket.SHUT_WR)

    def _changed(self, given: socket.socket, rest: bytes) -> None:
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
    """Empty if a get through a meddler came to the truth or to a reason in time, and told nobody the token."""
    meddler = Meddler(0, dice.choice(CHANGES), dice.randrange(MOST_BYTES), dice.random() < 0.7)
    with EvilServer(lambda _, wire: wire.answer(TRUTH)) as server:
        meddler.port = server.port
        with meddler.running() as port:
            there = connection(server, server=Server(LOOPBACK, port))
            transport = Transport(there, reach=HERE, limits=PATIENT if meddler.change == "nothing" else HURRIED)
            began = time.monotonic()
            try:
                said = "" if transport.get("/api/v1/pods").body == TRUTH else "another answer than the server's"
            except ReadError as reason:
                said = "" if reason.code and meddler.change != "nothing" else f"ended as {reason.code!r}"
            took = time.monotonic() - began
            transport.close()
    if meddler.change != "nothing" and took > LONGEST:
        said = said or f"took {took:.1f} s"
    if CANARY.encode() in meddler.seen:
        said = said or "the token was readable on the way"
    return said and f"{meddler.change} at {meddler.at}: {said}"


PODS, SINCE, COUNT = Resource("", "v1", "pods"), 100, 3
LIES = (
    "nothing",
    "cut",
    "byte",
    "garbage",
    "endless line",
    "pieces",
    "silence",
    "expired",
    "early bookmark",
    "numbers",
)


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
            events.append(_event(dice.choice(("ADDED", "MODIFIED", "DELETED")), version))
    return History(tuple(events), version)


def _event(kind: str, version: object) -> bytes:
    return (
        json.dumps({"type": kind, "object": {"kind": "Pod", "metadata": {"resourceVersion": version}}}).encode() + b"\n"
    )


def told(history: History, lie: str, dice: random.Random) -> tuple[list[bytes], str]:
    """The chunks of the watch with that lie, and how it ends: whole, cut or hanging."""
    bookmark = _event("BOOKMARK", int(history.now) if lie == "numbers" else str(history.now))
    honest = b"".join((*history.events, bookmark))
    at = dice.randrange(len(honest))
    match lie:
        case "cut":
            return [honest[:at]], "cut"
        case "byte":
            return [honest[:at] + bytes([dice.randrange(256)]) + honest[at + 1 :]], "whole"
        case "garbage":
            return [*history.events, dice.randbytes(dice.randrange(1, 300)) + b"\n", bookmark], "whole"
        case "endless line":
            return [*history.events, b"x" * (1 << 20), b"x" * (2 << 20), bookmark], "whole"
        case "pieces":
            return [honest[n : n + 1] for n in range(len(honest))], "whole"
        case "silence":
            return [honest[:at]], "hang"
        case "expired":
            return [*history.events, _event("ERROR", ""), bookmark], "whole"
        case "early bookmark":
            return [_event("BOOKMARK", str(history.now - 1)), honest], "whole"
    return [honest], "whole"


def one_watch(dice: random.Random) -> str:
    """Empty if a list that changed was not told as unchanged, an honest watch was believed, and all ended in time."""
    history, lie = a_history(dice), dice.choice(LIES)
    chunks, end = told(history, lie, dice)

    def script(request: Request, wire: Wire) -> None:
        if "watch" not in request.query:
            metadata = {"resourceVersion": str(history.now), "continue": "c", "remainingItemCount": COUNT - 1}
            wire.answer(json.dumps({"kind": "PodList", "metadata": metadata, "items": [{}]}).encode())
            return
        wire.begin()
        for chunk in chunks:
            wire.chunk(chunk)
        {"whole": wire.end, "cut": wire.cut, "hang": wire.hang}[end]()

    began = time.monotonic()
    with speaking(script) as (transport, _), patch.object(watching, "SLACK", 0.5):
        try:
            found: object = watching.is_unchanged(transport, PODS, since=str(SINCE), count=COUNT, seconds=1)
        except ReadError as reason:
            found = reason.code
        took = time.monotonic() - began
    said = f"took {took:.1f} s" if took > 2 + AT_ONCE else ""
    if history.events and found is True:
        said = "what changed was told as unchanged"
    elif lie in ("nothing", "pieces") and found is not (not history.events):
        said = f"an honest watch was told as {found}"
    return said and f"{lie}, {len(history.events)} events: {said}"


def each(trial: Callable[[random.Random], str], count: int, dice: random.Random) -> Sequence[str]:
    """An answer for each of so many cases, with the seed of its own that makes it again."""
    told = []
    for _ in range(count):
        seed = dice.randrange(2**32)
        why = trial(random.Random(seed))
        told.append(why and f"seed {seed}: {why}")
    return told


PARTS = (
    Part(name="changed connections", full=5_000, rules="T06, T21, R11", series=partial(each, one_connection)),
    Part(name="lying watches", full=5_000, rules="T06, R14", series=partial(each, one_watch)),
)
