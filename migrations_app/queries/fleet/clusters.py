"""The fleet list: clusters by status, counted, sorted and paged in the database; also clusters that fail a check."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from msgspec import Meta

from migrations_app.inventory.facts.node_claims import moment
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.scan import Scan
from migrations_app.queries import pagination
from migrations_app.queries.fleet.counted_clusters import ENVIRONMENT, counting_clusters
from migrations_app.queries.fleet.failing_clusters import BLOCKS, failing_clusters
from migrations_app.queries.fleet.groups import visible_groups
from migrations_app.queries.fleet.labels import Label, label_expression, shown_labels, with_labels
from migrations_app.queries.fleet.scan_interval import interval_of, is_stale, with_intervals
from migrations_app.queries.pagination import SortKey
from migrations_app.queries.visibility import visible_clusters

BUCKETS: tuple[str, ...] = (
    "never_scanned",
    "unreachable",
    "needs_facts",
    "blocked",
    "ready_with_warnings",
    "ready",
    "in_progress",
    "done",
    "no_karpenter",
)
"""Status of a cluster, in the order of the groups on the fleet page."""
STAGES: tuple[str, ...] = ("alpha", "mixed", "beta", "beta_v1", "v1", "no_karpenter", "unknown")
SORTS: tuple[str, ...] = ("name", "stage", "hop", "blockers", "legacy", "scanned")
GROUP = "group"
UNREACHABLE_AFTER = 3
"""Number of consecutive failed scans from which on a cluster counts as unreachable; before, its last result is
shown.
"""
STALE_INTERVALS = 3
STALE_ON_DEMAND = timedelta(days=1)
READ = (
    "name", "environment", "source", "eks_arn", "target", "created_at", "interval_seconds", "latest_id", "failures",
    "failing_since", "last_error_code", *(f"latest__{column}" for column in (
        "stage", "karpenter_version", "kubernetes_version", "next_hop", "verdict", "blockers", "warnings", "unknowns",
        "legacy_left", "nodes_total", "complete", "scanned_at",
    )),
)  # fmt: skip
"""The columns that a row of the list needs."""
PAGE_SIZE = 60
"""Rows per page: a fleet of 50 fits on one page, and a page of a large fleet costs little more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFilters:
    """Filters and order of the fleet list; empty means no filter, `flat` sorts across all groups.

    `labels` are texts such as team:shop that must all match. `check` with `hop` selects by failing check, see
    `failing_clusters`. `by` groups the rows by GROUP or by a label's key instead of by status. `buckets` are statuses
    of which one has to match; `order` is the order of the status groups.
    """

    q: str = ""
    bucket: str = ""
    buckets: tuple[str, ...] = ()
    order: tuple[str, ...] = BUCKETS
    stage: str = ""
    environment: str = ""
    group: uuid.UUID | None = None
    labels: tuple[str, ...] = ()
    check: str = ""
    hop: str = ""
    by: str = ""
    sort: str = "name"
    descending: bool = False
    flat: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One cluster on the fleet page; `active` is the state of its active scan, or empty.

    `snapshot` is its latest snapshot; `target` is the chosen target, empty for the newest release. `groups` are the
    names of its visible groups; `part` is the group or label value under which the row is listed, if the list is
    grouped by one.
    """

    id: uuid.UUID
    name: str
    environment: str
    source: str
    bucket: str
    stage: str
    karpenter_version: str
    kubernetes_version: str
    next_hop: str
    verdict: str
    blockers: int
    warnings: int
    unknowns: int
    legacy_left: int | None
    nodes_total: int
    complete: bool
    scanned_at: datetime | None
    stale: bool
    active: str
    failures: int
    failing_since: datetime | None
    last_error_code: str
    groups: Annotated[tuple[str, ...], Meta(description="Names of the groups that it is in.")] = ()
    labels: tuple[Label, ...] = ()
    part: str = ""
    snapshot: uuid.UUID | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all clusters that match search and environment. `legacy` is a lower bound unless `legacy_exact`."""

    clusters: int = 0
    stages: dict[str, int] = field(default_factory=dict)
    buckets: dict[str, int] = field(default_factory=dict)
    legacy: int = 0
    legacy_exact: bool = True


