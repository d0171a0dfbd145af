"""Wrong passwords by address, as the table of the throttle holds them."""

from dataclasses import dataclass
from datetime import datetime

from axes.models import AccessAttempt
from django.db.models import Max, Sum


@dataclass(frozen=True, slots=True)
class WrongTries:
    """How many wrong passwords there were, and when the newest came."""

    count: int
    newest: datetime | None


def wrong_tries(address: str, *, since: datetime, until: datetime) -> WrongTries:
    """Wrong passwords from that address for whatever names."""
    rows = AccessAttempt.objects.filter(ip_address=address or None, attempt_time__range=(since, until))
    found = rows.aggregate(count=Sum("failures_since_start"), newest=Max("attempt_time"))
    return WrongTries(found["count"] or 0, found["newest"])
