"""A database that applied what the squashed steps replace is up to date; one that applied a part of it is refused."""

import importlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.core.checks import Tags, run_checks
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from karpdash.monitoring import schema as our_schema
from karpdash.processes import up
from migrations_app.errors import InvalidSetting
from tests.house.measures import ROOT
from tests.installations.conftest import database_url

__all__ = ["database_url"]
BEFORE = Path(__file__).with_name("before_0_1_0.sql")
OURS = "migrations_app"
TABLES, GUARDS = "0001_squashed_0026_tables", "0002_squashed_0026_guards"
MODEL_NAMES = "0027_model_names"
REPOSITORY_GROUPS = "0028_repository_groups"
_tables = importlib.import_module(f"migrations_app.migrations.{TABLES}")
FIRST, SECOND = _tables.FIRST, _tables.SECOND
NAMES = "SELECT name FROM django_migrations WHERE app = 'migrations_app'"
FORGET = f"DELETE FROM django_migrations WHERE app = 'migrations_app' AND name IN ('{TABLES}', '{GUARDS}')"
NEW_ROWS = {"auth_permission", "django_content_type", "django_migrations", "sqlite_sequence"}
"""Django writes these after each migration."""


def migrate(folder: Path, *, url: str = "", checks: bool = False) -> subprocess.CompletedProcess[str]:
    """`manage.py migrate` on the database of that data folder, or of that address."""
    env = os.environ | {"KARPDASH_DATA_DIR": str(folder)} | ({"KARPDASH_DATABASE_URL": url} if url else {})
    words = [sys.executable, "manage.py", "migrate", "--no-color", *(() if checks else ("--skip-checks",))]
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def database(folder: Path) -> closing[sqlite3.Connection]:
    folder.mkdir(exist_ok=True)
    return closing(sqlite3.connect(folder / "karpdash.sqlite3"))


