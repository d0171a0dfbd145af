"""Whether the database schema matches this code, or is older or newer (R27)."""

from functools import cache
from typing import Literal

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Fit = Literal["", "behind", "ahead"]
OURS = "migrations_app"


def schema_fit() -> Fit:
    """Empty if it matches; `behind` if it is older; `ahead` if a newer release has changed it. Raises
    django.db.Error.
    """
    done = set(MigrationRecorder(connection).applied_migrations())
    known = _known()
    if any(step not in known | _replaced() for step in done if step[0] == OURS):
        return "ahead"
    return "behind" if known - done else ""


@cache
def _known() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations or ())


@cache
def _replaced() -> frozenset[tuple[str, str]]:
    """Migrations that a squashed one stands for: a database records their names as well."""
    every = (MigrationLoader(None).disk_migrations or {}).values()
    return frozenset((app, name) for step in every for app, name in step.replaces)
