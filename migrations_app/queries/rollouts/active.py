"""Rollouts and journeys for the header of every page: those in progress, and how many wait for this person's
approval.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import msgspec
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value

from migrations_app.actions.plan import Plan
from migrations_app.actions.states import GATE, SKIP
from migrations_app.journeys.states import HOLDING
from migrations_app.models.journey import Journey, JourneyApproval
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.fleet.counted_clusters import counting_clusters
from migrations_app.queries.visibility import visible

IN_PROGRESS = ("running", "paused", "needs_attention", "rolling_back")
WAITING = "awaiting_approval"
WORK_ORDER = ("needs_attention", "paused", "running", "rolling_back", "approved", WAITING)
"""States of a rollout in which it is the work to do on its cluster, the most urgent first."""
MAX_ROLLOUTS = 50
MAX_SHOWN = 3
"""Maximum number of rollouts in progress that a page names, with their current step."""
ROLLOUT, JOURNEY = "rollout", "journey"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRollout:
    """A rollout or journey in progress, or one that waits for an approval.

    `title` is the target version of a journey, and `kind` the name of its page. `step` and `steps` are 0 if they were
    not read.
    """

    id: uuid.UUID
    title: str
    state: str
    cluster: uuid.UUID
    cluster_name: str
    environment: str
    kind: str = ROLLOUT
    needs_person: bool = False
    step: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class RolloutsNow:
    """Rollouts or journeys now; `waiting` counts those that wait for this person's approval."""

    active: tuple[ActiveRollout, ...] = ()
    waiting: int = 0

    @property
    def count(self) -> int:
        return len(self.active) + self.waiting


@dataclass(frozen=True, slots=True)
class WorkNow:
    """Rollouts and journeys in progress."""

    rollouts: RolloutsNow = field(default_factory=RolloutsNow)
    journeys: RolloutsNow = field(default_factory=RolloutsNow)


def current_work(person_id: int, *, may_approve: bool) -> WorkNow:
    """The rollouts and journeys in progress that the caller may see, at most MAX_ROLLOUTS together; the first MAX_SHOWN
    with steps.
    """
    rollouts = _open_rows(Rollout.objects.all(), IN_PROGRESS, person_id=person_id if may_approve else None)
    journeys = _open_rows(Journey.objects.all(), sorted(HOLDING), person_id=person_id if may_approve else None)
    both = _columns(rollouts.annotate(kind=Value(ROLLOUT), named=F("title"), person=Value(False))).union(
        _columns(journeys.annotate(kind=Value(JOURNEY), named=F("target_release"), person=F("needs_person"))), all=True
    )
    rows = list(both.order_by("changed_at")[:MAX_ROLLOUTS])
    rollouts_now = _now(rows, ROLLOUT, states=IN_PROGRESS)
    active = (*_at_step(rollouts_now.active[:MAX_SHOWN]), *rollouts_now.active[MAX_SHOWN:])
    return WorkNow(replace(rollouts_now, active=active), _now(rows, JOURNEY, states=tuple(HOLDING)))


def position(*, passed: int, steps: int) -> int:
    """The number of the current step of a rollout of which `passed` steps passed their gate or were skipped."""
    return min(passed + 1, steps)


def work_of(clusters: Collection[uuid.UUID]) -> Mapping[uuid.UUID, ActiveRollout]:
    """The rollout in progress of each of these clusters, else the journey in progress, else the newest rollout that
    waits for an approval, in one query.
    """
    rows = _work(cluster__in=clusters, states=(*IN_PROGRESS, WAITING))
    in_order = sorted(rows, key=lambda row: (row[3] != WAITING, row[0] == ROLLOUT, row[-1]))
    return {row[4]: _active(row) for row in in_order}