def as_before(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Makes the database of the commit before the squash, and returns its rows."""
    with database(folder) as made:
        made.executescript(BEFORE.read_text())
        return rows(made)


def schema(made: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Every table with the order of its columns, index and trigger, as text."""
    return set(made.execute("SELECT type, name, sql FROM sqlite_master"))


def rows(made: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    names = [name for kind, name, _ in schema(made) if kind == "table" and name not in NEW_ROWS]
    found = {name: made.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    return {name: some for name, some in found.items() if some}


def replaced() -> set[str]:
    steps = MigrationLoader(None).disk_migrations
    return {name for step in (TABLES, GUARDS) for _, name in steps[OURS, step].replaces}


def test_a_database_from_before_the_squash_ends_like_a_new_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    before = as_before(old)
    told = migrate(old)
    applied = [line for line in told.stdout.splitlines() if "Applying" in line]
    assert (told.returncode, applied) == (
        0,
        [f"  Applying {OURS}.{name}... OK" for name in (MODEL_NAMES, REPOSITORY_GROUPS)],
    ), told.stderr
    new.mkdir()
    assert migrate(new).returncode == 0
    with database(old) as upgraded, database(new) as fresh:
        assert schema(upgraded) == schema(fresh)
        assert rows(upgraded) == before
        assert {"migrations_app_auditevent", "migrations_app_rollout", "migrations_app_snapshot"} <= set(before)
        steps = dict(upgraded.execute(NAMES.replace("name", "name, applied", 1)).fetchall())
        assert set(steps) == replaced() | {
            TABLES,
            GUARDS,
            MODEL_NAMES,
            REPOSITORY_GROUPS,
            "0025_needs_0025_packed_contents",
        }
        assert steps["0025_packed_contents"] == "2026-11-24 09:00:00"  # packing waits from then on (R27)
        assert {name for (name,) in fresh.execute(NAMES)} == replaced() | {
            TABLES,
            GUARDS,
            MODEL_NAMES,
            REPOSITORY_GROUPS,
        }


def run(url: str, folder: Path, statement: str) -> list[str]:
    """The first column of what the statement returns, on either database."""
    if url:
        with psycopg.connect(url, autocommit=True) as server:
            cursor = server.execute(statement.encode())
            return [row[0] for row in cursor.fetchall()] if cursor.description else []
    with database(folder) as file:
        found = [row[0] for row in file.execute(statement)]
        file.commit()
        return found


def test_nothing_is_run_where_all_that_is_replaced_was_applied(tmp_path, database_url):
    assert migrate(tmp_path, url=database_url).returncode == 0
    names = sorted(run(database_url, tmp_path, NAMES))
    assert names == sorted(replaced() | {TABLES, GUARDS, MODEL_NAMES, REPOSITORY_GROUPS})
    run(database_url, tmp_path, FORGET)
    told = migrate(tmp_path, url=database_url)
    assert (told.returncode, "No migrations to apply." in told.stdout) == (0, True), told.stderr
    assert sorted(run(database_url, tmp_path, NAMES)) == names


KILLED = """
import os
from django.db.migrations.recorder import MigrationRecorder
record = MigrationRecorder.record_applied
def until(self, app, name):
    record(self, app, name)
    if name == "0010_waits_for":
        os._exit(9)
MigrationRecorder.record_applied = until
os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "migrate", "--skip-checks"])
"""


def test_a_kill_while_the_names_are_recorded_leaves_none_and_the_next_run_ends_it(tmp_path):
    env = os.environ | {"KARPDASH_DATA_DIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, env=env, check=False).returncode == 9
    assert run("", tmp_path, NAMES) == []
    told = migrate(tmp_path)
    assert told.returncode == 0, told.stderr
    assert set(run("", tmp_path, NAMES)) == replaced() | {TABLES, GUARDS, MODEL_NAMES, REPOSITORY_GROUPS}


def test_a_database_between_the_steps_is_refused_in_words_and_left_alone(tmp_path):
    as_before(tmp_path)
    with database(tmp_path) as made:
        made.execute("DELETE FROM django_migrations WHERE name = '0026_check_again'")
        made.commit()
        before = set(made.iterdump())
    told = migrate(tmp_path, checks=True)
    assert (told.returncode, "karpdash.E019" in told.stderr, "lacks 0026_check_again" in told.stderr) == (1, True, True)
    with database(tmp_path) as made:
        assert set(made.iterdump()) == before


@pytest.mark.django_db
def test_a_new_database_has_a_way_up():
    assert our_schema.upgrade_obstacle() == ""
    assert run_checks(tags=[Tags.database], databases=["default"]) == []


@pytest.mark.django_db
@pytest.mark.parametrize("applied", [FIRST, FIRST + SECOND[:-1]], ids=["first series", "all but one"])
def test_up_refuses_a_database_between_the_steps(applied):
    MigrationRecorder(connection).migration_qs.filter(app=OURS).exclude(name__in=applied).delete()
    assert our_schema.schema_fit() == "behind"
    assert [error.id for error in run_checks(tags=[Tags.database], databases=["default"])] == ["karpdash.E019"]
    with pytest.raises(InvalidSetting) as refused:
        up._bring_schema_up()
    assert refused.value.where == up.DATABASE
    assert refused.value.message == (
        "the database has only some of the schema steps that 0001_squashed_0026_tables replaces and lacks "
        "0026_check_again: run `migrate` of the last commit before 0001_squashed_0026_tables on it first, "
        "or begin with a new database"
    )


@pytest.mark.django_db
def test_the_release_before_stays_ready_on_an_upgraded_and_on_a_new_database(monkeypatch):  # R27
    known = our_schema._known()
    before = known - {(OURS, TABLES), (OURS, GUARDS), (OURS, MODEL_NAMES), (OURS, REPOSITORY_GROUPS)}
    assert {name for app, name in before if app == OURS} == replaced()
    monkeypatch.setattr(our_schema, "_known", lambda: before)
    assert our_schema.schema_fit() == ""