@dataclass(frozen=True, slots=True)
class FleetPage:
    """`matching` counts all clusters that match the filters; `next_cursor` is empty on the last page.

    `parts` counts the clusters of each heading if the list is grouped by group or label; a cluster is listed under each
    of its groups.
    """

    rows: tuple[FleetRow, ...]
    totals: Totals
    matching: int
    next_cursor: str
    environments: tuple[str, ...]
    parts: Mapping[str, int] = field(default_factory=dict)


def fleet_page(filters: FleetFilters, *, now: datetime, limit: int = PAGE_SIZE) -> FleetPage:
    """One page of the fleet, in a few queries for any size."""
    base = _narrowed(filters, now=now)
    counted = _cells(base)
    chosen = _chosen_of(base, filters)
    ordered = _after(_ordered(_annotated(chosen), filters), filters)
    clusters = list(ordered.only(*READ).prefetch_related("labels", _groups())[: limit + 1])
    rows = tuple(_row(cluster, filters, now=now) for cluster in clusters[:limit])
    following = _cursor_after(clusters[limit - 1], filters) if len(clusters) > limit else ""
    named = visible_clusters().exclude(environment="").order_by("environment").values_list("environment", flat=True)
    environments = tuple(named.distinct()[:200])
    parts = _parts(chosen, filters)
    return FleetPage(rows, _totals(counted), _matching(counted, filters), following, environments, parts)


def fleet_ids(filters: FleetFilters, *, now: datetime) -> tuple[uuid.UUID, ...]:
    """The ids of all clusters that match the filters."""
    return tuple(matching_clusters(filters, now=now).order_by("pk").values_list("pk", flat=True))


def matching_clusters(filters: FleetFilters, *, now: datetime) -> QuerySet[Cluster]:
    """All clusters that match the filters, without an order and without joins that the filters do not need."""
    return _chosen_of(_narrowed(filters, now=now), filters)


def matching_rows(filters: FleetFilters, *, now: datetime) -> QuerySet[Cluster]:
    """As `matching_clusters`, with `latest`, status and interval of each cluster."""
    return _annotated(matching_clusters(filters, now=now))


def _groups() -> "Prefetch[str, QuerySet[ClusterGroup], str]":
    return Prefetch("groups", queryset=ClusterGroup.objects.filter(visible_groups()).only("name"))


def _parts(chosen: QuerySet[Cluster], filters: FleetFilters) -> dict[str, int]:
    if not filters.by or filters.flat:
        return {}
    rows: QuerySet[Any, dict[str, Any]] = _arranged(chosen, filters).order_by().values("heading")  # type: ignore[misc]  # as in `_cells`
    return {part["heading"]: part["n"] for part in rows.annotate(n=Count("pk"))}


def _arranged(rows: QuerySet[Cluster], filters: FleetFilters) -> QuerySet[Cluster]:
    """Each row with its heading: the status as a number, or a text if grouped by group or label."""
    if filters.flat or not filters.by:
        return rows.annotate(heading=Value(0) if filters.flat else _status_rank(filters.order))
    if filters.by != GROUP:
        return rows.annotate(heading=label_expression(filters.by))
    # Joined to the groups once. A cluster without a visible group is only visible to those who see every group.
    shown_groups = Q(groups=filters.group) if filters.group else visible_groups("groups")
    return rows.filter(shown_groups).annotate(heading=Coalesce(F("groups__name"), Value("")))


def _status_rank(order: tuple[str, ...]) -> F | Case:
    # The rank itself, not a rank of the status: a CASE over a CASE repeats the inner one for each status.
    return F("bucket") if order == BUCKETS else status_group_case(order)


def _cells(rows: QuerySet[Cluster]) -> tuple[dict[str, Any], ...]:
    """Clusters and legacy objects by status and stage: one small table from which all counts are computed."""
    cells: Any = rows.order_by().annotate(bucket=status_group_case(), stage_shown=_stage_case())
    counts = {"n": Count("pk"), "known": Count("latest__legacy_left"), "legacy": Sum("latest__legacy_left")}
    return tuple(cells.values("bucket", "stage_shown").annotate(**counts))


