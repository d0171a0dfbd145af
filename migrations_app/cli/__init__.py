"""The command line: results on stdout, everything else on stderr, and an exit code.

Each command loads only what it needs, so that commands that work on files load neither Django nor a database.
"""

import importlib
import os
import sys
from collections.abc import Callable, Sequence

from migrations_app import __version__
from migrations_app.cli.terminal import NO_ROOM, CrashCode, Exit, flush, prepare, print_error
from migrations_app.errors import KarpdashError, ReadError

COMMANDS: dict[str, str] = {
    "up": "serve the dashboard on this machine",
    "worker": "serve one queue of work, or the timetable, as a process of its own",
    "backup": "copy the SQLite database into a new file while it is in use",
    "scan": "judge a cluster, live or from files, and tell by the exit code",
    "plan": "print the path to a release as a runbook",
    "rehearse": "play a rollout on a twin of a cluster, and tell what it needs and where it stops",
    "convert": "convert Karpenter manifests between generations",
    "lint": "find manifests and Helm values that a release does not accept",
    "iam": "find what the controller's IAM policies lack for a release",
    "bundle": "write what a scan reads into a redacted file",
    "agent": "carry the requests of a karpdash server to a cluster that it cannot reach",
    "cluster": "add, list or remove registered clusters",
    "token": "create, list or revoke API tokens",
    "scim": "create, list or revoke tokens of directories that provision people",
    "person": "create, list, close or open accounts, and give them roles",
    "audit": "prove, export or seal the audit log",
    "completion": "print a script that completes karpdash in a shell",
    "files": "tell where the docs, the ClusterRoles and the Helm chart are",
}
_FOR_SERVER = ("--server", "--token-file")
"""A first word that sends the command to a server."""
_ELSEWHERE = ("up", "worker", "backup", "files", "completion")
"""Commands outside this package; the `karpdash` program runs them itself."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 ready, 1 findings, 2 wrong usage or unreadable input, 3 could not look, 74 or 141 the
    result was not written. Raises SystemExit with 70 after an error that nothing expects.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare()
    is_command = bool(arguments) and arguments[0] in COMMANDS and arguments[0] not in _ELSEWHERE
    name = f"karpdash {arguments[0]}" if is_command else "karpdash"
    with CrashCode(name):
        return _guarded(name, lambda: _dispatch(arguments, is_command=is_command))


def _asks_server(arguments: Sequence[str]) -> bool:
    """Whether the command goes to a karpdash server instead of a cluster, files or the database."""
    return bool(arguments) and arguments[0].partition("=")[0] in _FOR_SERVER


def version() -> str:
    """Returns the release of this program."""
    return __version__


def usage() -> str:
    """Returns the usage text: one line for each command."""
    rows = "\n".join(f"  {name:<12}{about}" for name, about in COMMANDS.items())
    more = (
        "karpdash COMMAND --help tells its options, karpdash --version the release.\n"
        "karpdash --server URL COMMAND asks a karpdash server: "
        "cluster, scan, findings, plan, rollout, journey, campaign."
    )
    return f"usage: karpdash COMMAND [options]\n\n{rows}\n\n{more}"


def _dispatch(arguments: list[str], *, is_command: bool) -> int:
    if _asks_server(arguments):
        return int(importlib.import_module("migrations_app.cli.server_client").run(arguments))
    if is_command:
        module = importlib.import_module(f"migrations_app.cli.{arguments[0]}")
        return int(module.run(arguments[1:]))
    if arguments[:1] in (["-h"], ["--help"], ["help"]):
        print(usage())
        return Exit.READY
    if arguments[:1] in (["-V"], ["--version"]):
        print(f"karpdash {version()}")
        return Exit.READY
    print_error("karpdash", f"no such command: {arguments[0]}" if arguments else "which command?")
    print(usage(), file=sys.stderr)
    return Exit.USAGE


def _guarded(name: str, run: Callable[[], int]) -> int:
    """Returns the exit code of `run`; a KarpdashError becomes one line on stderr and its exit code."""
    try:
        code = run()
        flush()
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else Exit.USAGE
    except KarpdashError as error:
        print_error(name, str(error))
        return Exit.COULD_NOT_LOOK if isinstance(error, ReadError) else Exit.USAGE
    except KeyboardInterrupt:
        print_error(name, "stopped")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return Exit.READER_GONE
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        file_prefix = f"{error.filename}: " if error.filename else ""
        if not file_prefix:  # stdout itself
            _forget_output()
        print_error(name, f"{file_prefix}the result cannot be written: {error.strerror}")
        return Exit.CANNOT_WRITE
    return code


def _forget_output() -> None:
    """Drops buffered output, because the reader has closed the pipe; otherwise the interpreter fails again when it
    flushes at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
