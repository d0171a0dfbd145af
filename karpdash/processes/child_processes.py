"""Forks child processes from a process that has loaded the program already, so that they share its memory.

A process started by a new interpreter loads the same 100 MiB again. Only on Linux: elsewhere system libraries do not
survive a fork without exec.
"""

import ctypes
import importlib
import os
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from karpdash.processes.python_gc import collect_as_usual

CAN_FORK = sys.platform == "linux"
_STOPPING = {signal.SIGINT, signal.SIGTERM}
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
LOADED = (
    "celery.app.control",
    "celery.beat",
    "celery.app.events",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.contrib.django.task",
    "celery.events.receiver",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer.delayed_delivery",
    "kombu.mixins",
    "gunicorn.app.wsgiapp",
    "gunicorn.arbiter",
    "gunicorn.workers.gthread",
    "kombu.transport.redis",
    "karpdash.wsgi",
    "migrations_app.tasks",
)
"""Modules that web, workers and beat use sooner or later."""
# `prctl` is looked up by name: neither macOS nor Windows has it.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if os.name == "posix" else None


class ForkedProcess:
    """A forked process with the methods of subprocess.Popen that the supervisor uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Sends the signal, unless the process has ended and its exit code was read."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Returns the exit code, negative for a signal; None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int:
        """Waits for the end and returns the exit code."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def load(*modules: str) -> None:
    """Imports these modules and freezes all objects: a forked child gets a copy of each page of memory that it writes
    to, and the garbage collector would write to all.
    """
    for name in modules:
        importlib.import_module(name)
    collect_as_usual()


def load_program() -> None:
    """Imports what the children need, and does once the work that each child would do at its start."""
    load(*LOADED)
    from django.urls import get_resolver, reverse

    from karpdash.celery import app
    from migrations_app.actions.registry import all_actions
    from migrations_app.checks.registry import all_checks

    app.loader.import_default_modules()
    app.finalize()
    len(app.amqp.queues)
    all_checks()
    all_actions()
    reverse("login")
    len(get_resolver().url_patterns)
    load()


def fork(
    run: Callable[[], int], *, name: str, log: Path | None = None, stop_by: signal.Signals = signal.SIGTERM
) -> ForkedProcess:
    """Calls `run` in a fork of this process; its result is the exit code. Without a log, output goes where that of this
    process goes.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # Until the child has installed its own handlers, the supervisor's handler would only record a signal.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    pid = os.fork()
    if not pid:
        _run_child(run, name=name, log=log, stop_by=stop_by)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedProcess(pid)


def run_module(arguments: Sequence[str]) -> int:
    """Runs `python -m WORDS` in this process. Returns 0 unless the module exits with another code."""
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    return 0


def _run_child(run: Callable[[], int], *, name: str, log: Path | None, stop_by: signal.Signals) -> NoReturn:
    """Runs the child. Never returns to the supervisor's code: the process ends here in any case."""
    code = 1
    try:
        os.setsid()
        os.environ["CELERY_SKIP_CHECKS"] = "1"  # karpdash.wsgi has run them in the parent, on the same settings
        die_with_parent(stop_by)
        _show_as(name)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        if log is not None:
            _redirect(log)
        code = run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    finally:
        if sys.exc_info()[0] is not None:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    # Replaces any object that was assigned to sys.stdout and sys.stderr.
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - a descriptor, for the life of the process
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - as above


def die_with_parent(by: signal.Signals) -> None:
    """Asks the kernel to send that signal when the parent dies, on systems that support it."""
    if _PRCTL is not None:
        _PRCTL(PR_SET_PDEATHSIG, by)


def _show_as(name: str) -> None:
    """Sets the name that `ps -o comm` and `top` show: at most 15 bytes."""
    if _PRCTL is not None:
        _PRCTL(PR_SET_NAME, f"karpdash:{name}"[:15].encode(), 0, 0, 0)
