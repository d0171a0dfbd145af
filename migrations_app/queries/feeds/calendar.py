"""The entries of the calendar: weekly windows of policies and campaigns, opened waves, ends of waivers, and ends of the
support of Kubernetes versions. A wave has no date before it is opened: it opens within a window of its campaign when
the wave before is done.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Q

from migrations_app.actions.windows import spans
from migrations_app.karpenter.tables.support_rows import SupportRow, support_of
from migrations_app.models.campaign import CampaignMember, CampaignWave
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Policy, Waiver
from migrations_app.queries.campaigns.campaigns import windows_of_campaigns
from migrations_app.queries.fleet.waivers import active_waivers, visible_waivers, waivers_over_cluster
from migrations_app.queries.rollouts.policies import policy_of
from migrations_app.queries.visibility import visible_clusters, visible_or_of_all

MAX_ENTRIES = 500
"""Maximum number of waivers, of policies and of waves in one calendar."""
MAX_NAMES = 20
"""Maximum number of clusters that an entry names; it counts the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarEntry:
    """One entry.

    `uid` is stable between reads. It repeats each week on `weekdays`, with 0 for Monday. `ends` is None for a point in
    time. `path` is the page with details.
    """

    uid: str
    summary: str
    description: str
    begins: datetime
    ends: datetime | None
    weekdays: tuple[int, ...]
    path: str


def calendar_entries(cluster: uuid.UUID | None, *, now: datetime) -> tuple[CalendarEntry, ...]:
    """The entries about the cluster, or about all clusters that the caller may see."""
    return (
        *_policies(cluster, now=now),
        *_campaigns(cluster, now=now),
        *_waivers(cluster, now=now),
        *_supports(cluster),
    )


def _policies(cluster: uuid.UUID | None, *, now: datetime) -> Iterator[CalendarEntry]:
    if cluster is None:
        rows = Policy.objects.filter(visible_or_of_all()).select_related("cluster").defer("cluster__sealed")
        policies = list(rows.order_by("cluster__name", "pk")[:MAX_ENTRIES])
    else:
        policies = [policy_of(cluster)]
    for row in policies:
        about = row.cluster.name if row.cluster else "all clusters without a policy of their own"
        frozen = "Frozen: nothing may begin, whatever the window says." if row.frozen else ""
        title = f"Change window of {about}{' (frozen)' if frozen else ''}"
        key = f"policy-{row.cluster_id or 'all'}"
        yield from _windows(row.windows, key=key, title=title, description=frozen, path="/policy", now=now)


def _campaigns(cluster: uuid.UUID | None, *, now: datetime) -> Iterator[CalendarEntry]:
    named = CampaignMember.objects.filter(cluster_id=cluster) if cluster else CampaignMember.objects.none()
    campaign_ids = set(named.values_list("campaign_id", flat=True))
    chosen = [(row, recipe) for row, recipe in windows_of_campaigns() if cluster is None or row.id in campaign_ids]
    waves: dict[uuid.UUID, list[CampaignWave]] = {}
    for wave in CampaignWave.objects.filter(campaign__in=[row.id for row, _ in chosen]).order_by("number"):
        waves.setdefault(wave.campaign_id, []).append(wave)
    for row, recipe in chosen:
        path, own = f"/campaigns/{row.id}/", waves.get(row.id, [])
        following = next((wave.number + 1 for wave in own if wave.opened_at is None), None)
        description = f"Next wave: {following} of {len(own)}." if following else ""
        title = f"Campaign {row.name}: may begin something"
        yield from _windows(
            recipe.windows, key=f"campaign-{row.id}", title=title, description=description, path=path, now=now
        )
        for wave in own:
            if wave.opened_at is not None:
                yield CalendarEntry(
                    uid=f"wave-{row.id}-{wave.number}",
                    summary=f"Campaign {row.name}: wave {wave.number + 1} of {len(own)} opened",
                    description="",
                    begins=wave.opened_at,
                    ends=None,
                    weekdays=(),
                    path=path,
                )


def _waivers(cluster: uuid.UUID | None, *, now: datetime) -> Iterator[CalendarEntry]:
    only = Q() if cluster is None else waivers_over_cluster(cluster)
    rows = Waiver.objects.filter(active_waivers(now), visible_waivers(), only).select_related("cluster", "scope")
    for row in rows.defer("cluster__sealed").order_by("ends_at", "pk")[:MAX_ENTRIES]:
        scope = getattr(row, "scope", None)
        about = row.cluster.name if row.cluster else f"group {scope.group_name}" if scope else "all clusters"
        yield CalendarEntry(
            uid=f"waiver-{row.pk}",
            summary=f"Waiver ends: {row.check_id} on {about}",
            description=f"Owner: {row.owner_name}. Reason: {row.reason}",
            begins=row.ends_at,
            ends=None,
            weekdays=(),
            path="/waivers/",
        )


def _supports(cluster: uuid.UUID | None) -> Iterator[CalendarEntry]:
    """The two end days of each Kubernetes minor that clusters on EKS run, with the clusters' names, as whole-day
    entries.
    """
    rows = visible_clusters().filter(latest__isnull=False)
    rows = rows.filter(pk=cluster) if cluster else rows.exclude(source=Cluster.Source.SAMPLE)
    names: dict[SupportRow, list[str]] = {}
    for name, version in rows.order_by("name").values_list("name", "latest__kubernetes_version"):
        if (row := support_of(version)) is not None:
            names.setdefault(row, []).append(name)
    for row, cluster_names in sorted(names.items()):
        more = f" and {len(cluster_names) - MAX_NAMES} more" if len(cluster_names) > MAX_NAMES else ""
        listed = ", ".join(cluster_names[:MAX_NAMES])
        description = f"Runs on: {listed}{more}. The day is that of Amazon EKS, as this karpdash knows it."
        for kind, day in (("standard", row.standard), ("extended", row.extended)):
            yield CalendarEntry(
                uid=f"eks-{row.minor}-{kind}-{cluster or 'all'}",
                summary=f"EKS ends {kind} support of Kubernetes {row.minor}",
                description=description,
                begins=_midnight(day),
                ends=_midnight(day + timedelta(days=1)),
                weekdays=(),
                path=f"/clusters/{cluster}/" if cluster else "/",
            )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _windows(
    windows: Iterable[Mapping[str, Any]], *, key: str, title: str, description: str, path: str, now: datetime
) -> Iterator[CalendarEntry]:
    """The weekly windows, from the Monday of this week on. An invalid window is never open and has no entry."""
    monday = datetime.combine(now.date() - timedelta(days=now.weekday()), time(), tzinfo=now.tzinfo)
    for window in windows:
        span = next(spans(dict(window), since=monday, days=7), None)
        if span is None:
            continue
        mark = hashlib.sha256(json.dumps(window, sort_keys=True).encode()).hexdigest()[:16]
        days = sorted({day for day in window.get("days", range(7)) if day in range(7)})
        begins, ends = span
        yield CalendarEntry(
            uid=f"{key}-{mark}",
            summary=title,
            description=description,
            begins=begins,
            ends=ends,
            weekdays=tuple(days),
            path=path,
        )
