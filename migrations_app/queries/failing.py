"""Clusters that one check stands in the way of."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from migrations_app.models.cluster import Cluster
from migrations_app.models.snapshot import FindingRow
from migrations_app.queries.waivers import held_everywhere
from migrations_app.readiness.waiving import Waived

NEXT = "next"
"""The hop that each cluster takes next, whichever that is."""


def where_it_fails(rows: QuerySet[Cluster], check: str, *, hop: str, now: datetime) -> QuerySet[Cluster]:
    """The clusters whose latest snapshot has the check fail, not waived, at that hop; without one: at any."""
    found = FindingRow.objects.filter(content=OuterRef("latest__content"), check_id=check, status="fail")
    if hop:
        found = found.filter(hop=OuterRef("latest__next_hop") if hop == NEXT else hop)
    held = held_everywhere(now)
    blocks, warns = Exists(found.filter(severity="blocker")), Exists(found.exclude(severity="blocker"))
    return rows.filter(blocks & ~_waived(held, check, blockers=True) | warns & ~_waived(held, check))


def _waived(held: Mapping[uuid.UUID | None, tuple[Waived, ...]], check: str, *, blockers: bool = False) -> Q:
    """Clusters at which a waiver covers the check; `blockers`: also where it blocks."""
    fit = {place: [one for one in ones if one.check == check] for place, ones in held.items()}
    places = {place for place, ones in fit.items() if any(one.blockers or not blockers for one in ones)}
    everywhere = Q(pk__isnull=False)
    return everywhere if None in places else Q(pk__in=places)
