"""One rollout whole: its plan read, where each step stands, who agreed, what was last counted."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.states import GATE
from migrations_app.errors import NotFound
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.queries.rollouts.policies import needed
from migrations_app.queries.rollouts.rollouts import RolloutRow, rollout_row
from migrations_app.queries.visibility import visible

ApprovalStanding = Literal["todo", "sent", "unknown", "applied", "noop", "refused", "changed_by_other", "done"]
MOST_LINES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalLine:
    """One request, or a gate that was passed. An empty outcome: sent, and no answer yet."""

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
    """A step of the plan and how far it is. `doubt`: what an approver takes on themselves, or empty."""

    step: Step
    standing: ApprovalStanding
    lines: tuple[JournalLine, ...]
    doubt: str
    accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """One person's approval. `alone`: in an emergency, without a second one."""

    by: str
    at: datetime
    step_up: bool
    alone: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An object that was kept as it was before; `proven_at` is when it was read back and found the same."""

    path: str
    digest: str
    proven_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutDetail:
    """`plan` is None while a draft is worked out, and for one that never was. `picture` may be old: it says when."""

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
    taken_back_by: tuple[uuid.UUID, ...]

    @property
    def done(self) -> int:
        """Steps that are through, with their gate."""
        return sum(line.standing == "done" for line in self.steps)


def rollout_detail(rollout_id: uuid.UUID) -> RolloutDetail:
    """The whole of it. Raises NotFound."""
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
            ApprovalRow(by=one.approver_name, at=one.at, step_up=one.step_up, alone=one.break_glass, reason=one.reason)
            for one in row.approvals.all()
        ),
        needed=needed(row),
        picture=_picture(row.picture),
        before=_picture(row.baseline.get("picture") if row.baseline else None),
        exports=tuple(
            Export(path=one.path, digest=one.digest, proven_at=one.proven_at)
            for one in row.exported.defer("sealed").order_by("pk")
        ),
        taken_back_by=tuple(row.rolled_back_by.order_by("made_at").values_list("pk", flat=True)),
    )


def journal_of(rollout_id: uuid.UUID, *, limit: int = MOST_LINES) -> tuple[JournalLine, ...]:
    """The newest lines, oldest of them first. Raises NotFound."""
    if not Rollout.objects.filter(visible(), pk=rollout_id).exists():
        raise NotFound("no such rollout")
    newest = Attempt.objects.filter(rollout_id=rollout_id).order_by("-pk")[:limit]
    return tuple(reversed([_line(one) for one in newest]))


def picture_of(rollout_id: uuid.UUID) -> ClusterCounters | None:
    """What was last counted; None before anything was. Raises NotFound."""
    found = Rollout.objects.filter(visible(), pk=rollout_id).values_list("picture", flat=True).first()
    if found is None:
        raise NotFound("no such rollout")
    return _picture(found)


def standing_of(lines: Sequence[JournalLine]) -> ApprovalStanding:
    """How far a step is, told from its lines alone."""
    if any(line.verb == GATE for line in lines):
        return "done"
    if not lines:
        return "todo"
    last = lines[-1].outcome
    told: dict[str, ApprovalStanding] = {
        "": "sent",
        "unknown": "unknown",
        "applied": "applied",
        "noop": "noop",
        "refused": "refused",
        "changed_by_other": "changed_by_other",
    }
    return told.get(last, "todo")


def _steps(row: Rollout, plan: Plan | None) -> tuple[StepLine, ...]:
    if plan is None:
        return ()
    by_step: dict[str, list[JournalLine]] = {}
    for one in Attempt.objects.filter(rollout=row).order_by("pk"):
        by_step.setdefault(one.step, []).append(_line(one))
    taken, doubts = set(row.accepted), doubts_of(row, plan)
    return tuple(
        StepLine(
            step=step,
            standing=standing_of(by_step.get(step.id, ())),
            lines=tuple(by_step.get(step.id, ())),
            doubt=doubts.get(step.id, ""),
            accepted=step.id in taken,
        )
        for step in plan.steps
    )


def doubts_of(row: Rollout, plan: Plan) -> dict[str, str]:
    """What an approver takes on themselves, by step: no dry run proves it, or a tool would revert it."""
    kept = {step.id: f"{step.manager} keeps this object and may revert it" for step in plan.steps if step.manager}
    return kept | {str(step): str(why) for step, why in row.provable.items()}


def _picture(kept: object) -> ClusterCounters | None:
    return msgspec.convert(kept, type=ClusterCounters) if kept else None


def _line(one: Attempt) -> JournalLine:
    return JournalLine(
        id=one.pk,
        step=one.step,
        number=one.number,
        verb=one.verb,
        path=one.path,
        outcome=one.outcome,
        status=one.status,
        reason=one.reason,
        audit_id=one.audit_id,
        settled_by=one.settled_by,
        actor=one.actor,
        intent_at=one.intent_at,
        outcome_at=one.outcome_at,
    )
