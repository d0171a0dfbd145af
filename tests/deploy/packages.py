"""The project's packages, built as a release builds them, and clean environments that have exactly a lock's packages.

Nothing is fetched: what a lock names is copied from this environment, file by file as its installer recorded it.
"""

import re
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from tests.house import measures
from tests.servers.processes import environment

ROOT = measures.ROOT


@dataclass(frozen=True, slots=True)
class Built:
    """The two files of a release."""

    wheel: Path
    sdist: Path


def build(folder: Path) -> Built:
    """sdist of the tracked files, and the wheel of that sdist, made without isolation by the locked back end."""
    source = folder / "source"
    for name in measures.files():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    out = folder / "dist"
    words = ["-m", "uv", "build", "--no-build-isolation", "--offline", "--quiet", "--python", sys.executable]
    _run([sys.executable, *words, "--out-dir", str(out), str(source)], at=folder)
    return Built(wheel=next(out.glob("*.whl")), sdist=next(out.glob("*.tar.gz")))


@dataclass(frozen=True, slots=True)
class Place:
    """A virtual environment, and an empty folder that commands run in."""

    folder: Path
    home: Path

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    def environ(self) -> dict[str, str]:
        """The surroundings of a user who has only this environment."""
        ours = ("KARPDASH_", "DJANGO_", "PYTHON", "XDG_", "VIRTUAL_ENV")
        plain = {name: value for name, value in environment().items() if not name.startswith(ours)}
        return plain | {"HOME": str(self.home)}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The program `karpdash` of this environment, in its own folder."""
        command = [str(self.programs / "karpdash"), *words]
        return subprocess.run(
            command, cwd=self.home, env=self.environ(), capture_output=True, text=True, check=False, timeout=120
        )

    def add_lock(self, name: str) -> list[str]:
        """The packages of a lock, put into the environment; their names."""
        target = next(self.folder.glob("lib/python*/site-packages"))
        names = re.findall(r"^([\w.-]+)==", (ROOT / "locks" / f"{name}.txt").read_text(), re.M)
        for each in names:
            _copy(each, target)
        return names

    def install(self, wheel: Path, *, extras: str = "") -> None:
        """Installs the wheel without any index. pip refuses if a package that its metadata names is not there."""
        pip = [sys.executable, "-m", "pip", "--isolated", "--python", str(self.programs / "python")]
        wanted = f"{wheel}[{extras}]" if extras else str(wheel)
        _run([*pip, "install", "--quiet", "--no-index", "--force-reinstall", "--no-deps", str(wheel)], at=self.home)
        _run([*pip, "install", "--quiet", "--no-index", wanted], at=self.home)
        _run([*pip, "check"], at=self.home)


def place(folder: Path) -> Place:
    """An empty virtual environment without pip."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    (folder / "home").mkdir()
    return Place(folder / "env", folder / "home")


def _copy(name: str, target: Path) -> None:
    for each in distribution(name).files or ():
        if each.parts[0] in ("..", "/") or each.suffix == ".pyc":
            continue
        (target / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(each.locate()), target / each)
        shutil.copymode(str(each.locate()), target / each)


def _run(command: list[str], *, at: Path) -> None:
    plain = {name: value for name, value in environment().items() if not name.startswith(("PYTHON", "PIP_", "UV_"))}
    done = subprocess.run(command, cwd=at, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
