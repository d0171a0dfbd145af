"""Signs of life of workers and of the timetable, as rows: the web process sees them on whatever machine they run."""

import logging
from collections.abc import Iterable

from django.db import Error, connection
from django.db.models.functions import Now

from migrations_app.models.monitoring import Pulse

log = logging.getLogger(__name__)
BEAT = "beat"


def beat(name: str, lanes: Iterable[str]) -> None:
    """Notes that the process of that name lives, by the database's clock; nothing ends for want of it."""
    told = ",".join(sorted(lanes))[:200]
    try:
        if not Pulse.objects.filter(pk=name[:200]).update(lanes=told, seen_at=Now()):
            Pulse.objects.bulk_create([Pulse(name=name[:200], lanes=told, seen_at=Now())], ignore_conflicts=True)
    except Error:
        log.warning("no sign of life could be written")
        connection.close()


def stopped(name: str) -> None:
    """Forgets a process that ended in good order."""
    try:
        Pulse.objects.filter(pk=name[:200]).delete()
    except Error:
        connection.close()
