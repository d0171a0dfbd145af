"""What the interpreter itself reports while hostile input is read: started programs, opened files, sockets."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

STARTS = {
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"),
}
NEVER = {*STARTS, "socket.connect", "socket.sendto"}
"""What is stopped as well: nobody is reached and nothing runs, whatever a case finds."""
CODE = (".py", ".pyc", ".so")
_seen: list[tuple[str, str]] = []
_watching = False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event in STARTS or event.startswith(("socket.", "urllib.", "ctypes.dlopen")):
        _seen.append((event, str(arguments)[:200]))
        if event in NEVER:
            raise PermissionError(f"{event} while hostile input is read")
    elif event == "open" and not str(arguments[0]).endswith(CODE):
        _seen.append((event, str(arguments[0])))


sys.addaudithook(_watch)


@contextmanager
def watched() -> Iterator[list[tuple[str, str]]]:
    """The list of (event, arguments) grows while the block runs. Modules that are imported do not count as opened."""
    global _watching
    _seen.clear()
    _watching = True
    try:
        yield _seen
    finally:
        _watching = False
