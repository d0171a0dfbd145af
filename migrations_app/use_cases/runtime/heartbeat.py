"""Worker and beat heartbeats, stored in the database so that the web process sees them from any machine."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import Error, connection
from django.db.models.functions import Now

from migrations_app.models.monitoring import ProcessHeartbeat

log = logging.getLogger(__name__)
BEAT = "beat"
MAX_DATABASE_WAIT_SECONDS = 2.0
"""Maximum seconds that a heartbeat waits for SQLite's lock. The main loop of a worker writes it, and receives no signal
while it waits in SQLite: with the 20 seconds of other writes, a worker that was told to stop was killed before it
ended.
"""


def write_heartbeat(name: str, queues: Iterable[str]) -> None:
    """Stores a heartbeat of the named process, with the database's clock. A database error is logged, not raised."""
    queue_names = ",".join(sorted(queues))[:200]
    try:
        with _brief_waits():
            if not ProcessHeartbeat.objects.filter(pk=name[:200]).update(lanes=queue_names, seen_at=Now()):
                ProcessHeartbeat.objects.bulk_create(
                    [ProcessHeartbeat(name=name[:200], lanes=queue_names, seen_at=Now())], ignore_conflicts=True
                )
    except Error:
        log.warning("the heartbeat could not be written")
        connection.close()


def delete_heartbeat(name: str) -> None:
    """Deletes the heartbeat of a process that shut down in an orderly way."""
    try:
        with _brief_waits():
            ProcessHeartbeat.objects.filter(pk=name[:200]).delete()
    except Error:
        connection.close()


@contextmanager
def _brief_waits() -> Iterator[None]:
    """Limits the wait for SQLite's lock in the block to MAX_DATABASE_WAIT_SECONDS."""
    if connection.vendor != "sqlite":
        yield
        return
    before = connection.settings_dict["OPTIONS"].get("timeout", 5.0)
    _wait_at_most(MAX_DATABASE_WAIT_SECONDS)
    yield
    _wait_at_most(before)


def _wait_at_most(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
