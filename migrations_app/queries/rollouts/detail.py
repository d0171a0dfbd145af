"""One rollout in detail: its plan, the state of each step, its approvals, and the latest counters."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.states import GATE, SKIP
from migrations_app.errors import NotFound
from migrations_app.models.rollout import Attempt, NodeSkip, Rollout
from migrations_app.queries.rollouts.active import position
from migrations_app.queries.rollouts.policies import approvals_needed
from migrations_app.queries.rollouts.rollouts import RolloutRow, rollout_row
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

ApprovalStanding = Literal[
    "todo", "sent", "unknown", "applied", "noop", "refused", "changed_by_other", "done", "skipped"
]  # fmt: skip
MAX_LINES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLine:
    """One request or passed gate. An empty outcome means sent and not yet answered."""

    id: int
    step: str
    number: int
    verb: str
    path: str
    outcome: str
    status: int | None
    reason: str
    audit_id: str
    settled_by: str
    actor: str
    intent_at: datetime
    outcome_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """A step of the plan and its state. `doubt` is the text that an approver has to accept, or empty."""

    step: Step
    standing: ApprovalStanding
    lines: tuple[JournalLine, ...]
    doubt: str
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """One person's approval. `alone` marks an emergency approval without a second person."""

    by: str
    at: datetime
    step_up: bool
    alone: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A backup of an object; `proven_at` is when it was read back and verified."""

    path: str
    digest: str
    proven_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedNode:
    """A node that a person skipped; the rollout did not change it."""

    step: str
    node: str
    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A rollout that was made to roll another one back, in whatever state it is."""

    id: uuid.UUID
    state: str
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutDetail:
    """One rollout. `plan` is None while a draft is planned, and if planning failed. `picture` has its own time and may
    be old.
    """

    row: RolloutRow
    parameters: dict[str, Any]
    plan: Plan | None
    nonce: str
    steps: tuple[StepLine, ...]
    approvals: tuple[ApprovalRow, ...]
    needed: int
    picture: ClusterCounters | None
    before: ClusterCounters | None
    exports: tuple[Export, ...]
    rollbacks: tuple[Rollback, ...]
    skipped_nodes: tuple[SkippedNode, ...] = ()

    @property
    def done(self) -> int:
        """The number of steps that passed their gate, without skipped steps."""
        return sum(line.standing == "done" for line in self.steps)

    @property
    def left_out(self) -> int:
        """The number of skipped steps."""
        return sum(line.standing == "skipped" for line in self.steps)

    @property
    def at_step(self) -> int:
        """The number of the current step, as on every page."""
        return position(passed=self.done + self.left_out, steps=len(self.steps))


def rollout_detail(rollout_id: uuid.UUID) -> RolloutDetail:
    """One rollout in detail. Raises NotFound."""
    head = rollout_row(rollout_id)
    row = Rollout.objects.get(pk=rollout_id)
    plan = msgspec.json.decode(bytes(row.plan), type=Plan) if row.plan else None
    return RolloutDetail(
        row=head,
        parameters=row.parameters,
        plan=plan,
        nonce=row.nonce,
        steps=_steps(row, plan),
        approvals=tuple(
            ApprovalRow(
                by=approval.approver_name,
                at=approval.at,
                step_up=approval.step_up,
                alone=approval.break_glass,
                reason=approval.reason,
            )
            for approval in row.approvals.all()
        ),
        needed=approvals_needed(row),
        picture=_picture(row.picture),
        before=_picture(row.baseline.get("picture") if row.baseline else None),
        exports=tuple(
            Export(path=backup.path, digest=backup.digest, proven_at=backup.proven_at)
            for backup in row.backups.defer("sealed").order_by("pk")
        ),
        skipped_nodes=skipped_nodes(rollout_id) if row.started_at else (),
        rollbacks=tuple(
            Rollback(id=pk, state=state, made_at=made_at)
            for pk, state, made_at in row.rolled_back_by.order_by("made_at").values_list("pk", "state", "made_at")
        ),
    )


def skipped_nodes(rollout_id: uuid.UUID) -> tuple[SkippedNode, ...]:
    """The nodes that people skipped, in the order of the steps."""
    rows = NodeSkip.objects.filter(rollout_id=rollout_id).order_by("step")
    return tuple(from_row(SkippedNode, node_skip, by=node_skip.by_name) for node_skip in rows)


def journal_of(rollout_id: uuid.UUID, *, limit: int = MAX_LINES) -> tuple[JournalLine, ...]:
    """The newest `limit` journal lines, in order of time. Raises NotFound."""
    if not Rollout.objects.filter(visible(), pk=rollout_id).exists():
        raise NotFound("no such rollout")
    newest = Attempt.objects.filter(rollout_id=rollout_id).order_by("-pk")[:limit]
    return tuple(reversed([_line(attempt) for attempt in newest]))


def picture_of(rollout_id: uuid.UUID) -> ClusterCounters | None:
    """The latest counters; None if nothing was counted yet. Raises NotFound."""
    raw = Rollout.objects.filter(visible(), pk=rollout_id).values_list("picture", flat=True).first()
    if raw is None:
        raise NotFound("no such rollout")
    return _picture(raw)


def standing_of(lines: Sequence[JournalLine]) -> ApprovalStanding:
    """The state of a step, derived from its journal lines alone."""
    if any(line.verb == SKIP for line in lines):
        return "skipped"
    if any(line.verb == GATE for line in lines):
        return "done"
    if not lines:
        return "todo"
    last = lines[-1].outcome
    standings: dict[str, ApprovalStanding] = {
        "": "sent",
        "unknown": "unknown",
        "applied": "applied",
        "noop": "noop",
        "refused": "refused",
        "changed_by_other": "changed_by_other",
    }
    return standings.get(last, "todo")


def _steps(row: Rollout, plan: Plan | None) -> tuple[StepLine, ...]:
    if plan is None:
        return ()
    by_step: dict[str, list[JournalLine]] = {}
    for attempt in Attempt.objects.filter(rollout=row).order_by("pk"):
        by_step.setdefault(attempt.step, []).append(_line(attempt))
    accepted, doubts = set(row.accepted), doubts_of(row, plan)
    return tuple(
        StepLine(
            step=step,
            standing=standing_of(by_step.get(step.id, ())),
            lines=tuple(by_step.get(step.id, ())),
            doubt=doubts.get(step.id, ""),
            accepted=step.id in accepted,
        )
        for step in plan.steps
    )


def doubts_of(row: Rollout, plan: Plan) -> dict[str, str]:
    """Texts that an approver has to accept, by step: no successful dry run, or a tool that may revert the change."""
    doubts = {step.id: f"{step.manager} keeps this object and may revert it" for step in plan.steps if step.manager}
    return doubts | {str(step): str(why) for step, why in row.provable.items()}


def _picture(raw: object) -> ClusterCounters | None:
    return msgspec.convert(raw, type=ClusterCounters) if raw else None


def _line(attempt: Attempt) -> JournalLine:
    return from_row(JournalLine, attempt)
