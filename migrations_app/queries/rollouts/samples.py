"""The counters of a rollout's cluster over time."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from django.db import models

from migrations_app.models.rollout import RolloutSample
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

MAX_SAMPLES = 180
"""Maximum number of points in a chart."""
COUNTERS = ("ready_nodes", "pending_pods", "held_pods")


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
    """The samples in order of time, evenly reduced to at most MAX_SAMPLES. The first and the newest sample and those
    with the extremes of a counter are among them, so that a chart shows the same extremes as `counter_extremes`.
    """
    rows = RolloutSample.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    counts = list(rows.order_by("-pk").values_list("pk", *COUNTERS))
    keys = [pk for pk, *_ in counts]
    if len(keys) > MAX_SAMPLES:
        kept = _kept_samples(counts)
        keys = [*kept, *keys[:: -(-len(keys) // (MAX_SAMPLES - len(kept)))]]
    samples = RolloutSample.objects.filter(pk__in=keys).order_by("pk") if keys else ()
    return tuple(from_row(CounterSample, row) for row in samples)


def _kept_samples(counts: Sequence[tuple[int, ...]]) -> set[int]:
    """Returns the keys of the first sample and of those with the least and the most of each counter."""
    kept = {counts[-1][0]}
    for place in range(1, len(COUNTERS) + 1):
        counted = [sample for sample in counts if sample[place] is not None]
        if counted:
            kept |= {extreme(counted, key=itemgetter(place))[0] for extreme in (min, max)}
    return kept


def counter_extremes(rollout_id: uuid.UUID) -> CounterExtremes:
    """The worst counters of all samples."""
    rows = RolloutSample.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    extremes = rows.aggregate(
        least_ready=models.Min("ready_nodes"),
        most_pending=models.Max("pending_pods"),
        most_held=models.Max("held_pods"),
    )
    return CounterExtremes(**extremes)
