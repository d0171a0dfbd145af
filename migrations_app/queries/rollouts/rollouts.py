"""Rollouts: lists, single rows, and those that wait for a person's approval."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from msgspec import Meta

from migrations_app.actions.changes import RISKS
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.states import FINAL, HOLDING, PLANNED, WORKING
from migrations_app.errors import NotFound
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.ordering import SortColumn, order_of, orders, rank, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters

PAGE_SIZE = 50
MAX_WAITING = 100
GROUPS: dict[str, frozenset[str]] = {
    "planned": frozenset(PLANNED),
    "under_way": frozenset(HOLDING) | {"rolling_back"},
    "ended": frozenset(FINAL) | {"failed", "aborted"},
}
"""Groups of states that a list can be filtered by, besides single states."""
ROLLOUT_ORDERS = orders(
    {
        "made_at": SortColumn("made_at", datetime),
        "changed_at": SortColumn("changed_at", datetime),
        "cluster_name": SortColumn("cluster_name"),
        "action": SortColumn("action"),
        "risk": SortColumn("risk_rank", int),
        "state": SortColumn("state"),
    },
    SortColumn("made_at", datetime, descending=True),
    SortColumn("pk", uuid.UUID, descending=True),
)
_IMPOSSIBLE = Q(state="expired", digest="")
STEP_PREVIEW = "shown_in_journey"
"""The cause code of a rollout that was made only to show the plan of a step of a journey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilters:
    """Filters of rollouts; empty means no filter. `state` is a state or one of GROUPS.

    `impossible` keeps the drafts that could not be planned in the list.
    """

    cluster: uuid.UUID | None = None
    state: str = ""
    action: str = ""
    impossible: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRow:
    """One rollout without its plan. `alone` if one person approved it in an emergency (A45)."""

    id: uuid.UUID
    cluster: uuid.UUID
    cluster_name: str
    environment: str
    action: str
    title: str
    risk: Annotated[str, Meta(description="low, medium, high or destructive; empty for a draft.")]
    digest: Annotated[str, Meta(description="SHA-256 of the plan; empty for a draft.")]
    state: str
    version: int
    cause_code: str
    cause: str
    stop_request: Annotated[str, Meta(description="pause or abort: asked for, and done after the request under way.")]
    waits_for: Annotated[str, Meta(description="What a running one waits for right now; empty while it works.")]
    author: str
    author_id: int | None
    started_by: str
    made_at: datetime
    expires_at: datetime
    changed_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    rolls_back: uuid.UUID | None
    ticket: str
    note: str
    approvals: int
    alone: bool

    @property
    def impossible(self) -> bool:
        """Whether no plan could be made: it expired without one."""
        return self.state == "expired" and not self.digest

    @property
    def step_preview(self) -> bool:
        """Whether it was made only to show the plan of a step of a journey."""
        return self.state == "expired" and self.cause_code == STEP_PREVIEW


def rollout_page(
    filters: RolloutFilters, *, after: str = "", limit: int = PAGE_SIZE, ordering: str = "-made_at"
) -> Page[RolloutRow]:
    """One page, in one of ROLLOUT_ORDERS. Raises NotFound for a missing cluster, InvalidInput for an invalid cursor."""
    rows = _rows()
    if filters.cluster is not None:
        if not visible_clusters().filter(pk=filters.cluster).exists():
            raise NotFound("no such cluster")
        rows = rows.filter(cluster_id=filters.cluster)
    if filters.state:
        rows = rows.filter(state__in=sorted(GROUPS.get(filters.state, {filters.state})))
    if not filters.impossible:
        rows = rows.exclude(_IMPOSSIBLE)
    if filters.action:
        rows = rows.filter(action=filters.action)
    rows = rows.annotate(risk_rank=rank("risk", RISKS))
    return sorted_page(rows, order_of(ROLLOUT_ORDERS, ordering), after=after, limit=limit, row=row_of)


