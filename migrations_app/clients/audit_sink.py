"""Delivers audit checkpoints to an append-only file or by one POST request; both time out after two seconds (R30)."""

import os
import queue
import stat
import threading
import time
from dataclasses import dataclass

from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.http import CallBounds, deliver
from migrations_app.clients.secret import Secret
from migrations_app.errors import TimedOut, Unreachable

TIMEOUT_SECONDS = 2.0
_NO_TOKEN = Secret("")
_stuck: dict[str, threading.Thread] = {}
"""Writer threads that did not return in time, by path: a later write to that path fails at once instead of waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sinks:
    """Where checkpoints are sent besides the database; an empty string means that this sink is off."""

    file: str = ""
    url: str = ""
    token: Secret = _NO_TOKEN

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(target for target in (f"file:{self.file}" if self.file else "", self.url) if target)


def append(path: str, lines: bytes, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Appends the lines and syncs them to disk. Raises Unreachable, or TimedOut if the disk hangs."""
    if path in _stuck and _stuck[path].is_alive():
        raise TimedOut("writing the file timed out, and is still blocked")
    outcome: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()
    writer = threading.Thread(target=lambda: outcome.put(_append(path, lines)), name="audit file", daemon=True)
    writer.start()
    try:
        error = outcome.get(timeout=seconds)
    except queue.Empty:
        _stuck[path] = writer
        raise TimedOut("writing the file timed out") from None
    if error is not None:
        raise Unreachable(f"the file cannot be written: {error.strerror}", code="sink_unwritable")


def _append(path: str, lines: bytes) -> OSError | None:
    # Without O_NONBLOCK, opening a pipe without a reader would block for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o640)
    except OSError as error:
        return error
    try:
        _write_all(descriptor, lines)
    except OSError as error:
        return error
    finally:
        os.close(descriptor)
    return None


def _write_all(descriptor: int, lines: bytes) -> None:
    remaining = memoryview(lines)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fsync(descriptor)


def post(url: str, lines: bytes, *, token: Secret, reach: OutboundPolicy, seconds: float = TIMEOUT_SECONDS,
         resolver: Resolver = ask_resolver) -> None:  # fmt: skip
    """Sends the lines; any 2xx status means received. Raises ReadError."""
    bounds = CallBounds(server="audit sink", reach=reach, ends=time.monotonic() + seconds, resolver=resolver)
    headers = {"User-Agent": "karpdash audit", "Content-Type": "application/x-ndjson"}
    deliver(
        url, lines, bounds=bounds, headers=headers | ({"Authorization": f"Bearer {token.reveal()}"} if token else {})
    )
