"""`karpdash backup FILE`: makes a consistent copy of the SQLite database while karpdash runs. The copy does not contain
the keys.
"""

import argparse
import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from karpdash.configuration.env import Env, current
from migrations_app.errors import InvalidInput, InvalidSetting, KarpdashError


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash backup", description="Copy the SQLite database into a new file.")
    parser.add_argument("file", type=Path, help="must not be there yet; readable by its owner only")
    return parser


def run(argv: Sequence[str]) -> int:
    """Returns 0 if the copy exists and is intact; 2 after one line otherwise."""
    target = make_parser().parse_args(argv).file
    try:
        size = back_up(current(), target)
    except KarpdashError as error:
        sys.stderr.write(f"karpdash backup: {error}\n")
        return 2
    sys.stderr.write(
        f"{size:,} bytes; what is sealed in it opens with KARPDASH_ENCRYPTION_KEYS only: keep them apart\n"
    )
    return 0


def back_up(env: Env, target: Path) -> int:
    """Writes the copy and returns its size in bytes. Raises InvalidSetting without a SQLite database, InvalidInput if
    the copy cannot be written.
    """
    if not env.database["ENGINE"].endswith("sqlite3"):
        raise InvalidSetting("names no SQLite file: pg_dump backs PostgreSQL up", where="KARPDASH_DATABASE_URL")
    source = Path(env.database["NAME"])
    if not source.is_file():
        raise InvalidSetting(f"there is no database at {source}", where="KARPDASH_DATABASE_URL")
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise InvalidInput(f"cannot be made: {error.strerror}", where=str(target)) from None
    try:
        _copy(source, target)
    except sqlite3.Error as error:
        target.unlink()
        raise InvalidInput(f"the copy failed: {error}", where=str(target)) from None
    return target.stat().st_size


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source, timeout=20)) as original, closing(sqlite3.connect(target)) as copy:
        # In one step under one read transaction: in WAL mode this blocks no writer and the copy is consistent.
        original.backup(copy)
        integrity = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if integrity != "ok":
            raise sqlite3.DatabaseError(f"integrity_check says {integrity}")
