"""Decides the rollback of one step: undone by karpdash, by a person, or not possible.

A rollout is undone by a rollout of its own, previewed and approved like any other. Work outside is undone outside. A
step that cannot be undone ends the rollback before it; nothing of it is changed.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from migrations_app.journeys.evidence import StepEvidence
from migrations_app.journeys.next_move import REPLAN_CAUSES, SCAN_INTERVAL, RolloutFacts
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.states import StepState

RollbackWork = Literal["undone", "keep", "fail", "draft", "ask", "start", "scan", "watch", "tell"]
"""`keep`: the step cannot be undone and stays as it is; `draft` plans the rollback; the others are as for a
step."""
RollbackKind = Literal["rollback", "person", "outside", "nothing", "no_return"]
"""How a step is undone: by a rollout, by a person, by a tool outside that a scan confirms, or not at all."""
UNDO_NEEDED = "back_needed"
UNDO_OUTSIDE = "back_outside"
NO_RETURN = "no_return"
RETRIED = "step_retried"


class StepRollback(msgspec.Struct, frozen=True, kw_only=True):
    """How one step is undone. `why` are the texts for what cannot be undone."""

    step: str
    title: str
    how: RollbackKind
    words: str = ""
    why: tuple[str, ...] = ()


class RollbackFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts behind the decision. `left`: a rollout of the step took effect and is not undone; `rollback` is the
    newest rollout that undoes it; `starts` is the release before the hop; `evidence` is from a scan since then.
    `in_doubt`: nobody knows whether its rollout took effect."""

    left: bool = False
    in_doubt: bool = False
    rollback: RolloutFacts | None = None
    starts: str = ""
    evidence: StepEvidence | None = None
    asked_at: datetime | None = None
    since: datetime


class RollbackMove(msgspec.Struct, frozen=True):
    """What to do, and the code of the reason."""

    do: RollbackWork
    code: str = ""


def rollback_kind(step: JourneyStep, *, state: StepState, effect: bool, in_doubt: bool = False) -> RollbackKind:
    """Returns how the step is undone. `effect`: a rollout of it changed the cluster and was not undone; `in_doubt`:
    nobody knows whether it did."""
    if step.kind == "rollout":
        return "rollback" if effect else "person" if in_doubt else "nothing"
    if step.kind == "wait" or state != "done":
        return "nothing"
    if step.no_return:
        return "no_return"
    return "outside" if step.release else "person"


def step_rollbacks(
    steps: Sequence[tuple[JourneyStep, StepState, bool]], *, to: int, doubtful: Collection[int] = ()
) -> tuple[StepRollback, ...]:
    """Returns how each step down to index `to` is undone, the last one first. The flag says whether the step had an
    effect; `doubtful` are the indexes of those of which nobody knows that."""
    ways = []
    for place, (step, state, effect) in reversed(list(enumerate(steps))[to:]):
        in_doubt = place in doubtful
        if state in ("waiting", "ready") or (state == "skipped" and not effect and not in_doubt):
            continue
        how = rollback_kind(step, state=state, effect=effect, in_doubt=in_doubt)
        why = step.no_return if how in ("no_return", "rollback") else ()
        ways.append(StepRollback(step=step.id, title=step.title, how=how, words=step.back, why=why))
    return tuple(ways)


_MOVE_BY_STATE: dict[str, RollbackMove] = {
    "draft": RollbackMove("watch", "planning"),
    "previewed": RollbackMove("ask", "not_covered"),
    "awaiting_approval": RollbackMove("tell", "approval_needed"),
    "approved": RollbackMove("start"),
    "running": RollbackMove("watch", "rollout"),
    "paused": RollbackMove("tell", "rollout_paused"),
    "needs_attention": RollbackMove("tell", "rollout_needs_attention"),
    "rejected": RollbackMove("keep", "rollout_rejected"),
}


def next_rollback_move(step: JourneyStep, facts: RollbackFacts, *, before: StepState, now: datetime) -> RollbackMove:
    """Returns the next move for a step that is being undone; `before` is the state that it had."""
    how = rollback_kind(step, state=before, effect=facts.left, in_doubt=facts.in_doubt)
    if how == "rollback":
        return _rollback_move(facts.rollback)
    if how == "no_return":
        return RollbackMove("keep", NO_RETURN)
    if how == "person":
        return RollbackMove("tell", UNDO_NEEDED)
    if how == "outside":
        return _move_by_release(step, facts, now=now)
    return RollbackMove("undone", "taken_back" if step.kind == "rollout" else "nothing_to_undo")


def _rollback_move(rollout: RolloutFacts | None) -> RollbackMove:
    if rollout is None or rollout.state in ("succeeded", "rolled_back"):
        return RollbackMove("draft")  # it undid an earlier rollout of the step; the next rollout is undone now
    if rollout.state == "expired":
        again = rollout.cause_code in REPLAN_CAUSES or rollout.cause_code == RETRIED
        return (
            RollbackMove("draft", rollout.cause_code)
            if again
            else RollbackMove("keep", rollout.cause_code or "no_plan")
        )
    if rollout.state == "previewed" and rollout.accepted:
        return RollbackMove("ask", "accepted")
    return _MOVE_BY_STATE.get(rollout.state, RollbackMove("fail", f"rollout_{rollout.state}"))


def _move_by_release(step: JourneyStep, facts: RollbackFacts, *, now: datetime) -> RollbackMove:
    """Decides by a scan that began since: the release before the hop has to run again. A person's word is not
    enough."""
    evidence = facts.evidence
    if evidence is not None and evidence.release == facts.starts != step.release:
        return RollbackMove("undone", "seen")
    due = facts.asked_at is None or facts.asked_at < facts.since or now - facts.asked_at >= SCAN_INTERVAL
    return RollbackMove("scan") if due else RollbackMove("tell", UNDO_OUTSIDE)
