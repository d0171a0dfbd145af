"""Journeys for pages and the API: lists, one journey with its steps, and what its approval needs."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from django.db.models import Count, F, Prefetch, Q, QuerySet
from msgspec import Meta

from migrations_app.errors import NotFound
from migrations_app.journeys.deliveries import StepDone, paused_by_steps
from migrations_app.journeys.evidence import StepEvidence
from migrations_app.journeys.outline import Outline, PlanDifference
from migrations_app.journeys.plan import JourneyPlan, JourneyStep
from migrations_app.journeys.states import CURRENT, ENDED, HOLDING, OVER, PLANNED
from migrations_app.models.journey import Journey, JourneyApproval, JourneyRollback, JourneyRollout, JourneyStepRow
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.journeys.disruption_hold import DisruptionHold, disruption_hold
from migrations_app.queries.ordering import SortColumn, order_of, orders, sorted_page
from migrations_app.queries.pagination import Page
from migrations_app.queries.rollouts.policies import approvals_required, policy_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible, visible_clusters

PAGE_SIZE = 50
MAX_WAITING = 100
JOURNEY_GROUPS: dict[str, frozenset[str]] = {
    "planned": frozenset(PLANNED),
    "under_way": frozenset(HOLDING),
    "ended": frozenset(ENDED),
}
"""Groups of states that a list can be filtered by, besides single states."""
JOURNEY_ORDERS = orders(
    {
        "made_at": SortColumn("made_at", datetime),
        "changed_at": SortColumn("changed_at", datetime),
        "cluster_name": SortColumn("cluster_name"),
        "state": SortColumn("state"),
    },
    SortColumn("made_at", datetime, descending=True),
    SortColumn("pk", uuid.UUID, descending=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyFilters:
    """Filters of journeys; empty means no filter. `state` is a state or one of JOURNEY_GROUPS."""

    cluster: uuid.UUID | None = None
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyRow:
    """One journey without its steps."""

    id: uuid.UUID
    cluster: uuid.UUID
    cluster_name: str
    environment: str
    hop: Annotated[str, Meta(description="The hop it takes; empty until the cluster was scanned for it.")]
    starts: Annotated[str, Meta(description="The release that runs before it.")]
    target_release: Annotated[str, Meta(description="The release that runs after it.")]
    covers: Annotated[str, Meta(description="Up to this risk its approval counts for the plans of its steps.")]
    digest: Annotated[str, Meta(description="SHA-256 of what is approved; empty for a draft.")]
    state: str
    version: int
    cause_code: str
    cause: str
    wait_code: Annotated[str, Meta(description="Code of what the current step waits for.")]
    needs_person: Annotated[bool, Meta(description="Whether a person has to do something before it goes on.")]
    author: str
    author_id: int | None
    started_by: str
    made_at: datetime
    expires_at: datetime
    changed_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    ticket: str
    note: str
    done: Annotated[int, Meta(description="Steps that are done or skipped.")]
    total: Annotated[int, Meta(description="All steps.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRollout:
    """A rollout of a step."""

    id: uuid.UUID
    purpose: str
    state: str
    digest: str
    cause_code: str
    cause: str
    skipped: Annotated[tuple[str, ...], Meta(description="Nodes that people left out of it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step and how far it is. `preview` is the rollout that was shown, `work` the newest that does it."""

    definition: JourneyStep
    state: str
    cause_code: str
    cause: str
    since: datetime | None
    ended_at: datetime | None
    by: str
    note: str
    evidence: StepEvidence | None
    differences: tuple[PlanDifference, ...]
    accepted: bool
    shown: Outline | None
    preview: StepRollout | None
    work: StepRollout | None
    rollback: StepRollout | None

    @property
    def waits_until(self) -> datetime | None:
        """When a step that only waits is over; None for others, and before it began."""
        waiting = self.definition.kind == "wait" and self.state == "running"
        return self.since + timedelta(seconds=self.definition.seconds) if waiting and self.since else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyApprovalRow:
    """One person's approval of a journey."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRollback:
    """The rollback of a journey: to which step, who requested it, and why."""

    to: str
    by: str
    reason: str
    begun_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyDetail:
    """One journey with its steps. `needed` is the number of approvals that the policies require now; `disruption_hold`
    is the newest hold of Karpenter's own disruption, even if it has ended.
    """

    row: JourneyRow
    nonce: str
    risk: str
    needed: int
    steps: tuple[StepRow, ...]
    approvals: tuple[JourneyApprovalRow, ...]
    current_rollback: CurrentRollback | None = None
    disruption_hold: DisruptionHold | None = None

    @property
    def paused_deliveries(self) -> tuple[str, ...]:
        """The deliveries that its steps paused, or may have paused, and did not resume."""
        return paused_by_steps(StepDone(step.definition, step.work.state if step.work else "") for step in self.steps)

    @property
    def current(self) -> StepRow | None:
        """The step whose turn it is; None if none is left."""
        return next((step for step in self.steps if step.state in CURRENT), None)

    @property
    def planned(self) -> StepRollout | None:
        """The rollout of the current step, or the one that undoes it."""
        step = self.current
        if step is None:
            return None
        return step.rollback if step.state == "undoing" else step.work

    @property
    def reached(self) -> tuple[StepRow, ...]:
        """The steps to which the journey can be rolled back: those that began, or were skipped in their turn."""
        last = max((place for place, step_row in enumerate(self.steps) if step_row.state in BEGUN), default=-1)
        return self.steps[: last + 1]


def journey_page(
    filters: JourneyFilters, *, after: str = "", limit: int = PAGE_SIZE, ordering: str = "-made_at"
) -> Page[JourneyRow]:
    """One page, in one of JOURNEY_ORDERS. Raises NotFound for a missing cluster, InvalidInput for an invalid cursor."""
    rows = _rows()
    if filters.cluster is not None:
        if not visible_clusters().filter(pk=filters.cluster).exists():
            raise NotFound("no such cluster")
        rows = rows.filter(cluster_id=filters.cluster)
    if filters.state:
        rows = rows.filter(state__in=sorted(JOURNEY_GROUPS.get(filters.state, {filters.state})))
    return sorted_page(rows, order_of(JOURNEY_ORDERS, ordering), after=after, limit=limit, row=_row_of)


def journey_row(journey_id: uuid.UUID) -> JourneyRow:
    """One journey without its steps. Raises NotFound."""
    journey = _rows().filter(pk=journey_id).first()
    if journey is None:
        raise NotFound("no such journey")
    return _row_of(journey)


def current_journey(cluster_id: uuid.UUID) -> JourneyRow | None:
    """The journey of the cluster that has not ended; None if there is none."""
    journey = _rows().filter(cluster_id=cluster_id, state__in=sorted(PLANNED | HOLDING)).first()
    return _row_of(journey) if journey else None


def journey_inbox(person_id: int) -> tuple[JourneyRow, ...]:
    """Journeys that wait for this person's approval, oldest first."""
    waiting = _rows().filter(visible(right="approve"), state="awaiting_approval").exclude(author_id=person_id)
    approved_ids = JourneyApproval.objects.filter(approver_id=person_id).values("journey_id")
    return tuple(_row_of(row) for row in waiting.exclude(pk__in=approved_ids).order_by("made_at")[:MAX_WAITING])


