"""The values for a Prometheus scrape, in five queries for any size of the fleet."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.db.models.functions import Coalesce

from migrations_app.models.monitoring import Tally
from migrations_app.models.notification import Channel
from migrations_app.models.rollout import Rollout
from migrations_app.queries.fleet.clusters import stale_after
from migrations_app.queries.fleet.counted_clusters import counting_clusters
from migrations_app.queries.fleet.scan_interval import OF_GROUPS, applied_interval, is_stale, with_intervals
from migrations_app.queries.fleet.waivers import waiver_states
from migrations_app.queries.visibility import visible_clusters

Cell = tuple[Any, ...]
"""Values of the labels, with the number at the end."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Histogram of scan durations: counts by upper bound in seconds, not cumulative."""

    buckets: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetNumbers:
    """The values of all metrics. The first label is the cluster's name. `ages` are in seconds since the last success;
    of a cluster that never answered, since its registration. `stale_after` is the age, in seconds, from which a result
    is out of date."""

    verdicts: tuple[Cell, ...] = ()
    checks: tuple[Cell, ...] = ()
    objects: tuple[Cell, ...] = ()
    legacy_nodes: tuple[Cell, ...] = ()
    ages: tuple[Cell, ...] = ()
    stale_after: tuple[Cell, ...] = ()
    stale: tuple[Cell, ...] = ()
    """Of each cluster with a result, whether it is out of date, as pages and badges say it."""
    errors: tuple[Cell, ...] = ()
    requests: tuple[Cell, ...] = ()
    forecasts: tuple[Cell, ...] = ()
    rollouts: tuple[Cell, ...] = ()
    waivers: tuple[Cell, ...] = ()
    """Only by state: a label for the cluster would make a series for each cluster."""
    duration: Duration = Duration()
    channels_failing: int = 0


def numbers(*, now: datetime) -> FleetNumbers:
    """All numbers for monitoring."""
    clusters = visible_clusters().filter(counting_clusters())
    since = Coalesce("last_success_at", "created_at")
    columns = ("pk", "name", "since", "gauges__body", "interval_seconds", OF_GROUPS, "latest__scanned_at")
    rows = list(with_intervals(clusters).annotate(since=since).values_list(*columns).order_by("name"))
    names = {key: name for key, name, *_ in rows}
    measured = [(name, body) for _, name, _, body, *_ in rows if isinstance(body, dict)]
    limits = [(name, stale_after(applied_interval(own, of_groups)), at) for _, name, _, _, own, of_groups, at in rows]
    tallies = list(Tally.objects.order_by("pk").values_list("subject", "what", "first", "second", "count"))
    by_name = {str(key): name for key, name in names.items()}
    counted = [(by_name[subject], *rest) for subject, *rest in tallies if subject in by_name]
    return FleetNumbers(
        verdicts=tuple((name, hop, word) for name, body in measured for hop, word in body.get("verdicts", {}).items()),
        checks=tuple((name, *cell) for name, body in measured for cell in body.get("checks", ())),
        objects=tuple((name, *cell) for name, body in measured for cell in body.get("objects", ())),
        legacy_nodes=tuple((name, count) for name, body in measured if (count := body.get("legacy_nodes")) is not None),
        ages=tuple((name, (now - since).total_seconds()) for _, name, since, *_ in rows),
        stale_after=tuple((name, limit.total_seconds()) for name, limit, _ in limits),
        stale=tuple((name, is_stale(at, limit=limit, now=now)) for name, limit, at in limits if at),
        errors=tuple((name, first, count) for name, kind, first, _, count in counted if kind == "error"),
        requests=tuple(
            (name, first, second, count) for name, kind, first, second, count in counted if kind == "request"
        ),
        forecasts=tuple(
            (name, first, second, count) for name, kind, first, second, count in counted if kind == "forecast"
        ),
        rollouts=_rollouts(names),
        waivers=tuple(waiver_states(now).items()),
        duration=_duration(tallies),
        channels_failing=Channel.objects.filter(enabled=True, failures__gt=0).count(),
    )


def _rollouts(names: Mapping[uuid.UUID, str]) -> tuple[Cell, ...]:
    withs = Rollout.objects.order_by("cluster_id", "state").values_list("cluster_id", "state").annotate(n=Count("pk"))
    return tuple((names[key], state, count) for key, state, count in withs if key in names)


def _duration(tallies: list[Any]) -> Duration:
    buckets = {first: count for subject, kind, first, _, count in tallies if not subject and kind == "duration"}
    total = sum(count for subject, kind, _, _, count in tallies if not subject and kind == "milliseconds")
    return Duration(buckets, total / 1000)
