"""What every page shows of journeys: those that hold a cluster, and how many wait for this person's approval."""

import uuid
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from migrations_app.journeys.states import HOLDING
from migrations_app.models.journey import Journey, JourneyApproval
from migrations_app.queries.visibility import visible

MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveJourney:
    """A journey that holds a cluster now."""

    id: uuid.UUID
    lands: str
    state: str
    needs_person: bool
    cluster: uuid.UUID
    cluster_name: str
    environment: str


@dataclass(frozen=True, slots=True)
class JourneysNow:
    """`waiting` counts the journeys that wait for this person's approval."""

    active: tuple[ActiveJourney, ...] = ()
    waiting: int = 0

    @property
    def count(self) -> int:
        return len(self.active) + self.waiting


def journeys_now(person_id: int, *, may_approve: bool) -> JourneysNow:
    """The journeys in progress that the caller sees, in one query; counted up to MOST."""
    asked = Q(visible(), state__in=sorted(HOLDING))
    if may_approve:
        mine = JourneyApproval.objects.filter(journey=OuterRef("pk"), approver_id=person_id)
        waits = Q(visible(right="approve"), state="awaiting_approval")
        asked |= waits & ~Q(author_id=person_id) & ~Q(Exists(mine))
    rows = Journey.objects.filter(asked).order_by("changed_at")
    columns = ("pk", "lands", "state", "needs_person", "cluster_id", "cluster_name", "cluster__environment")
    found = [
        ActiveJourney(
            id=row[0], lands=row[1], state=row[2], needs_person=row[3], cluster=row[4], cluster_name=row[5],
            environment=row[6],
        )
        for row in rows.values_list(*columns)[:MOST]
    ]  # fmt: skip
    active = tuple(one for one in found if one.state in HOLDING)
    return JourneysNow(active, len(found) - len(active))