def journey_detail(journey_id: uuid.UUID) -> JourneyDetail:
    """One journey with its steps. Raises NotFound."""
    head = journey_row(journey_id)
    row = Journey.objects.get(pk=journey_id)
    plan = msgspec.json.decode(bytes(row.plan), type=JourneyPlan) if row.plan else None
    links = JourneyRollout.objects.select_related("rollout").defer("rollout__plan").prefetch_related("rollout__skips")
    steps = row.steps.prefetch_related(Prefetch("made", queryset=links))
    return JourneyDetail(
        row=head,
        nonce=row.nonce,
        risk=(plan.risk or "") if plan else "",
        needed=approvals_needed(row, plan) if plan else 0,
        steps=tuple(_step_of(step, plan) for step in steps),
        current_rollback=_current_rollback(journey_id),
        disruption_hold=disruption_hold(journey_id),
        approvals=tuple(
            JourneyApprovalRow(by=approval.approver_name, at=approval.at, reason=approval.reason)
            for approval in row.approvals.all()
        ),
    )


BEGUN = ("done", "running", "failed", "undoing")


def _current_rollback(journey_id: uuid.UUID) -> CurrentRollback | None:
    row = JourneyRollback.objects.filter(journey_id=journey_id).first()
    return from_row(CurrentRollback, row, by=row.by_name) if row else None


def approvals_needed(row: Journey, plan: JourneyPlan) -> int:
    """How many approvals the covered plans need now, by the strictest policy of the cluster's registrations."""
    if plan.risk is None:
        return 0
    return max(
        approvals_required(policy_of(registration), plan.risk) for registration in registrations_of(row.cluster_id)
    )


def _step_of(row: JourneyStepRow, plan: JourneyPlan | None) -> StepRow:
    by_purpose: dict[str, StepRollout] = {}
    for part in row.made.all():
        skipped = tuple(skip.node for skip in part.rollout.skips.all())
        by_purpose[part.purpose] = from_row(StepRollout, part.rollout, purpose=part.purpose, skipped=skipped)
    return from_row(
        StepRow,
        row,
        definition=msgspec.convert(row.definition, type=JourneyStep),
        by=row.by_name,
        evidence=msgspec.convert(row.evidence, type=StepEvidence) if row.evidence else None,
        differences=msgspec.convert(row.differences, type=tuple[PlanDifference, ...]),
        shown=plan.shown.get(row.step) if plan else None,
        preview=by_purpose.get(JourneyRollout.Purpose.PREVIEW),
        work=by_purpose.get(JourneyRollout.Purpose.WORK),
        rollback=by_purpose.get(JourneyRollout.Purpose.BACK),
    )


def _rows() -> QuerySet[Journey]:
    over = Count("steps", filter=Q(steps__state__in=sorted(OVER)))
    rows = Journey.objects.filter(visible()).select_related("cluster").defer("plan", "cluster__sealed")
    return rows.annotate(total=Count("steps"), over=over, environment=F("cluster__environment"))


def _row_of(row: Any) -> JourneyRow:  # noqa: ANN401 - with the annotations of `_rows`
    return from_row(
        JourneyRow,
        row,
        cluster=row.cluster_id,
        author=row.author_name,
        started_by=row.started_by_name,
        done=row.over,
    )
