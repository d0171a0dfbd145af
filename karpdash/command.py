"""The `karpdash` program. Commands that need the Django project run here; all others are in migrations_app.cli."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from karpdash.processes.python_gc import collect_seldom

PROJECT_COMMANDS = {
    "up": "processes.up",
    "worker": "processes.queues",
    "backup": "backup",
    "files": "files",
    "completion": "completion",
}
"""Commands that run in this package, each with its module."""

SERVER_COMMANDS = ("up", "worker")
"""Commands that need the packages of the extra `server`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code of the command."""
    collect_seldom()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] and arguments[0] in PROJECT_COMMANDS:
        if arguments[0] in SERVER_COMMANDS and (message := _missing_packages_message(f"karpdash {arguments[0]}")):
            sys.stderr.write(f"{message}\n")
            return 2
        module: Any = importlib.import_module(f"karpdash.{PROJECT_COMMANDS[arguments[0]]}")
        return int(module.run(arguments[1:]))
    from migrations_app.cli import main as product

    return product(arguments)


def _missing_packages_message(command: str) -> str:
    """Returns one line that names the packages that are not installed; empty if all are."""
    from migrations_app.cli.django_setup import require_server
    from migrations_app.errors import InvalidSetting

    try:
        require_server(command)
    except InvalidSetting as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
