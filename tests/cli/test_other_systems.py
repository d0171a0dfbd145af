"""The command line where Linux's own calls are missing, as on macOS and Windows: the calls are taken away."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# What os lacks there, and modules that cannot be imported. sys.platform stays: libraries look at it, too.
MACOS = ("memfd_create", "MFD_CLOEXEC", "waitid", "sched_getaffinity", "pidfd_open", "posix_fadvise")
WINDOWS = (
    *MACOS, "fork", "getuid", "geteuid", "getpgid", "killpg", "setsid", "fchmod", "mkfifo", "register_at_fork",
    "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC",
)  # fmt: skip
ONLY_UNIX = ("fcntl", "pwd", "grp", "termios", "resource")
WITHOUT = """
import os, sys
for name in {names!r}:
    if hasattr(os, name):
        delattr(os, name)
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        if name == "ctypes":
            raise AssertionError("no call of libc is needed")
for name in {modules!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
import signal
for name in ("SIGKILL", "SIGQUIT", "pthread_sigmask"):
    if {modules!r}:
        delattr(signal, name)
from karpdash.command import main
sys.exit(main(sys.argv[1:]))
"""
SYSTEMS = {"macos": (MACOS, ()), "windows": (WINDOWS, ONLY_UNIX)}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("words", "code", "begins"),
    [
        (("--version",), 0, "karpdash "),
        (("scan", "--bundle", "{dump}", "--to", "1.0"), 0, "Cluster     beta_037"),
        (("scan", "--bundle", "{dump}", "--to", "1.0", "-o", "sarif"), 0, "{"),
        (("plan", "--bundle", "{dump}", "--to", "1.0"), 0, ""),
        (("convert", "-f", "{dump}/objects.json"), 0, "apiVersion"),
        (("lint", "--to", "1.0", "{dump}/objects.json"), 0, ""),
        (("files", "chart"), 0, "/"),
    ],
)
def test_the_command_line_needs_no_call_of_linux(
    bundle: Callable[[str], Path], system: str, words: tuple[str, ...], code: int, begins: str
) -> None:
    names, modules = SYSTEMS[system]
    given = [word.format(dump=bundle("beta_037")) for word in words]
    program = WITHOUT.format(names=names, modules=modules)
    ran = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, check=False)
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    assert ran.stdout.startswith(begins)
