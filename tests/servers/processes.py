"""Child processes that end with the test run, their ports and folders, and what happens if a server is not
installed.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

STOP_SECONDS = 10.0
START_SECONDS = 120.0  # a build or other test runs may share the machine's two cores
FOLDER_PREFIX = "karpdash-test-"


def missing(what: str) -> NoReturn:
    """Skips the test; fails it if KARPDASH_REQUIRE_SERVICES is 1, as in CI."""
    message = f"{what} not found: run tests/servers/install.sh"
    if os.environ.get("KARPDASH_REQUIRE_SERVICES") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def program(name: str, *folders: Path) -> Path:
    """Returns the path of an installed program, searched in the folders first; skips or fails the test if there is
    none.
    """
    path = shutil.which(name, path=os.pathsep.join(map(str, folders))) or shutil.which(name)
    return Path(path) if path else missing(name)


_held: list[socket.socket] = []
"""Names of the ports that this process gave out. They are free again when it ends, however it ends."""
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Returns a free TCP port on loopback, for a server that starts later.

    Its number is below those that the kernel gives to connections, so that no connection takes it before the server
    runs; and no other test process gets the same one, as each holds a name that only one process can have.
    """
    lowest = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32768
    for port in random.SystemRandom().sample(range(10240, lowest), k=200):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0{FOLDER_PREFIX}port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        _held.append(name)
        return port
    raise RuntimeError("no port is free")


def folder(kind: str) -> Path:
    """Returns a new private folder; removes folders that killed test runs have left."""
    top = Path(tempfile.gettempdir())
    for old_folder in top.glob(f"{FOLDER_PREFIX}*"):
        owner = old_folder.name.removeprefix(FOLDER_PREFIX).split("-")[0]
        if not Path("/proc", owner).exists():
            shutil.rmtree(old_folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-{kind}-"))


def discard(place: Path) -> None:
    """Removes a folder that a server no longer uses."""
    shutil.rmtree(place, ignore_errors=True)


def environment() -> dict[str, str]:
    """Returns this process's environment without proxies, which would see the calls between servers on loopback."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def parents() -> dict[int, int]:
    """Returns every process of this machine with its parent."""
    parent_of = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent_of[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    return parent_of


class Child:
    """A running server; its output goes to `log`. `stop` may be called more than once."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        dies_by: signal.Signals = signal.SIGKILL,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*_dying_with_us(dies_by), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environment(), **(env or {})},
                cwd=log.parent,
                user=user,
                extra_groups=[] if user else None,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops us in order
            )

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        if self.process.poll() is not None:
            return
        self.process.send_signal(by)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pause(self) -> None:
        """Stops the process (SIGSTOP) until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def wait_until(self, ready: Callable[[], bool], *, what: str, seconds: float = START_SECONDS) -> None:
        """Returns when `ready` returns true; raises RuntimeError with the end of the log if the process ends or time is
        up.
        """
        end = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop(signal.SIGKILL)
                raise RuntimeError(f"{what} did not start:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.05)


def _dying_with_us(by: signal.Signals) -> list[str]:
    """Returns words before a command with which the kernel ends the command when this process ends, even if killed.
    (preexec_fn and threads do not mix.)

    If this process ends before the kernel knows that, the shell notices that its parent has changed.
    """
    still_ours = f'[ "$PPID" = {os.getpid()} ] && exec "$@"'
    return ["setpriv", "--pdeathsig", by.name.removeprefix("SIG"), "--", "sh", "-c", still_ours, "sh"]
