"""Backup and restore: one moment of the whole, while others write, without the keys."""

import dataclasses
import shutil
import sqlite3
import subprocess
import sys
import threading
import uuid
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from karpdash import backup, command
from karpdash.configuration.env import current
from migrations_app.errors import InvalidInput, InvalidSetting
from migrations_app.use_cases.runtime.connections import FIELD
from migrations_app.use_cases.runtime.encryption import EncryptionKeys
from tests.installations.running import bare_environment
from tests.servers.processes import missing


@pytest.fixture
def source(tmp_path):
    """An SQLite file in WAL mode, with a row that is sealed."""
    place = tmp_path / "karpdash.sqlite3"
    with closing(sqlite3.connect(place)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE pair (a INTEGER, b INTEGER)")
        made.execute("CREATE TABLE sealed (body BLOB)")
        made.execute("INSERT INTO sealed VALUES (?)", (KEYS.seal(b"kubeconfig", owner="c1", field=FIELD),))
        made.commit()
    return place


KEYS = EncryptionKeys((("k1", b"1" * 32),))


def env_of(place):
    return dataclasses.replace(current(), database={"ENGINE": "django.db.backends.sqlite3", "NAME": str(place)})


def ask(place, question):
    with closing(sqlite3.connect(place)) as opened:
        return opened.execute(question).fetchall()


def test_a_copy_is_one_moment_while_others_write(source, tmp_path):
    stop = threading.Event()

    def write():
        with closing(sqlite3.connect(source, timeout=20)) as writer:
            number = 0
            while not stop.is_set():
                number += 1
                with writer:
                    writer.execute("INSERT INTO pair VALUES (?, 0)", (number,))
                    writer.execute("UPDATE pair SET b = ? WHERE a = ?", (number, number))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        copies = [tmp_path / f"copy{number}" for number in range(5)]
        sizes = [backup.back_up(env_of(source), copy) for copy in copies]
    finally:
        stop.set()
        thread.join()
    assert all(size > 0 for size in sizes)
    assert [ask(copy, "SELECT count(*) FROM pair WHERE a <> b") for copy in copies] == [[(0,)]] * 5
    assert [ask(copy, "PRAGMA integrity_check") for copy in copies] == [[("ok",)]] * 5


def test_a_copy_is_its_owners_and_holds_no_key(source, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(env_of(source), copy)
    assert (copy.stat().st_mode & 0o777, b"1" * 32 in copy.read_bytes()) == (0o600, False)


def test_what_is_sealed_opens_with_the_keys_and_only_with_them(source, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(env_of(source), copy)
    ((body,),) = ask(copy, "SELECT body FROM sealed")
    assert KEYS.open(body, owner="c1", field=FIELD) == b"kubeconfig"
    with pytest.raises(InvalidSetting):
        EncryptionKeys((("k2", b"2" * 32),)).open(body, owner="c1", field=FIELD)


def test_nothing_is_written_over(source, tmp_path):
    copy = tmp_path / "copy"
    copy.write_text("mine")
    with pytest.raises(InvalidInput, match="File exists"):
        backup.back_up(env_of(source), copy)
    assert copy.read_text() == "mine"


@pytest.mark.parametrize("whole", [b"not a database at all", b"SQLite format 3\0" + bytes(5000)])
def test_a_copy_of_what_is_broken_is_refused_and_leaves_nothing(tmp_path, whole):
    place, copy = tmp_path / "db", tmp_path / "copy"
    place.write_bytes(whole)
    with pytest.raises(InvalidInput):
        backup.back_up(env_of(place), copy)
    assert not copy.exists()


def test_there_is_nothing_to_copy(tmp_path):
    with pytest.raises(InvalidSetting, match="there is no database"):
        backup.back_up(env_of(tmp_path / "absent"), tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_postgres_has_its_own_tool(tmp_path):
    env = dataclasses.replace(current(), database={"ENGINE": "django.db.backends.postgresql", "NAME": "karpdash"})
    with pytest.raises(InvalidSetting, match="pg_dump"):
        backup.back_up(env, tmp_path / "copy")


def test_the_command_says_what_it_did(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(backup, "current", lambda: env_of(source))
    codes = [command.main(["backup", str(tmp_path / "copy")]) for _ in range(2)]
    said = capsys.readouterr().err
    assert (codes, "keep them apart" in said, "File exists" in said) == ([0, 2], True, True)


def postgres_tool(name):
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    return str(found) if found else missing(name)


def test_a_dump_of_postgres_is_restored_with_every_row_and_rule(postgres_url, tmp_path):
    """The commands of docs/operations.md: dump, a new database, restore; the guards of the audit log are back too."""
    old, new = (_database(postgres_url) for _ in range(2))
    manage = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
    env = bare_environment(database_url=old, data_dir=str(tmp_path)) | {"DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    root = Path(__file__).parents[2]
    subprocess.run(manage, cwd=root, env=env, check=True)
    with psycopg.connect(old) as opened:
        opened.execute("INSERT INTO migrations_app_outbox (topic, body, created_at) VALUES ('t', '{}', now())")
    dump = tmp_path / "karpdash.dump"
    subprocess.run([postgres_tool("pg_dump"), "--format=custom", f"--file={dump}", f"--dbname={old}"], check=True)
    restore = [postgres_tool("pg_restore"), "--exit-on-error", "--no-owner", "--single-transaction", f"--dbname={new}"]
    subprocess.run([*restore, str(dump)], check=True)
    questions = (
        "SELECT topic FROM migrations_app_outbox",
        "SELECT count(*) FROM django_migrations",
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    )
    assert [_rows(new, question) for question in questions] == [_rows(old, question) for question in questions]
    assert _rows(new, questions[2]) != []


def _database(postgres_url):
    name = f"b{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{postgres_url.rpartition('/')[0]}/{name}"


def _rows(url, question):
    with psycopg.connect(url) as connection:
        return connection.execute(question.encode()).fetchall()
