"""The tables of an installation: the first one of a test process migrates, and the others begin with a copy of it.

Django makes every model anew for most steps of a migration, which takes longer than all else that an installation
needs to start. A copy is migrated as well: nothing is left to do then.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.waiting import eventually

TEMPLATE = f"migrated_{os.getpid()}"
"""The database of a PostgreSQL server that this process copies others from, once there is one."""
_images: list[bytes] = []
"""A migrated SQLite database, once there is one."""


def lay_down(file: Path) -> bool:
    """Writes the tables into a SQLite database that is not there yet; False, and nothing done, before one is kept."""
    if _images:
        file.write_bytes(_images[0])
    return bool(_images)


def keep(file: Path) -> None:
    """Remembers a SQLite database that has tables and nothing of ours in them, unless there is one."""
    if _images:
        return
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        _images.append(copy.serialize())


def create(server: str, name: str) -> None:
    """A new database on that PostgreSQL server, with tables once a template is kept."""
    with psycopg.connect(server, autocommit=True) as connection:
        template = TEMPLATE if _has_template(connection) else "template1"
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())


def keep_template(url: str) -> None:
    """The same for a database of PostgreSQL. Nobody stays connected to it meanwhile; raises TimeoutError otherwise."""
    head, _, name = url.rpartition("/")
    with psycopg.connect(f"{head}/postgres", autocommit=True) as connection:
        if not _has_template(connection):
            eventually(lambda: _copied(connection, name), what=f"nobody to be connected to {name}")


def _has_template(connection: psycopg.Connection[Any]) -> bool:
    cursor = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE])
    return cursor.fetchone() is not None


def _copied(connection: psycopg.Connection[Any], name: str) -> bool:
    """False while somebody is connected to the database, as the process that has just migrated it may be."""
    try:
        connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE {name}".encode())
    except psycopg.errors.ObjectInUse:
        return False
    return True
