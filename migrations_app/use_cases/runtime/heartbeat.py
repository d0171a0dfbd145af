"""Worker and beat heartbeats, stored in the database so that the web process sees them from any machine."""

import logging
from collections.abc import Iterable

from django.db import Error, connection
from django.db.models.functions import Now

from migrations_app.models.monitoring import Pulse

log = logging.getLogger(__name__)
BEAT = "beat"


def beat(name: str, lanes: Iterable[str]) -> None:
    """Stores a heartbeat of the named process, with the database's clock. A database error is logged, not raised."""
    told = ",".join(sorted(lanes))[:200]
    try:
        if not Pulse.objects.filter(pk=name[:200]).update(lanes=told, seen_at=Now()):
            Pulse.objects.bulk_create([Pulse(name=name[:200], lanes=told, seen_at=Now())], ignore_conflicts=True)
    except Error:
        log.warning("no sign of life could be written")
        connection.close()


def stopped(name: str) -> None:
    """Deletes the heartbeat of a process that shut down in good order."""
    try:
        Pulse.objects.filter(pk=name[:200]).delete()
    except Error:
        connection.close()
