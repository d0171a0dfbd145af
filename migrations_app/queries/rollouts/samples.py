"""The counters of a rollout's cluster over time."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import models

from migrations_app.models.rollout import RolloutSample
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

MAX_SAMPLES = 180
"""Maximum number of points in a chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSample:
    """The counters at one time; None if a value could not be counted."""

    taken_at: datetime
    ready_nodes: int | None
    pending_pods: int | None
    held_pods: int | None
    pending_limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterExtremes:
    """The worst counters of a whole rollout; None if nothing was counted."""

    least_ready: int | None
    most_pending: int | None
    most_held: int | None


def samples_of(rollout_id: uuid.UUID) -> tuple[CounterSample, ...]:
    """The samples in order of time, evenly reduced to about MAX_SAMPLES, including the newest one."""
    rows = RolloutSample.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True))
    sample_ids = keys[:: max(1, -(-len(keys) // MAX_SAMPLES))]
    samples = RolloutSample.objects.filter(pk__in=sample_ids).order_by("pk") if sample_ids else ()
    return tuple(from_row(CounterSample, row) for row in samples)


def counter_extremes(rollout_id: uuid.UUID) -> CounterExtremes:
    """The worst counters of all samples."""
    rows = RolloutSample.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    extremes = rows.aggregate(
        least_ready=models.Min("ready_nodes"),
        most_pending=models.Max("pending_pods"),
        most_held=models.Max("held_pods"),
    )
    return CounterExtremes(**extremes)
