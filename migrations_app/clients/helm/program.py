"""Runs a real helm in isolation: no credential, no plugin, no setting of this machine, a time limit.

The kubeconfig names only a relay on loopback (`relay.py`). The values are given by standard input, so that no file
holds them. Output is cleaned and redacted, and the whole process group is killed when the run has to end.
"""

import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from migrations_app.clients.secret import clean
from migrations_app.errors import InvalidInput, InvalidSetting

PREFIX = "karpdash-helm-"
MAJOR, FIRST_MINOR = 3, 8
"""The versions of helm whose options and records are known."""
VERSION_SECONDS = 20.0
POLL_SECONDS = 0.25
MAX_OUTPUT = 64 * 1024
MAX_MEMORY = 2 * 1024**3
"""Limit in bytes: a record of a hostile cluster may unpack to any size (T06)."""
MAX_SHOWN_OUTPUT = 1500
_VERSION = re.compile(r"v(\d{1,3})\.(\d{1,3})\.\d{1,3}")
_LEFT_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class HelmExit:
    """How a run ended. `code` is None if it was killed; `words` are the end of its output, redacted."""

    code: int | None
    words: str

    @property
    def done(self) -> bool:
        return self.code == 0


def find_helm(setting: str, *, where: str = "KARPDASH_HELM") -> Path:
    """The program that the setting names, or the one on the path. Raises InvalidSetting with the reason."""
    program = setting or shutil.which("helm")
    if not program:
        raise InvalidSetting("helm is not on the PATH of the worker", where=where, code="helm_missing")
    path = Path(program)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise InvalidSetting("there is no such program", where=where, code="helm_missing") from None
    if not path.is_absolute() or not stat.S_ISREG(mode) or not os.access(path, os.X_OK):
        raise InvalidSetting("enter the absolute path of a program", where=where, code="helm_missing")
    return path


def check_version(program: Path, *, where: str = "KARPDASH_HELM") -> str:
    """The version of the program. Raises InvalidSetting (code `helm_version`) for one that is not known to work."""
    with private_folder() as folder:
        words = ("version", "--template", "{{.Version}}")
        end = run(program, words, folder=folder, stdin=b"", seconds=VERSION_SECONDS)
    match = _VERSION.search(end.words) if end.done else None
    if match is None:
        raise InvalidSetting("the program does not print a version as helm does", where=where, code="helm_version")
    if int(match[1]) != MAJOR or int(match[2]) < FIRST_MINOR:
        message = f"helm {match[0]} is not supported: version {MAJOR}.{FIRST_MINOR} or a later {MAJOR}.x is needed"
        raise InvalidSetting(message, where=where, code="helm_version")
    return match[0]


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user can enter, removed at the end. Also removes old folders of killed workers."""
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(top: Path) -> None:
    for folder in top.glob(f"{PREFIX}*"):
        try:
            stat_result = folder.lstat()
        except OSError:
            continue
        if stat_result.st_uid == os.getuid() and time.time() - stat_result.st_mtime > _LEFT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def write_kubeconfig(folder: Path, url: str) -> None:
    """A kubeconfig with one cluster and no credential, as a file that only this user can read."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "relay",
        "clusters": [{"name": "relay", "cluster": {"server": url}}],
        "users": [{"name": "relay", "user": {}}],
        "contexts": [{"name": "relay", "context": {"cluster": "relay", "user": "relay"}}],
    }
    write_private(folder / "kubeconfig", msgspec.json.encode(document))


def write_private(path: Path, body: bytes) -> None:
    """A new file that only this user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)


def environment(folder: Path) -> dict[str, str]:
    """The complete environment of helm: folders inside its own folder, and no variable of this process."""
    homes = {
        f"HELM_{name}": str(folder / name.lower()) for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS")
    }
    return homes | {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "HELM_DRIVER": "secret",
        "HELM_REPOSITORY_CONFIG": str(folder / "repositories.yaml"),
        "HELM_REGISTRY_CONFIG": str(folder / "registry.json"),
        "PATH": "",
        "LC_ALL": "C",
    }


def run(
    program: Path,
    words: Sequence[str],
    *,
    folder: Path,
    stdin: bytes,
    seconds: float,
    stop: Callable[[], bool] = lambda: False,
) -> HelmExit:
    """Runs the program until it ends, the time is over, or `stop` returns True; then kills its process group."""
    child = subprocess.Popen(  # noqa: S603 - a program that the administrator names; no shell, words from a plan
        [program, *words],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        close_fds=True,
    )
    _limit_memory(child)
    output = bytearray()
    threads = [
        threading.Thread(target=_write_stdin, args=(child.stdin, stdin), daemon=True),
        threading.Thread(target=_drain, args=(child.stdout, output), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        code = _wait(child, until=time.monotonic() + seconds, stop=stop)
    finally:
        kill_group(child)
    for thread in threads:
        thread.join(timeout=5)
    return HelmExit(code, output_end(bytes(output)))


def _limit_memory(child: "subprocess.Popen[bytes]") -> None:
    """Limits the memory of the program and of what it starts, and lets none of them write a core file."""
    with suppress(ProcessLookupError):
        resource.prlimit(child.pid, resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        resource.prlimit(child.pid, resource.RLIMIT_CORE, (0, 0))


def kill_group(child: "subprocess.Popen[bytes]") -> None:
    """Kills the program with everything that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def output_end(output: bytes) -> str:
    """The end of the output without control characters and secrets."""
    return clean(output.decode("utf-8", "replace")[-MAX_SHOWN_OUTPUT:], longest=MAX_SHOWN_OUTPUT)


def _wait(child: "subprocess.Popen[bytes]", *, until: float, stop: Callable[[], bool]) -> int | None:
    while time.monotonic() < until and not stop():
        try:
            return child.wait(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    return None


def _write_stdin(pipe: IO[bytes] | None, body: bytes) -> None:
    if pipe is None:
        return
    try:
        with pipe:
            pipe.write(body)
    except OSError:
        return


def _drain(pipe: IO[bytes] | None, output: bytearray) -> None:
    """Keeps the last MAX_OUTPUT bytes."""
    if pipe is None:
        return
    with pipe:
        while piece := pipe.read1(8192) if hasattr(pipe, "read1") else pipe.read(8192):
            output += piece
            del output[:-MAX_OUTPUT]


_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,51}[a-z0-9])?", re.ASCII)


def refuse_odd_name(text: str) -> None:
    """Raises InvalidInput unless the text is a valid name of a release or a namespace, and so no option."""
    if not _NAME.fullmatch(text):
        raise InvalidInput(f"{text[:60]!r} is not the name of a release", code="bad_name")
