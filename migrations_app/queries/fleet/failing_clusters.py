"""Filters of the fleet for clusters that fail a check."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from migrations_app.checks.registry import ids_of
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import FindingRow
from migrations_app.queries.fleet.waivers import waivers_by_cluster
from migrations_app.readiness.waivers import WaiverRule

NEXT = "next"
"""Value of `hop`: the next hop of each cluster."""
BLOCKS = "blocks"
"""Value of `hop`: the next hop, if the check is a blocker there; `causes` counts these clusters."""


def failing_clusters(rows: QuerySet[Cluster], check: str, *, hop: str, now: datetime) -> QuerySet[Cluster]:
    """Clusters whose latest snapshot fails the check at that hop (empty: any hop) without a waiver."""
    held, condition = waivers_by_cluster(now), Q(pk__in=())
    for one in ids_of(check):
        condition |= _fails(one, hop=hop, held=held)
    return rows.filter(condition)


def _fails(check: str, *, hop: str, held: Mapping[uuid.UUID | None, tuple[WaiverRule, ...]]) -> Q:
    """Condition for clusters whose latest snapshot holds a failure under exactly that id."""
    finding_rows = FindingRow.objects.filter(content=OuterRef("latest__content"), check_id=check, status="fail")
    if hop:
        finding_rows = finding_rows.filter(hop=OuterRef("latest__next_hop") if hop in (NEXT, BLOCKS) else hop)
    blocks, warns = Exists(finding_rows.filter(severity="blocker")), Exists(finding_rows.exclude(severity="blocker"))
    if hop == BLOCKS:
        return Q(blocks) & ~_accepted(held, check)
    return Q(blocks) & ~_waived(held, check, blockers=True) | Q(warns) & ~_waived(held, check)


def _waived(held: Mapping[uuid.UUID | None, tuple[WaiverRule, ...]], check: str, *, blockers: bool = False) -> Q:
    """Condition for clusters where a waiver covers the check; with `blockers`, also as a blocker."""
    fit = {place: [waived for waived in ones if waived.check in ids_of(check)] for place, ones in held.items()}
    places = {place for place, ones in fit.items() if any(waived.blockers or not blockers for waived in ones)}
    everywhere = Q(pk__isnull=False)
    return everywhere if None in places else Q(pk__in=places)


def _accepted(held: Mapping[uuid.UUID | None, tuple[WaiverRule, ...]], check: str) -> Q:
    """Condition for clusters where a waiver covers the check as a blocker of the next hop, by the rule of
    `WaiverRule.covers`.
    """
    condition = Q(pk__in=())
    for place, ones in held.items():
        for waived in ones:
            if waived.check in ids_of(check) and waived.blockers:
                on_cluster = Q(pk__isnull=False) if place is None else Q(pk=place)
                condition |= on_cluster & Q(latest__next_hop=waived.hop) if waived.hop else on_cluster
    return condition
