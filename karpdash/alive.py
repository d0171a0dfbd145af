"""`python -m karpdash.alive FILE`: container health check of a process without pages, such as a worker or an
agent.

Such a process touches its file at every turn of its main loop (`migrations_app/clients/liveness_file.py`). A process
that hangs or was stopped does not. This program only reads the age of the file, so it costs little.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MAX_AGE_SECONDS = 60.0
"""Seconds. The main loop of a worker turns every ten, that of an agent every thirty at most."""


def main(argv: Sequence[str]) -> int:
    """Returns 0 if the process works, otherwise 1 after printing the reason."""
    options = make_parser().parse_args(argv)
    reason = _reason(options.file, within=options.within, says=options.says)
    if reason and options.broker and _broker_is_away():
        reason = ""  # the loop waits for it; a restart would bring nothing
    sys.stderr.write(f"{options.file}: {reason}\n" if reason else "")
    return 1 if reason else 0


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m karpdash.alive", description="Tell whether a process still works.")
    parser.add_argument("file", type=Path, help="the file that the process touches")
    parser.add_argument(
        "--within", type=float, default=MAX_AGE_SECONDS, help="seconds since it did (default: %(default)s)"
    )
    parser.add_argument("--says", default="", help="the word that the file has to hold, too")
    parser.add_argument("--broker", action="store_true", help="do not complain while the broker does not answer")
    return parser


def _reason(file: Path, *, within: float, says: str) -> str:
    try:
        age = time.time() - file.stat().st_mtime
        word = file.read_text(errors="replace") if says else ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if age > within:
        return f"was not touched for {age:.0f} s"
    return "" if word == says else f"says {word[:40]!r}"


def _broker_is_away() -> bool:
    from karpdash.monitoring.broker import broker_answers

    return not broker_answers()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