def stale_after(interval: int) -> timedelta:
    """The age from which a result counts as stale; `STALE_ON_DEMAND` if the interval is 0 (scans on demand only)."""
    return timedelta(seconds=STALE_INTERVALS * interval) if interval else STALE_ON_DEMAND


def status_group_case(order: tuple[str, ...] = BUCKETS) -> Case:
    """The status of a cluster as an index into `order`; other statuses come last."""

    def rank(bucket: str) -> Value:
        return Value(order.index(bucket) if bucket in order else len(order))

    failed = Q(failures__gte=UNREACHABLE_AFTER) | Q(latest=None, failures__gt=0)
    verdicts = [When(latest__verdict=name, then=rank(name)) for name in BUCKETS[2:8]]
    return Case(
        When(failed, then=rank("unreachable")),
        When(latest=None, then=rank("never_scanned")),
        When(latest__stage="no_karpenter", then=rank("no_karpenter")),
        *verdicts,
        default=rank("needs_facts"),
        output_field=IntegerField(),
    )


def _stage_case() -> Case:
    whens = [When(latest__stage=name, then=Value(index)) for index, name in enumerate(STAGES[:-1])]
    return Case(*whens, default=Value(len(STAGES) - 1), output_field=IntegerField())


def _annotated(rows: QuerySet[Cluster]) -> QuerySet[Cluster]:
    running = Scan.objects.filter(cluster=OuterRef("pk"), state__in=("queued", "running")).values("state")[:1]
    return (
        with_intervals(rows)
        .select_related("latest")
        .defer("sealed", "latest__parts", "latest__waived")
        .annotate(bucket=status_group_case(), stage_shown=_stage_case(), active=Coalesce(Subquery(running), Value("")))
    )


def _narrowed(filters: FleetFilters, *, now: datetime) -> QuerySet[Cluster]:
    """The clusters that match every filter except status and stage."""
    rows = visible_clusters()
    if filters.group is None and filters.environment != ENVIRONMENT:
        rows = rows.filter(counting_clusters())
    for word in filters.q.split()[:5]:
        rows = rows.filter(
            Q(name__icontains=word)
            | Q(environment__icontains=word)
            | Q(server__icontains=word)
            | Q(latest__karpenter_version__startswith=word.removeprefix("v"))
        )
    if filters.environment:
        rows = rows.filter(environment=filters.environment)
    if filters.group:
        members = ClusterGroup.objects.filter(visible_groups(), pk=filters.group).values("clusters")
        rows = rows.filter(pk__in=members)
    if filters.check:
        rows = failing_clusters(rows, filters.check, hop=filters.hop, now=now)
    if filters.check and filters.hop == BLOCKS:
        rows = rows.alias(bucket=status_group_case()).filter(bucket=BUCKETS.index("blocked"))
    return with_labels(rows, filters.labels)


def _chosen(filters: FleetFilters) -> dict[str, frozenset[int]]:
    """The allowed values of each filtered column; a column without a filter is missing."""
    chosen = {}
    if filters.bucket or filters.buckets:
        chosen["bucket"] = frozenset(
            BUCKETS.index(name) for name in ((filters.bucket,) if filters.bucket else filters.buckets)
        )
    if filters.stage:
        chosen["stage_shown"] = frozenset({STAGES.index(filters.stage)})
    return chosen


def _chosen_of(rows: QuerySet[Cluster], wanted: FleetFilters) -> QuerySet[Cluster]:
    """The clusters that match the filters of status and stage."""
    expressions = {"bucket": status_group_case, "stage_shown": _stage_case}
    chosen = _chosen(wanted)
    filters = {f"{column}__in": sorted(values) for column, values in chosen.items()}
    return rows.alias(**{column: expressions[column]() for column in chosen}).filter(**filters)


def _sort_expression(sort: str) -> Any:  # noqa: ANN401 - Django's expressions share no public base type
    """The sort key. Never null, so that keyset paging loses no rows.

    Signed, since Django drops a comparison of a positive field with -1 as always false.
    """
    return {
        "name": Value(0),
        "stage": F("stage_shown"),
        "hop": Coalesce(F("latest__next_hop"), Value("")),
        "blockers": Coalesce(F("latest__blockers"), Value(-1), output_field=IntegerField()),
        "legacy": Coalesce(F("latest__legacy_left"), Value(-1), output_field=IntegerField()),
        "scanned": Coalesce(F("latest__scanned_at"), F("created_at")),
    }[sort]


