"""Which queues have a live worker, by heartbeats."""

import time
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from migrations_app.models.monitoring import ProcessHeartbeat

HEARTBEAT_TIMEOUT = timedelta(seconds=60)
"""A process without a heartbeat for this long counts as gone; workers send one every ten seconds."""
STARTED = time.monotonic()
"""When this process was started, by its monotonic clock."""
WORKED_QUEUES: tuple[str, ...] = ("probe", "scan", "action", "upkeep", "beat")


def queues_without_worker() -> tuple[str, ...]:
    """Queues without a live worker for a minute; `beat` is the scheduler. Without the action queue if it is switched
    off.
    """
    queue_lists = ProcessHeartbeat.objects.filter(seen_at__gt=Now() - HEARTBEAT_TIMEOUT).values_list("lanes", flat=True)
    served = {queue for queues in queue_lists for queue in queues.split(",")}
    expected = [queue for queue in WORKED_QUEUES if queue != "action" or settings.ENV.action_slots]
    return tuple(queue for queue in expected if queue not in served)


def queues_silent_for_a_minute() -> tuple[str, ...]:
    """As `queues_without_worker`; empty in the first minute of this process, beside which workers may be starting."""
    silent = queues_without_worker()
    return silent if time.monotonic() - STARTED > HEARTBEAT_TIMEOUT.total_seconds() else ()
