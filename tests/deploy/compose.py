"""docker-compose.yml as compose reads it, and its services as plain processes with a closed disk."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers.processes import Child, environment

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
DATA = "/var/lib/karpdash"
OWN_IMAGE = "karpdash:local"
PROGRAMS = "/var/lib/programs"
"""Where the folder of other names for programs is seen by a service."""
_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>\w+)(?::(?P<how>[?-])(?P<word>[^}]*))?\}")


class Unset(Exception):
    """A variable without a default is missing: compose ends here."""


def text(given: Mapping[str, str]) -> str:
    """The file with its variables filled in. Raises Unset."""

    def filled(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        value = given.get(found["name"], "")
        if not value and found["how"] == "?":
            raise Unset(f"{found['name']}: {found['word']}")
        return value or (found["word"] if found["how"] == "-" else "")

    return _VARIABLE.sub(filled, FILE.read_text())


def services(given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The services, merge keys resolved."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(text(given))["services"]
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """What is elsewhere for a plain process: the words to replace, and the programs by other names."""

    folder: Path
    words: Mapping[str, str]
    shims: Path

    def told(self, word: str) -> str:
        for old, new in self.words.items():
            word = word.replace(old, new)
        return word


def process(service: Mapping[str, Any], name: str, *, at: Place, more: Mapping[str, str] | None = None) -> Child:
    """The service's command with its environment, started; its data folder is its own."""
    data = at.folder / f"{name}-data"
    data.mkdir(exist_ok=True)
    for place in (volume.split(":")[1] for volume in service.get("volumes", ())):
        if place.startswith(f"{DATA}/"):
            (data / place.removeprefix(f"{DATA}/")).mkdir(exist_ok=True)
    user = _user(service)
    for path in (data, *data.rglob("*")) if user else ():
        os.chown(path, user, user)
    plain = {key: value for key, value in environment().items() if not key.startswith(("KARPDASH_", "DJANGO_"))}
    told = {key: at.told(str(value)) for key, value in service.get("environment", {}).items()}
    shims = PROGRAMS if may_close() else str(at.shims)
    path = os.pathsep.join([shims, str(Path(sys.executable).parent), plain["PATH"]])
    words = [at.told(word) for word in service["command"]]
    settings = {**plain, **told, **(more or {}), "PATH": path}
    return Child(
        ["env", "-i", *map("=".join, settings.items()), *_closed(data, at.shims, user=user), *words],
        log=at.folder / f"{name}.log",
    )


def _user(service: Mapping[str, Any]) -> int:
    """Who runs it; 0 for our own image, whose Python lies where only its owner looks on a machine of tests."""
    foreign = service.get("image", OWN_IMAGE) != OWN_IMAGE
    return int(service["user"].split(":")[0]) if foreign and may_close() else 0


def _closed(data: Path, shims: Path, *, user: int) -> list[str]:
    """Words before a command: a disk that cannot be written but for the data folder and /tmp, and no rights to gain."""
    steps = ["cd /", f"mount -t tmpfs none {Path(DATA).parent}", f"mkdir {DATA} {PROGRAMS}"]
    steps += [f"mount --bind {data} {DATA}", f"mount --bind {shims} {PROGRAMS}"]
    if not ROOT.is_relative_to("/tmp"):
        steps.append("mount -t tmpfs -o size=64m,mode=1777 none /tmp")
    else:
        steps.append("mount --bind /tmp /tmp")
    steps += ["mount -o remount,bind,ro /", f"cd {ROOT}", 'exec "$@"']
    who = [f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    rights = ["setpriv", *who, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]
    if not may_close():
        return []
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "; ".join(steps), "sh", *rights]


def may_close() -> bool:
    """Whether this machine lets us have mounts of our own; else the services run with the disk as it is."""
    return os.getuid() == 0 and shutil.which("unshare") is not None


def signal_of(service: Mapping[str, Any]) -> signal.Signals:
    return signal.Signals[service.get("stop_signal", "SIGTERM")]