def _ordered(rows: QuerySet[Cluster], filters: FleetFilters) -> QuerySet[Cluster]:
    arranged: Any = _arranged(rows, filters).annotate(key=_sort_expression(filters.sort))
    turn = "-" if filters.descending else ""
    name = f"{turn}name" if filters.sort == "name" else "name"
    ordered: QuerySet[Cluster] = arranged.order_by("heading", f"{turn}key", name)
    return ordered


def _after(rows: QuerySet[Cluster], filters: FleetFilters) -> QuerySet[Cluster]:
    heading: type[SortKey] = str if filters.by and not filters.flat else int
    kinds: tuple[type[SortKey], ...] = (heading, str if filters.sort in ("hop", "scanned") else int, str)
    keys = pagination.decode(filters.cursor, kinds)
    if keys is None:
        return rows
    group, key, name = keys
    value: SortKey | datetime | None = moment(str(key)) if filters.sort == "scanned" else key
    if value is None:
        return rows
    beyond = "lt" if filters.descending else "gt"
    by_name = beyond if filters.sort == "name" else "gt"
    later = Q(**{f"key__{beyond}": value}) | Q(key=value, **{f"name__{by_name}": name})
    return rows.filter(Q(heading__gt=group) | Q(heading=group) & later)


def _cursor_after(last: Any, filters: FleetFilters) -> str:  # noqa: ANN401 - a Cluster with annotations of `_ordered`
    key = last.key.isoformat() if filters.sort == "scanned" else last.key
    return pagination.encode((last.heading, key, last.name))


def _row(cluster: Any, filters: FleetFilters, *, now: datetime) -> FleetRow:  # noqa: ANN401 - a Cluster with annotations of `_annotated`
    latest = cluster.latest
    limit = stale_after(interval_of(cluster))
    return FleetRow(
        id=cluster.pk,
        name=cluster.name,
        environment=cluster.environment,
        source=cluster.source,
        bucket=BUCKETS[cluster.bucket],
        stage=latest.stage if latest else "",
        karpenter_version=latest.karpenter_version if latest else "",
        kubernetes_version=latest.kubernetes_version if latest else "",
        next_hop=latest.next_hop if latest else "",
        verdict=latest.verdict if latest else "",
        blockers=latest.blockers if latest else 0,
        warnings=latest.warnings if latest else 0,
        unknowns=latest.unknowns if latest else 0,
        legacy_left=latest.legacy_left if latest else None,
        nodes_total=latest.nodes_total if latest else 0,
        complete=latest.complete if latest else True,
        scanned_at=latest.scanned_at if latest else None,
        stale=bool(latest and is_stale(latest.scanned_at, limit=limit, now=now)),
        active=cluster.active,
        failures=cluster.failures,
        failing_since=cluster.failing_since,
        last_error_code=cluster.last_error_code,
        groups=tuple(group.name for group in cluster.groups.all()),
        labels=shown_labels(cluster),
        part=str(cluster.heading) if filters.by and not filters.flat else "",
        snapshot=cluster.latest_id,
        target=cluster.target,
    )


def _totals(counted: tuple[dict[str, Any], ...]) -> Totals:
    stages = dict.fromkeys(STAGES, 0)
    buckets = dict.fromkeys(BUCKETS, 0)
    for cell in counted:
        stages[STAGES[cell["stage_shown"]]] += cell["n"]
        buckets[BUCKETS[cell["bucket"]]] += cell["n"]
    legacy = sum(cell["legacy"] or 0 for cell in counted)
    exact = all(cell["known"] == cell["n"] for cell in counted)
    return Totals(sum(buckets.values()), stages, buckets, legacy, exact)


def _matching(counted: tuple[dict[str, Any], ...], filters: FleetFilters) -> int:
    chosen = _chosen(filters)
    return sum(cell["n"] for cell in counted if all(cell[name] in left for name, left in chosen.items()))
