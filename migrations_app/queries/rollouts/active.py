"""What every page shows of rollouts: those in progress, and how many wait for this person's approval."""

import uuid
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.visibility import visible

IN_PROGRESS = ("running", "paused", "needs_attention", "rolling_back")
MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRollout:
    """A rollout that changes a cluster now, or waits for somebody while it holds one."""

    id: uuid.UUID
    title: str
    state: str
    cluster: uuid.UUID
    cluster_name: str
    environment: str


@dataclass(frozen=True, slots=True)
class RolloutsNow:
    """`waiting` counts the plans that wait for this person's approval."""

    active: tuple[ActiveRollout, ...] = ()
    waiting: int = 0

    @property
    def count(self) -> int:
        return len(self.active) + self.waiting


def rollouts_now(person_id: int, *, may_approve: bool) -> RolloutsNow:
    """The rollouts in progress that the caller sees, in one query; counted up to MOST."""
    asked = Q(visible(), state__in=IN_PROGRESS)
    if may_approve:
        mine = Approval.objects.filter(rollout=OuterRef("pk"), approver_id=person_id)
        waits = Q(visible(right="approve"), state="awaiting_approval")
        asked |= waits & ~Q(author_id=person_id) & ~Q(Exists(mine))
    rows = Rollout.objects.filter(asked).order_by("changed_at")
    columns = ("pk", "title", "state", "cluster_id", "cluster_name", "cluster__environment")
    found = [
        ActiveRollout(id=row[0], title=row[1], state=row[2], cluster=row[3], cluster_name=row[4], environment=row[5])
        for row in rows.values_list(*columns)[:MOST]
    ]
    active = tuple(one for one in found if one.state in IN_PROGRESS)
    return RolloutsNow(active, len(found) - len(active))
