"""Stores how an ended rollout differs from its rehearsal, and counts that, once for each rollout."""

import uuid
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Min, OuterRef
from django.utils import timezone

from migrations_app.actions.observation import RunObservation
from migrations_app.models.rehearsal import Rehearsal, RunRecord
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.queries.rehearsals.rehearsals import newest_result
from migrations_app.rehearsals.comparison import ForecastComparison, compare
from migrations_app.rehearsals.document import read_document
from migrations_app.use_cases.rollouts.transitions import ENDED
from migrations_app.use_cases.runtime import counters

MAX_RUN_AGE = timedelta(days=1)
"""Rollouts that ended longer ago are no longer compared."""
MAX_PER_SWEEP = 50


def keep_comparison(rollout_id: uuid.UUID) -> ForecastComparison | None:
    """Compares an ended rollout with its newest rehearsal and stores the result; None if there is nothing to compare.

    A rollout is only counted once, even after repeated calls.
    """
    row = Rollout.objects.filter(pk=rollout_id, state__in=sorted(ENDED)).first()
    if row is None or row.started_at is None or row.finished_at is None:
        return None
    newest = newest_result(row.pk, digest=row.digest)
    result = read_document(newest.raw).without_failure if newest else None
    if newest is None or result is None:
        return None
    record, _ = RunRecord.objects.get_or_create(rollout=row)
    seen = msgspec.convert(record.seen, type=RunObservation)
    seconds = round((row.finished_at - (_first_request(row) or row.started_at)).total_seconds())
    comparison = compare(result, seen, seconds=seconds, ended=row.state, between_looks=settings.ENV.gate_poll)
    columns = {"difference": msgspec.to_builtins(comparison), "rehearsal": newest.id, "compared_at": timezone.now()}
    with transaction.atomic():
        if not RunRecord.objects.filter(pk=record.pk, compared_at=None).update(**columns):
            return None
        counters.add(str(row.cluster_id), counters.FORECAST, counts=dict.fromkeys(comparison.agreements, 1))
    return comparison


def _first_request(row: Rollout) -> datetime | None:
    """The time of the first intent, after the time in which a start can be cancelled; None if there was no request."""
    moment: datetime | None = Attempt.objects.filter(rollout=row).aggregate(first=Min("intent_at"))["first"]
    return moment


def uncompared() -> list[uuid.UUID]:
    """Recently ended rollouts with a rehearsal that are not compared yet."""
    rehearsed = Rehearsal.objects.filter(
        rollout=OuterRef("pk"), digest=OuterRef("digest"), state=Rehearsal.State.FINISHED
    )
    compared = RunRecord.objects.filter(rollout=OuterRef("pk"), compared_at__isnull=False)
    rows = Rollout.objects.filter(
        Exists(rehearsed),
        ~Exists(compared),
        state__in=sorted(ENDED),
        started_at__isnull=False,
        finished_at__gte=timezone.now() - MAX_RUN_AGE,
    )
    return list(rows.order_by("finished_at").values_list("pk", flat=True)[:MAX_PER_SWEEP])
