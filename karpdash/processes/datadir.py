"""The data folder of `karpdash up`: created once, with keys of mode 0600 that are reused at the next start."""

import base64
import fcntl
import os
import secrets
import socket
from pathlib import Path
from typing import TextIO

from migrations_app.errors import InvalidSetting

SHORTEST_SOCKET_LIMIT = 100
"""The path of a Unix socket is limited to 107 bytes on Linux."""


def prepare(path: Path) -> Path:
    """Returns the absolute folder, ready to use. Raises InvalidSetting if it cannot be written."""
    folder = path.absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "broker").mkdir(mode=0o700, exist_ok=True)
        _create_once(folder / "secret.key", secrets.token_urlsafe(48))
        _create_once(folder / "encryption.keys", f"k1:{base64.b64encode(os.urandom(32)).decode()}")
        _create_once(folder / "audit.key", base64.b64encode(os.urandom(32)).decode())
        probe = folder / f".write-{os.getpid()}"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise InvalidSetting(
            f"cannot use the data folder: {error.strerror}: {folder}", where="KARPDASH_DATA_DIR"
        ) from None
    if len(str(folder / "broker" / "broker.sock")) > SHORTEST_SOCKET_LIMIT:
        raise InvalidSetting(f"the path is too long for the broker's socket: {folder}", where="KARPDASH_DATA_DIR")
    return folder


def lock(folder: Path) -> TextIO:
    """Returns the open lock file: while it is open, no other process may use the folder. Raises InvalidSetting if
    another process uses it.

    Two instances would start two brokers on one socket, and two workers on one SQLite file (R34).
    """
    lock = (folder / "lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InvalidSetting(f"another karpdash up is using {folder}", where="KARPDASH_DATA_DIR") from None
    if hasattr(os, "register_at_fork"):
        # Only this process keeps the lock: a child that lives a moment longer would still lock the folder.
        os.register_at_fork(after_in_child=lock.close)
    return lock


def _create_once(path: Path, content: str) -> None:
    """Writes the file unless it exists; atomically, so that a kill leaves no partial key."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def check_port(host: str, port: int) -> None:
    """Raises InvalidSetting if the port is invalid or in use."""
    if not 1 <= port <= 65_535:
        raise InvalidSetting(f"{port} is not a port", where="--port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InvalidSetting(f"cannot serve on {host} port {port}: {error.strerror}", where="--port") from None


def fresh_log(folder: Path, name: str) -> Path:
    """Returns an empty log file; the log of the previous start is kept next to it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    log = folder / f"{name}.log"
    if log.exists():
        log.replace(folder / f"{name}.log.1")
    log.touch(mode=0o600)
    return log
