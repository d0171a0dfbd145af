"""Which lanes somebody serves, told by signs of life."""

from datetime import timedelta

from django.db.models.functions import Now

from migrations_app.models.monitoring import Pulse

SILENT = timedelta(seconds=60)
"""Without a sign for so long a process counts as gone; workers give one every ten seconds."""
LANES: tuple[str, ...] = ("probe", "scan", "action", "upkeep", "beat")


def silent_lanes() -> tuple[str, ...]:
    """Lanes that nobody has served for a minute; `beat` is the timetable."""
    told = Pulse.objects.filter(seen_at__gt=Now() - SILENT).values_list("lanes", flat=True)
    served = {lane for lanes in told for lane in lanes.split(",")}
    return tuple(lane for lane in LANES if lane not in served)
