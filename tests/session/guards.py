"""Switches off the triggers that protect the audit log while the test database is emptied after a test that commits."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations

GUARDS = importlib.import_module("migrations_app.migrations.0002_squashed_0026_guards")
TABLES = ("migrations_app_auditevent", "migrations_app_audithead", "migrations_app_checkpoint")
_flush = BaseDatabaseOperations.execute_sql_flush


@contextmanager
def triggers_off() -> Iterator[None]:
    """Context in which the triggers are off; harmless if the schema has none yet."""
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


def _flush_with_triggers_off(self: BaseDatabaseOperations, sql_list: list[str]) -> None:
    with triggers_off():
        _flush(self, sql_list)


def let_tests_sweep() -> None:
    """Makes every later flush of the test database switch the triggers off."""
    setattr(BaseDatabaseOperations, "execute_sql_flush", _flush_with_triggers_off)  # noqa: B010 - mypy refuses the plain way
