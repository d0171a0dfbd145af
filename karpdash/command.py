"""The `karpdash` program. Commands that need the wiring run here; all others are in migrations_app.cli."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

WIRED = {"up": "processes.up", "worker": "processes.lanes", "backup": "backup"}
"""Commands of the wiring, each with the module that runs it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0] in WIRED:
        module: Any = importlib.import_module(f"karpdash.{WIRED[words[0]]}")
        return int(module.run(words[1:]))
    from migrations_app.cli import main as product

    return product(words)


if __name__ == "__main__":
    sys.exit(main())
