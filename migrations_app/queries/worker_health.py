"""Which queues have a live worker, by heartbeats."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from migrations_app.models.monitoring import Pulse

SILENT = timedelta(seconds=60)
"""A process without a heartbeat for this long counts as gone; workers send one every ten seconds."""
LANES: tuple[str, ...] = ("probe", "scan", "action", "upkeep", "beat")


def queues_without_worker() -> tuple[str, ...]:
    """Queues without a live worker for a minute; `beat` is the scheduler. Without the action queue if it is switched
    off.
    """
    lane_lists = Pulse.objects.filter(seen_at__gt=Now() - SILENT).values_list("lanes", flat=True)
    served = {lane for lanes in lane_lists for lane in lanes.split(",")}
    expected = LANES if settings.ENV.action_slots else tuple(lane for lane in LANES if lane != "action")
    return tuple(lane for lane in expected if lane not in served)