def work_on(cluster_id: uuid.UUID) -> tuple[ActiveRollout | None, ActiveRollout | None]:
    """The rollout of the cluster that is in progress, else one that can be started or waits for an approval; and the
    journey in progress.
    """
    rows = _work(cluster=cluster_id, states=WORK_ORDER)
    in_order = sorted((row for row in rows if row[0] == ROLLOUT), key=lambda row: WORK_ORDER.index(row[3]))
    journey = next((_active(row) for row in rows if row[0] == JOURNEY), None)
    return (_active(in_order[0]) if in_order else None), journey


def _work(*, states: Iterable[str], **clusters: object) -> list[tuple[Any, ...]]:
    """The rollouts of these clusters in one of the states, and their journeys in progress."""
    rollouts = Rollout.objects.filter(visible(), state__in=tuple(states), **clusters).order_by()
    journeys = Journey.objects.filter(visible(), state__in=sorted(HOLDING), **clusters).order_by()
    named = _columns(rollouts.annotate(kind=Value(ROLLOUT), named=F("title"), person=Value(False)))
    return list(named.union(
        _columns(journeys.annotate(kind=Value(JOURNEY), named=F("target_release"), person=F("needs_person"))), all=True
    ))  # fmt: skip


def _open_rows(rows: QuerySet[Any], states: Iterable[str], *, person_id: int | None) -> QuerySet[Any]:
    """The rows in these states, and for a person also the rows that wait for this person's approval."""
    condition = Q(visible(), state__in=tuple(states))
    if person_id is not None:
        approvals, column = (
            (Approval.objects, "rollout") if rows.model is Rollout else (JourneyApproval.objects, "journey")
        )
        own_approvals = approvals.filter(**{column: OuterRef("pk")}, approver_id=person_id)
        waits = Q(visible(right="approve"), state=WAITING)
        condition |= waits & ~Q(author_id=person_id) & ~Q(Exists(own_approvals))
    return rows.filter(condition).filter(counting_clusters("cluster__")).order_by()


def _columns(rows: QuerySet[Any]) -> QuerySet[Any]:
    names = ("kind", "pk", "named", "state", "cluster_id", "cluster_name", "cluster__environment", "person")
    return rows.values_list(*names, "changed_at")


def _now(rows: Iterable[tuple[Any, ...]], kind: str, *, states: tuple[str, ...]) -> RolloutsNow:
    kind_rows = [row for row in rows if row[0] == kind]
    active = tuple(_active(row) for row in kind_rows if row[3] in states)
    return RolloutsNow(active, len(kind_rows) - len(active))


def _at_step(rollouts: Collection[ActiveRollout]) -> list[ActiveRollout]:
    """The rollouts with their current step, in one query."""
    if not rollouts:
        return []
    passed = Count("attempts__step", filter=Q(attempts__verb__in=(GATE, SKIP)), distinct=True)
    rows = Rollout.objects.filter(pk__in=[rollout.id for rollout in rollouts]).order_by().annotate(passed=passed)
    known = {row[0]: row[1:] for row in rows.values_list("pk", "digest", "passed")}
    return [_placed(rollout, known.get(rollout.id, ("", 0))) for rollout in rollouts]


def _placed(rollout: ActiveRollout, known: tuple[str, int]) -> ActiveRollout:
    digest, passed = known
    steps = _steps_of(rollout.id, digest) if digest else 0
    return replace(rollout, step=position(passed=passed, steps=steps), steps=steps)


@lru_cache(maxsize=200)
def _steps_of(rollout: uuid.UUID, _digest: str) -> int:
    """The number of steps of the plan, cached because a plan never changes."""
    plan = Rollout.objects.filter(pk=rollout).values_list("plan", flat=True).first()
    return len(msgspec.json.decode(bytes(plan), type=Plan).steps) if plan else 0


def _active(row: tuple[Any, ...]) -> ActiveRollout:
    return ActiveRollout(
        kind=row[0], id=row[1], title=row[2], state=row[3], cluster=row[4], cluster_name=row[5], environment=row[6],
        needs_person=bool(row[7]),
    )  # fmt: skip
