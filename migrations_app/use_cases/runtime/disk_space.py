"""No scan starts while free disk space is low, so that approvals and audit events can still be written (R25)."""

import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection

from migrations_app.errors import Conflict

MIB = 1024 * 1024


def why_full() -> str:
    """Text of which disk has too little free space; empty while there is enough. Scans resume when there is enough
    again.
    """
    return next((why for word, place in _places() if (why := _why_short(word, place))), "")


def refuse_when_full() -> None:
    """Raises Conflict `disk_full` while there is too little free disk space."""
    if why := why_full():
        raise Conflict(why, code="disk_full")


def _places() -> list[tuple[str, Path]]:
    """The data folder and the folder of the SQLite file. The disk of a PostgreSQL server cannot be checked here."""
    places = [("the data folder", Path(settings.ENV.data_dir))]
    name = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite" and name.is_absolute():
        places.append(("the database", name.parent))
    return [(word, place) for word, place in places if place.is_dir()]


def _why_short(word: str, place: Path) -> str:
    disk = shutil.disk_usage(place)
    percent, mib = 100 * disk.free / max(disk.total, 1), disk.free / MIB
    if percent >= settings.ENV.free_percent and mib >= settings.ENV.free_mib:
        return ""
    return f"the disk of {word} has {mib:,.0f} MiB ({percent:.0f} %) left: no scan begins until there is more"
