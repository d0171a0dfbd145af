"""Whether this code can serve the tables of the database: those of its release, and those of newer ones that only add.

A newer release changes the tables while processes of the one before still run. What its steps add (tables, columns with
a default in the database or that may be empty, indexes) is served as well. A step that takes away, renames or narrows
says in its name which step a release must know to live with it: `0007_needs_0005_drop_old_name`. The release that knows
0005 no longer uses what goes; an older one is told to be ahead of.

A step may replace others, whose files are gone; code that has it knows those, too. A database that applied only some of
them cannot be brought up: Django finds no way, and we say why.
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
OURS = "migrations_app"
_NEEDS = re.compile(r"\d{4}_needs_(\d{4})_")


def schema_fit() -> Fit:
    """Empty if this code can serve the tables; `behind` if they lack a step of it; `ahead` if a newer release took away
    what it needs (R27). Raises django.db.Error.
    """
    done = set(MigrationRecorder(connection).applied_migrations())
    known = _known()
    numbers = {name[:4] for app, name in known if app == OURS}
    if any(needed_step(name) - numbers for app, name in done - known if app == OURS):
        return "ahead"
    return "behind" if known - done else ""


def needed_step(name: str) -> set[str]:
    """The number of the step that a release must know to serve tables with the step of that name; empty for any."""
    match = _NEEDS.match(name)
    return {match[1]} if match else set()


def no_way_up() -> str:
    """Why this database cannot be brought to the schema of this code; empty if it can. Raises django.db.Error."""
    done = set(MigrationRecorder(connection).applied_migrations())
    for (app, name), replaced in _steps().items():
        if app == OURS and replaced & done and (missing := sorted(step for _, step in replaced - done)):
            return (
                f"the database has only some of the schema steps that {name} replaces and lacks {missing[-1]}: "
                f"run `migrate` of the last commit before {name} on it first, or begin with a new database"
            )
    return ""


@register(Tags.database)
def way_up(databases: Collection[str] | None = None, **_kwargs: Any) -> list[Error]:  # noqa: ANN401 - Django's own signature
    """For `manage.py migrate`, which otherwise names a missing node of its graph and nothing else. Without `databases`,
    as when a worker starts, no database is asked.
    """
    return [Error(words, id="karpdash.E019")] if databases and (words := no_way_up()) else []


def _known() -> frozenset[tuple[str, str]]:
    """The steps of this code, with those that they replace."""
    return frozenset(_steps()).union(*_steps().values())


@cache
def _steps() -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """Each step of this code with those that it replaces."""
    return {key: frozenset(step.replaces) for key, step in (MigrationLoader(None).disk_migrations or {}).items()}