def rollout_row(rollout_id: uuid.UUID) -> RolloutRow:
    """One rollout without its plan. Raises NotFound."""
    rollout = _rows().filter(pk=rollout_id).first()
    if rollout is None:
        raise NotFound("no such rollout")
    return row_of(rollout)


def inbox(person_id: int) -> tuple[RolloutRow, ...]:
    """Rollouts that wait for this person's approval, oldest first, without those that the person made or approved."""
    own_approvals = Approval.objects.filter(rollout=OuterRef("pk"), approver_id=person_id)
    waiting = (
        _rows()
        .filter(visible(right="approve"), state="awaiting_approval")
        .exclude(author_id=person_id)
        .exclude(Exists(own_approvals))
    )
    return tuple(row_of(row) for row in waiting.order_by("made_at")[:MAX_WAITING])


def rollouts_approved_alone(since: datetime) -> tuple[RolloutRow, ...]:
    """Rollouts approved by one person (break glass) since then; every approver sees them (A45)."""
    rollout_ids = Approval.objects.filter(break_glass=True, at__gte=since).values("rollout_id")
    return tuple(row_of(row) for row in _rows().filter(pk__in=rollout_ids).order_by("-made_at")[:MAX_WAITING])


def holder_of(cluster_id: uuid.UUID) -> RolloutRow | None:
    """The rollout that holds the cluster, in any of its registrations; None if there is none that the caller
    may see.
    """
    row = (
        _rows()
        .filter(cluster_id__in=registrations_of(cluster_id), state__in=sorted(HOLDING))
        .order_by("beside")
        .first()
    )
    return row_of(row) if row else None


class _PlannedCluster(msgspec.Struct, frozen=True):
    identity: ClusterIdentity


def holder_elsewhere(row: Rollout) -> Rollout | None:
    """A rollout that holds the same cluster in another registration; None if there is none.

    The uid of kube-system in the plans decides. Without a known uid, a plan matches no other.
    """
    uid = _planned_uid(row) if row.plan else ""
    if not uid:
        return None
    holding = Q(state__in=sorted(HOLDING))
    if row.beside:  # a hold or release may run while the paused rollout holds the cluster
        holding &= Q(beside=True) | Q(state__in=sorted(WORKING))
    others = Rollout.objects.filter(holding).exclude(cluster_id=row.cluster_id)
    return next(
        (rollout for rollout in others.only("pk", "cluster_id", "title", "plan") if _planned_uid(rollout) == uid), None
    )


def _planned_uid(row: Rollout) -> str:
    try:
        return msgspec.json.decode(bytes(row.plan), type=_PlannedCluster).identity.kube_system_uid
    except msgspec.DecodeError:
        return ""


def counts_by_group(cluster_id: uuid.UUID | None = None, *, impossible: bool = True) -> dict[str, int]:
    """The number of rollouts in each group of states; without `impossible`, those that could not be planned are left
    out.
    """
    rows = Rollout.objects.filter(visible())
    rows = rows if impossible else rows.exclude(_IMPOSSIBLE)
    rows = rows.filter(cluster_id=cluster_id) if cluster_id else rows
    counted = dict(rows.order_by().values_list("state").annotate(n=Count("pk")))
    return {group: sum(counted.get(state, 0) for state in states) for group, states in GROUPS.items()}


def _rows() -> QuerySet[Rollout]:
    alone = Approval.objects.filter(rollout=OuterRef("pk"), break_glass=True)
    return (
        Rollout.objects.filter(visible())
        .select_related("cluster")
        .defer("plan", "cluster__sealed", "picture", "baseline")
        .annotate(given=Count("approvals"), alone=Exists(alone))
    )


def row_of(row: Rollout) -> RolloutRow:
    """The row as a value; expects the annotations of `_rows`."""
    return from_row(
        RolloutRow,
        row,
        cluster=row.cluster_id,
        environment=row.cluster.environment,
        author=row.author_name,
        started_by=row.started_by_name,
        rolls_back=row.rolls_back_id,
        approvals=getattr(row, "given", 0),
        alone=getattr(row, "alone", False),
    )
