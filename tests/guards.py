"""Tests that commit are swept away afterwards; the guards of the audit log, which refuse just that, rest meanwhile."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations

GUARDS = importlib.import_module("migrations_app.migrations.0002_squashed_0026_guards")
TABLES = ("migrations_app_auditevent", "migrations_app_audithead", "migrations_app_checkpoint")
_flush = BaseDatabaseOperations.execute_sql_flush


@contextmanager
def resting() -> Iterator[None]:
    """The guards off, and on again; harmless where the schema has none yet."""
    with connection.cursor() as cursor:
        for statement in _off():
            cursor.execute(statement)
    yield
    with connection.cursor() as cursor:
        for statement in _on():
            cursor.execute(statement)


def _off() -> tuple[str, ...]:
    if connection.vendor == "sqlite":
        return tuple(GUARDS.UNDO_SQLITE)
    return tuple(f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in TABLES)


def _on() -> tuple[str, ...]:
    if connection.vendor == "sqlite":
        return tuple(GUARDS.SQLITE)
    return tuple(f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in TABLES)


def _flush_at_rest(self: BaseDatabaseOperations, sql_list: list[str]) -> None:
    with resting():
        _flush(self, sql_list)


def let_tests_sweep() -> None:
    """From now on a flush of the test database lets the guards rest."""
    setattr(BaseDatabaseOperations, "execute_sql_flush", _flush_at_rest)  # noqa: B010 - mypy refuses the plain way
