"""A database made before the migrations were squashed is upgraded, and ends with the schema of a new one."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.measures import ROOT

BEFORE = Path(__file__).with_name("before_0_1_0.sql")


def migrated(folder: Path) -> sqlite3.Connection:
    """The database of that data folder after `manage.py migrate`."""
    told = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env=os.environ | {"KARPDASH_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return sqlite3.connect(folder / "karpdash.sqlite3")


def schema(database: sqlite3.Connection) -> dict[str, object]:
    """Columns and foreign keys of each table, columns of each index, text of each trigger."""
    found: dict[str, object] = {}
    for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if kind == "table":
            columns = sorted(row[1:4] for row in database.execute(f"PRAGMA table_info({name})"))
            keys = sorted(row[2:5] for row in database.execute(f"PRAGMA foreign_key_list({name})"))
            found[name] = (columns, keys)
        elif kind == "index":
            found[name] = sorted(str(row[2]) for row in database.execute(f"PRAGMA index_info({name})"))
        else:
            found[name] = " ".join(sql.split())
    return found


def test_a_database_from_before_the_squash_ends_like_a_new_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    before = sqlite3.connect(old / "karpdash.sqlite3")
    before.executescript(BEFORE.read_text())
    before.close()
    upgraded = schema(migrated(old))
    assert upgraded == schema(migrated(new))
    assert {"rollout_states", "audit_never_changes", "migrations_app_rollout"} <= set(upgraded)
