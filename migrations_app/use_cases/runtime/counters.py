"""Monotonic counters for monitoring, stored in the database so that any process can report them."""

import logging
import uuid
from collections.abc import Mapping

from django.db import Error, transaction
from django.db.models import F

from migrations_app.models.monitoring import Tally

log = logging.getLogger(__name__)
REQUEST = "request"
"""Per cluster: requests to its API server; `first` is the verb, `second` the HTTP status."""
ERROR = "error"
"""Per cluster: scans that ended without a snapshot; `first` is the error code."""
DURATION = "duration"
"""Installation-wide: histogram of scan durations; `first` is the upper bound of the bucket in seconds."""
FORECAST = "forecast"
"""Per cluster: ended rollouts with a rehearsal; `first` is the measure, `second` its agreement with the forecast."""
MILLISECONDS = "milliseconds"
"""Installation-wide: total duration of all scans, in milliseconds."""
BUCKETS: tuple[float, ...] = (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
BEYOND = "+Inf"
_FIRST, _SECOND = 60, 20


def add(subject: str, kind: str, *, counts: Mapping[tuple[str, str], int]) -> None:
    """Adds each count to its row. Rows are always updated in the same order, so that two writers cannot deadlock."""
    for (first, second), count in sorted(counts.items()):
        place = {"subject": subject, "what": kind, "first": first[:_FIRST], "second": second[:_SECOND]}
        rows = Tally.objects.filter(**place)
        if not rows.update(count=F("count") + count):
            Tally.objects.bulk_create([Tally(**place)], ignore_conflicts=True)
            rows.update(count=F("count") + count)


def add_requests(cluster_id: uuid.UUID, calls: Mapping[tuple[str, str], int]) -> None:
    """Adds requests to a cluster's counters, in a transaction of its own. A database error loses only these counts."""
    if not calls:
        return
    try:
        with transaction.atomic():
            add(str(cluster_id), REQUEST, counts=calls)
    except Error:
        log.warning("requests were not counted", extra={"cluster": str(cluster_id)})


def add_error(cluster_id: uuid.UUID, code: str) -> None:
    add(str(cluster_id), ERROR, counts={(code, ""): 1})


def add_duration(seconds: float) -> None:
    """Counts one finished scan, whether it succeeded or failed."""
    bucket = next((f"{end:g}" for end in BUCKETS if seconds <= end), BEYOND)
    add("", DURATION, counts={(bucket, ""): 1})
    add("", MILLISECONDS, counts={("", ""): max(0, round(seconds * 1000))})


def calls_by_name(calls: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """The counts in the form that a scan row stores: "verb status" to count."""
    return {f"{verb} {code}": count for (verb, code), count in sorted(calls.items())}
