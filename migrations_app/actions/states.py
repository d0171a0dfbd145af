"""The states of a plan and of a rollout with their allowed transitions, and the position of a rollout in its plan,
computed from its plan and its journal.

Code and database share the one table of transitions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, Protocol, get_args

from migrations_app.actions.plan import Plan, Step

StepPhase = Literal["request", "settle", "gate"]
GATE = "gate"
"""The verb of the journal line that says that a step was verified and its gate passed."""
NOT_APPLIED = "not_applied"
"""The outcome of a request without an answer, or with a failure, of which a read shows that it changed nothing."""
WITHOUT_EFFECT = frozenset({"refused", NOT_APPLIED})
SKIP = "skip"
"""The verb of the journal line that says that a step was skipped because its object is not the planned one."""


class JournalEntry(Protocol):
    """The fields of a journal line that matter here."""

    @property
    def step(self) -> str: ...
    @property
    def verb(self) -> str: ...
    @property
    def outcome(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Position:
    """A step that is not finished, its phase, and its open journal line.

    `in_doubt`: an earlier request of the step counts as never received, but may have arrived late. `skipped`: the step
    was left out.
    """

    step: Step
    phase: StepPhase
    open: JournalEntry | None = None
    in_doubt: bool = False
    skipped: bool = False


def current_position(plan: Plan, lines: Iterable[JournalEntry]) -> Position | None:
    """The position at the first step that is not finished; None if all are."""
    by_step: dict[str, list[JournalEntry]] = {}
    for line in lines:
        by_step.setdefault(line.step, []).append(line)
    return next((position for step in plan.steps if (position := _step_position(step, by_step.get(step.id, [])))), None)


def batch_of(plan: Plan, step: Step) -> str:
    """The id of the step whose gate ends this step's batch."""
    later = plan.steps[plan.steps.index(step) :]
    return next((later_step.id for later_step in later if later_step.after is not None), later[-1].id)


def begins_batch(plan: Plan, step: Step) -> bool:
    """Whether no earlier step of its batch sends a request."""
    earlier = reversed(plan.steps[: plan.steps.index(step)])
    return not any(one.change for one in takewhile(lambda one: one.after is None, earlier))


def sends_first(plan: Plan, step: Step) -> bool:
    """Whether no earlier step of the plan sends a request."""
    return not any(one.change for one in plan.steps[: plan.steps.index(step)])


NODE_KINDS = frozenset({"Node", "NodeClaim", "Machine"})
"""Karpenter creates and deletes objects of these kinds by itself."""


def about_one_node(step: Step) -> bool:
    """Whether the step deletes one node: a person may leave such a step out while the rollout is under way."""
    change = step.change
    return change is not None and change.verb == "delete" and change.target.kind in NODE_KINDS


def skipped_step_ids(lines: Iterable[JournalEntry]) -> frozenset[str]:
    """The ids of the steps that were left out: their objects are as they were."""
    return frozenset(line.step for line in lines if line.verb == SKIP)


def applied(plan: Plan, lines: Iterable[JournalEntry]) -> tuple[Step, ...]:
    """The steps whose request took effect, newest first: what a rollback undoes (A35)."""
    applied_ids = {line.step for line in lines if line.verb != GATE and line.outcome == "applied"}
    return tuple(step for step in reversed(plan.steps) if step.id in applied_ids)


def unsettled_step_ids(lines: Iterable[JournalEntry]) -> frozenset[str]:
    """The ids of the steps of which nobody knows whether their request took effect; `lines` are oldest first."""
    newest = {line.step: line for line in lines}
    return frozenset(step_id for step_id, line in newest.items() if line.outcome in ("", "unknown", "changed_by_other"))


def unsettled(plan: Plan, lines: Iterable[JournalEntry]) -> tuple[Step, ...]:
    """The steps whose request may have taken effect although the journal does not say so, newest first."""
    step_ids = unsettled_step_ids(lines)
    return tuple(step for step in reversed(plan.steps) if step.id in step_ids)


def _step_position(step: Step, lines: list[JournalEntry]) -> Position | None:
    if any(line.verb == GATE for line in lines):
        return None
    if step.change is None or any(line.outcome in ("applied", "noop") for line in lines):
        return Position(step, "gate", skipped=any(line.verb == SKIP for line in lines))
    last = lines[-1] if lines else None
    if last is not None and last.outcome in ("", "unknown"):
        return Position(step, "settle", last)
    return Position(step, "request", in_doubt=any(line.outcome == NOT_APPLIED for line in lines))


RolloutState = Literal[
    "draft",
    "previewed",
    "awaiting_approval",
    "approved",
    "running",
    "paused",
    "succeeded",
    "failed",
    "aborted",
    "rolled_back",
    "rejected",
    "expired",
    "rolling_back",
    "needs_attention",
]
STATES: tuple[RolloutState, ...] = get_args(RolloutState)

ROLLOUT_TRANSITIONS: dict[RolloutState, frozenset[RolloutState]] = {
    "draft": frozenset({"previewed", "expired"}),
    "previewed": frozenset({"awaiting_approval", "expired"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired"}),
    "approved": frozenset({"running", "expired", "rejected", "needs_attention"}),
    "running": frozenset({"paused", "succeeded", "failed", "aborted", "needs_attention"}),
    "paused": frozenset({"running", "failed", "aborted", "rolling_back", "needs_attention"}),
    "failed": frozenset({"rolling_back"}),
    "aborted": frozenset({"rolling_back"}),
    "rolling_back": frozenset({"rolled_back", "needs_attention"}),
    "needs_attention": frozenset({"paused", "failed", "aborted"}),
    "succeeded": frozenset(),
    "rolled_back": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
}
"""A07 and A09. A person resolves `needs_attention`; `failed` and `aborted` are final except for a rollback."""

PLANNED: frozenset[RolloutState] = frozenset({"draft", "previewed", "awaiting_approval", "approved"})
"""States of a plan of which no step was sent yet: it may still expire or be voided."""
FINAL: frozenset[RolloutState] = frozenset(state for state, following in ROLLOUT_TRANSITIONS.items() if not following)
WORKING: frozenset[RolloutState] = frozenset({"running"})
"""States in which a worker makes progress. A rollback is a rollout of its own, with its own state."""
HOLDING: frozenset[RolloutState] = WORKING | {"paused", "needs_attention"}
"""States in which no other rollout may start on the cluster (A13)."""


def can_transition(now: RolloutState, then: RolloutState) -> bool:
    return then in ROLLOUT_TRANSITIONS[now]


def pairs() -> tuple[tuple[RolloutState, RolloutState], ...]:
    """Every allowed transition, in table order."""
    return tuple((now, then) for now in STATES for then in STATES if then in ROLLOUT_TRANSITIONS[now])
