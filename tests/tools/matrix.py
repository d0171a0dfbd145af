"""Runs the tests that need no server on each installed Python from 3.11 to 3.14: `make matrix`.

    python -m tests.tools.matrix [--only 3.14] [--in FOLDER] [TESTS ...]

Each version gets an environment of its own in FOLDER (build/matrix) with the packages of locks/dev.txt. A version that
is not installed is named and not counted. Exit code 0: all passed, 1: one failed, 2: none was found.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.house.measures import ROOT

MINORS = (11, 12, 13, 14)
TESTS = (
    "actions",
    "checks",
    "cli",
    "conversion",
    "iam",
    "inventory",
    "karpdash",
    "karpenter",
    "manifests",
    "readiness",
)
NO_SERVER = "not apiserver and not postgres and not redis and not moto and not browser and not own_processes"
ASK = "import sys; print(*sys.version_info[:2], sep='.'); print(sys.version.split()[0])"


def candidates(version: str) -> Iterator[str]:
    """Returns where an interpreter of that version may be: on PATH, and among those of pyenv and uv."""
    for folder in os.get_exec_path():
        yield str(Path(folder, f"python{version}"))
    home = Path.home()
    for kept in (".pyenv/versions", ".local/share/uv/python"):
        for folder in sorted((home / kept).glob(f"*{version}.*"), reverse=True):
            yield str(folder / "bin" / f"python{version}")


def interpreter(version: str) -> tuple[str, str] | None:
    """Returns the first interpreter that reports that version, and its full version; None if there is none."""
    for path in candidates(version):
        if not os.access(path, os.X_OK):
            continue
        done = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.splitlines()[0] == version:
            return path, done.stdout.splitlines()[1]
    return None


def environment(path: str, folder: Path) -> Path | None:
    """Creates an environment with the locked packages and the project and returns its interpreter; None if that
    failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    for command in (
        [path, "-m", "venv", str(folder)],
        [*pip, "--require-hashes", "-r", str(ROOT / "locks" / "dev.txt")],
        [*pip, "--no-build-isolation", "--editable", str(ROOT)],
    ):
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return None
    return python


def tested(python: Path, tests: Sequence[str], *, data: Path) -> bool:
    """Whether the tests pass in that environment."""
    command = [str(python), "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-m", NO_SERVER, *tests]
    return (
        subprocess.run(command, cwd=ROOT, env=os.environ | {"KARPDASH_DATA_DIR": str(data)}, check=False).returncode
        == 0
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.matrix")
    parser.add_argument("--only", action="append", choices=[f"3.{minor}" for minor in MINORS])
    parser.add_argument("--in", dest="folder", type=Path, default=ROOT / "build" / "matrix")
    parser.add_argument("tests", nargs="*", default=[f"tests/{name}" for name in TESTS])
    options = parser.parse_args(arguments)
    told = []
    for version in options.only or [f"3.{minor}" for minor in MINORS]:
        found = interpreter(version)
        if found is None:
            told.append((version, "not there"))
            continue
        python = environment(found[0], options.folder / version)
        passed = python is not None and tested(python, options.tests, data=options.folder / f"data-{version}")
        told.append((found[1], "passed" if passed else "failed" if python else "packages could not be installed"))
    sys.stdout.write("".join(f"Python {version}: {result}\n" for version, result in told))
    tried = [result for _, result in told if result != "not there"]
    return 2 if not tried else int(any(result != "passed" for result in tried))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
