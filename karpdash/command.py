"""The `karpdash` program. `up` needs the wiring; everything else is the product's own command line."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of the command."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["up"]:
        from karpdash.up import run

        return run(words[1:])
    from migrations_app.cli import main as product

    return product(words)


if __name__ == "__main__":
    sys.exit(main())
