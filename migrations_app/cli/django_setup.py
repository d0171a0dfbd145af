"""Loads Django for the commands that need the database; all others must not pay for it."""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrations_app.errors import InvalidSetting

SETTINGS = "karpdash.settings"
_HINT = "start `karpdash up` once, or point KARPDASH_DATA_DIR or KARPDASH_DATABASE_URL at its data"


def setup_django() -> None:
    """Makes models usable. Raises BadSetting when there is no database of ours behind the settings."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    django.setup()
    from django.db import DatabaseError, connection

    if connection.vendor == "sqlite" and not _is_there(str(connection.settings_dict["NAME"])):
        raise InvalidSetting(f"there is no database yet: {_HINT}", where=str(connection.settings_dict["NAME"]))
    try:
        tables = connection.introspection.table_names()
    except DatabaseError as wrong:
        raise InvalidSetting(f"the database does not answer ({type(wrong).__name__}): {_HINT}") from None
    if "migrations_app_cluster" not in tables:
        raise InvalidSetting(f"the database is empty: {_HINT}")


@contextmanager
def at_terminal() -> Iterator[None]:
    """What is recorded inside the block was done by the user of this terminal."""
    from migrations_app.use_cases.audit.log import Actor, acting_as

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        name = str(os.getuid())
    with acting_as(Actor(name=name, method="cli")):
        yield


def _is_there(name: str) -> bool:
    """Django would create an empty file for the asking."""
    return "memory" in name or Path(name).is_file()
