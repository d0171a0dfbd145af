"""Checks whether this code can serve the tables of the database: tables of its own release, and those of a newer
release that only added to them.

A newer release changes the tables while processes of the release before still run. Additions (tables, indexes, columns
that may be empty or have a default in the database) do not disturb the older release. A schema step that removes,
renames or narrows something has the number of an earlier step in its name: `0007_needs_0005_drop_old_name`. A release
that has step 0005 no longer uses what 0007 removes; a release without 0005 is told that the tables are ahead.

A step may replace others, whose files are gone; code that has the new step knows the replaced ones, too. A database
that applied only some of the replaced steps cannot be upgraded: Django finds no path, and this module says why.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Any, Literal

from django.core.checks import Error, Tags, register
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Fit = Literal["", "behind", "ahead"]
APP = "migrations_app"
_NEEDS = re.compile(r"\d{4}_needs_(\d{4})_")


def schema_fit() -> Fit:
    """Returns an empty text if this code can serve the tables; `behind` if the tables lack a step of this code; `ahead`
    if a newer release removed what this code needs (R27). Raises django.db.Error.
    """
    done = set(MigrationRecorder(connection).applied_migrations())
    known = _known()
    numbers = {name[:4] for app, name in known if app == APP}
    if any(required_step(name) - numbers for app, name in done - known if app == APP):
        return "ahead"
    return "behind" if known - done else ""


def required_step(name: str) -> set[str]:
    """Returns the number of the step that a release must have to serve tables with that step applied; empty if any
    release can.
    """
    match = _NEEDS.match(name)
    return {match[1]} if match else set()


def upgrade_obstacle() -> str:
    """Returns why this database cannot be upgraded to the schema of this code; empty if it can. Raises
    django.db.Error.
    """
    done = set(MigrationRecorder(connection).applied_migrations())
    for (app, name), replaced in _steps().items():
        if app == APP and replaced & done and (missing := sorted(step for _, step in replaced - done)):
            return (
                f"the database has only some of the schema steps that {name} replaces and lacks {missing[-1]}: "
                f"run `migrate` of the last commit before {name} on it first, or begin with a new database"
            )
    return ""


@register(Tags.database)
def upgrade_path_exists(databases: Collection[str] | None = None, **_kwargs: Any) -> list[Error]:  # noqa: ANN401 - Django's own signature
    """System check for `manage.py migrate`, whose own error only names a missing node of its graph. Without
    `databases`, as when a worker starts, no database is asked.
    """
    return [Error(words, id="karpdash.E019")] if databases and (words := upgrade_obstacle()) else []


def _known() -> frozenset[tuple[str, str]]:
    """Returns the steps of this code and the steps that they replace."""
    return frozenset(_steps()).union(*_steps().values())


@cache
def _steps() -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """Returns each step of this code with the steps that it replaces."""
    return {key: frozenset(step.replaces) for key, step in (MigrationLoader(None).disk_migrations or {}).items()}
