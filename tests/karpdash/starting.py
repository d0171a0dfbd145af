"""Starts a program many times with other settings: a process each, forked from one that has read the libraries already.

Rows of JSON on stdin, `{"settings": {...}, "module": "...", "words": [...]}`; on stdout `[exit code, what was said]`
for each.
"""

import importlib
import json
import os
import runpy
import sys
import tempfile
from typing import Any

from karpdash.processes.python_gc import collect_seldom

LIBRARIES = (
    "boto3",
    "celery",
    "cryptography.x509",
    "gunicorn.app.wsgiapp",
    "kombu",
    "redis",
    "structlog",
)
PURE = ("migrations_app.checks.registry", "migrations_app.actions.registry")
"""Parts of the product that no setting reaches."""


def preload() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    checks, actions = map(importlib.import_module, PURE)
    checks.all_checks()
    actions.all_actions()


def started(row: dict[str, Any]) -> list[Any]:
    """Exit code and output of one start."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os.environ.update(row["settings"])
            _run(row)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return [os.waitstatus_to_exitcode(status), said.read().decode(errors="replace")]


def _run(row: dict[str, Any]) -> None:
    """Ends the process as the interpreter would."""
    sys.argv = [row["module"], *row["words"]]
    code: object = 0
    try:
        runpy.run_module(row["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - whatever ends the interpreter ends this child
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    collect_seldom()
    preload()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(started(json.loads(line))) + "\n")
        sys.stdout.flush()
