"""Loads Django for the commands that need the database; the other commands start faster without it."""

import argparse
import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from migrations_app.errors import InvalidSetting

SETTINGS = "karpdash.settings"
_HINT = "start `karpdash up` once, or point KARPDASH_DATA_DIR or KARPDASH_DATABASE_URL at its data"


def require_server(command: str) -> None:
    """Raises InvalidSetting if karpdash was installed without the packages that the server needs."""
    missing = [name for name in ("django", "celery") if find_spec(name) is None]
    if missing:
        message = f"needs packages that are not installed ({', '.join(missing)})"
        raise InvalidSetting(f"{message}: pip install 'karpdash[server,embedded]'", where=command)


def setup_django() -> None:
    """Loads Django, so that models can be used. Raises InvalidSetting if the settings name no karpdash database."""
    require_server("a command of the database")
    import django
    from django.apps import apps

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    if not apps.ready:  # a second set-up would bind the logs to another stream
        django.setup()
    from django.db import DatabaseError, connection

    if connection.vendor == "sqlite" and not _is_there(str(connection.settings_dict["NAME"])):
        raise InvalidSetting(f"there is no database yet: {_HINT}", where=str(connection.settings_dict["NAME"]))
    try:
        tables = connection.introspection.table_names()
    except DatabaseError as error:
        raise InvalidSetting(f"the database does not answer ({type(error).__name__}): {_HINT}") from None
    if "migrations_app_cluster" not in tables:
        raise InvalidSetting(f"the database is empty: {_HINT}")


def run_verb(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Runs the verb that the arguments name, as the user of this terminal; returns its exit code."""
    options = parser.parse_args(argv)
    setup_django()
    with at_terminal():
        return int(options.do(options))


@contextmanager
def at_terminal() -> Iterator[None]:
    """Records every change in the block in the audit log as made by the user of this terminal."""
    from migrations_app.use_cases.audit.log import Actor, acting_as

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run with a numeric uid that has no name
        name = str(os.getuid()) if hasattr(os, "getuid") else "nobody"
    with acting_as(Actor(name=name, method="cli")):
        yield


def _is_there(name: str) -> bool:
    """Whether the SQLite file exists; Django would create an empty file on connecting."""
    return "memory" in name or Path(name).is_file()
