"""The `karpdash` program. What needs the wiring is run here; everything else is the product's own command line."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["up"]:
        from karpdash import up

        return up.run(words[1:])
    if words[:1] == ["worker"]:
        from karpdash import lanes

        return lanes.run(words[1:])
    if words[:1] == ["backup"]:
        from karpdash import backup

        return backup.run(words[1:])
    from migrations_app.cli import main as product

    return product(words)


if __name__ == "__main__":
    sys.exit(main())
