"""Creates the tables of an installation: the first one of a test process migrates, the others begin with a copy
of it.

Django rebuilds every model for most steps of a migration, which takes longer than everything else that an installation
does at its start. A copy is migrated as well: nothing is left to do then.
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
    """Writes the tables into a SQLite database that does not exist yet; returns False, and does nothing, if no copy is
    stored.
    """
    if _images:
        file.write_bytes(_images[0])
    return bool(_images)


def keep(file: Path) -> None:
    """Stores a copy of a SQLite database that has tables but no rows, unless there is a copy."""
    if _images:
        return
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        _images.append(copy.serialize())


def create(server: str, name: str) -> None:
    """Creates a database on that PostgreSQL server, with tables once a template is stored."""
    with psycopg.connect(server, autocommit=True) as connection:
        template = TEMPLATE if _has_template(connection) else "template1"
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())


def keep_template(url: str) -> None:
    """As `keep` for PostgreSQL. No client may be connected to the database meanwhile; raises TimeoutError otherwise."""
    head, _, name = url.rpartition("/")
    with psycopg.connect(f"{head}/postgres", autocommit=True) as connection:
        if not _has_template(connection):
            eventually(lambda: _copied(connection, name), what=f"nobody to be connected to {name}")


def _has_template(connection: psycopg.Connection[Any]) -> bool:
    cursor = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE])
    return cursor.fetchone() is not None


def _copied(connection: psycopg.Connection[Any], name: str) -> bool:
    """Returns False while a client is connected to the database, as the process that has just migrated it may be."""
    try:
        connection.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE {name}".encode())
    except psycopg.errors.ObjectInUse:
        return False
    return True
