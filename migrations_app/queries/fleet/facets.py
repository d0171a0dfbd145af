"""How many clusters each choice of a fleet filter would leave, together with the other active filters."""

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet

from migrations_app.models.cluster import Cluster, ClusterGroup, ClusterLabel
from migrations_app.queries.fleet.clusters import FleetFilters, matching_clusters
from migrations_app.queries.fleet.counted_clusters import ENVIRONMENT as SAMPLES
from migrations_app.queries.fleet.groups import MAX_GROUPS, visible_groups
from migrations_app.queries.fleet.labels import DERIVED, ENVIRONMENT, MAX_CHOICES, USUAL, label_expression


@dataclass(frozen=True, slots=True)
class FleetFacets:
    """Clusters by the value of each filter.

    `groups` have (id, name, clusters); `labels` are by key, then by value, with `environment` among the keys. For
    environment and group only one choice is possible, so their own filter is not applied to their counts; labels narrow
    each other.
    """

    environments: Mapping[str, int]
    groups: tuple[tuple[uuid.UUID, str, int], ...]
    labels: Mapping[str, Mapping[str, int]]


def fleet_facets(filters: FleetFilters, *, now: datetime) -> FleetFacets:
    """The counts of all filters, in three queries."""
    # With real clusters in the fleet, sample clusters only appear with the filter for their environment.
    wide = filters if filters.environment == SAMPLES else replace(filters, environment="")
    clusters = matching_clusters(filters, now=now)
    by_environment, by_group = (
        clusters if other == filters else matching_clusters(other, now=now)
        for other in (wide, replace(filters, group=None))
    )
    environments: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for environment, region, account, number in _by_place(by_environment):
        environments[environment] += number
        if filters.environment in ("", environment):
            for key, value in zip((ENVIRONMENT, *DERIVED), (environment, region, account), strict=True):
                labels.setdefault(key, Counter())[value] += number
    for key, value, number in _stored(clusters):
        labels.setdefault(key, Counter())[value] += number
    return FleetFacets(
        environments={name: environments[name] for name in sorted(environments) if name},
        groups=_by_group(by_group),
        labels=_ordered(labels),
    )


def _by_place(rows: QuerySet[Cluster]) -> list[tuple[str, str, str, int]]:
    placed: Any = rows.annotate(region=label_expression("region"), account=label_expression("account")).order_by()
    return list(placed.values_list("environment", "region", "account").annotate(number=Count("pk")))


def _stored(rows: QuerySet[Cluster]) -> list[tuple[str, str, int]]:
    labels: Any = ClusterLabel.objects.filter(cluster__in=rows.order_by().values("pk")).exclude(key__in=DERIVED)
    return list(labels.order_by("key", "value").values_list("key", "value").annotate(number=Count("pk"))[:MAX_CHOICES])


def _by_group(rows: QuerySet[Cluster]) -> tuple[tuple[uuid.UUID, str, int], ...]:
    in_it = Count("clusters", filter=Q(clusters__in=rows.order_by().values("pk")))
    groups = ClusterGroup.objects.filter(visible_groups()).annotate(number=in_it).order_by("name")
    return tuple(groups.values_list("pk", "name", "number")[:MAX_GROUPS])


def _ordered(labels: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    keys = sorted(labels, key=lambda key: (key not in USUAL, key))
    counts = {key: {value: labels[key][value] for value in sorted(labels[key]) if value} for key in keys}
    return {key: values for key, values in counts.items() if values}
