"""Decides the worker's next move for the current step of a running journey.

The approval of the journey covers a plan that was shown, does not differ, and is within the limit of risk. Every other
plan asks a person.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from migrations_app.journeys.evidence import StepEvidence
from migrations_app.journeys.outline import PlanDifference
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.states import StepState

MoveKind = Literal["begin", "draft", "cover", "ask", "start", "scan", "finish", "fail", "stop", "watch", "tell"]
"""`draft` plans the rollout of the step, `cover` approves it by the journey's approval, `ask` asks people to approve
it; `stop` pauses the journey without failing the step; `tell` waits for a person, `watch` for anything else."""
PROOF_TIMEOUT = timedelta(minutes=30)
"""How long after its rollout a scan may fail to prove the step before the step fails."""
WEIGHED_BEFORE = "weighed_before"
SCAN_INTERVAL = timedelta(minutes=2)
"""How often a scan is requested while a step waits for its proof."""


class RolloutFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of the step's rollout. `differences`: how its plan differs from the shown one; `covered`:
    the approval of the journey counts for it; `accepted`: a person accepted the changed plan; `skipped`: nodes that
    people excluded."""

    state: str
    cause_code: str = ""
    differences: tuple[PlanDifference, ...] = ()
    covered: bool = False
    accepted: bool = False
    skipped: tuple[str, ...] = ()
    finished_at: datetime | None = None


class StepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a step behind the decision. `since` is when the step began, `asked_at` when it last requested a
    scan.

    `evidence` is from a scan that began after `proof_since`; None without one. `weighed`: in the recipe of the
    campaign, a person already judged what no scan can tell of the step.
    """

    state: StepState
    since: datetime
    rollout: RolloutFacts | None = None
    evidence: StepEvidence | None = None
    asked_at: datetime | None = None
    weighed: bool = False

    @property
    def proof_since(self) -> datetime:
        """A scan proves something if it began after this time: the end of the rollout, else the begin of the step
        (R09)."""
        return (self.rollout.finished_at if self.rollout else None) or self.since


class Move(msgspec.Struct, frozen=True):
    """What to do, and the code of the reason."""

    do: MoveKind
    code: str = ""


def next_move(step: JourneyStep, facts: StepFacts, *, now: datetime) -> Move:
    """Returns the next move for the current step, which is ready or running."""
    if facts.state == "ready":
        return Move("begin")
    if step.kind == "person":
        return _person_move(step, facts, now=now)
    if step.kind == "wait":
        over = now - facts.since >= timedelta(seconds=step.seconds)
        return Move("finish", "time_passed") if over else Move("watch", "time")
    if step.kind == "outside":
        return _move_by_evidence(facts, now=now, patience=None)
    return _rollout_move(facts, now=now, settled=step.settled)


def _person_move(step: JourneyStep, facts: StepFacts, *, now: datetime) -> Move:
    """Finishes the step if it was weighed before or a scan proves it: a person confirms only what no scan shows. A
    scan is requested once, and again as long as a check fails, as its work may have been done meanwhile."""
    if facts.weighed:
        return Move("finish", WEIGHED_BEFORE)
    evidence, move = facts.evidence, Move("tell", "tick_needed")
    if evidence is not None and evidence.verdict == "proven":
        return Move("finish", "seen")
    if not step.checks or (evidence is not None and evidence.verdict == "unknown"):
        return move
    return _scan_or(facts, now=now, otherwise=move)


_MOVE_BY_STATE: dict[str, Move] = {
    "draft": Move("watch", "planning"),
    "awaiting_approval": Move("tell", "approval_needed"),
    "approved": Move("start"),
    "running": Move("watch", "rollout"),
    "rolling_back": Move("watch", "rollout"),
    "paused": Move("tell", "rollout_paused"),
    "needs_attention": Move("tell", "rollout_needs_attention"),
}
APPROVAL_TAKEN_BACK = "approval_taken_back"
REPLAN_CAUSES = frozenset({"expired", "policy_moved", "release_changed", "cluster_changed", APPROVAL_TAKEN_BACK})
"""Causes after which a new plan is made without asking a person, as nothing of the old one was started."""
NOTHING_TO_DO = "nothing_to_do"
NODES_SKIPPED = "nodes_skipped"
"""Nodes were excluded and the checks still fail. Waiting proves nothing, so the step fails at once and names the
nodes."""


def _rollout_move(facts: StepFacts, *, now: datetime, settled: bool) -> Move:
    rollout = facts.rollout
    if rollout is None:
        return Move("draft")
    if settled and (rollout.state == "succeeded" or (rollout.state, rollout.cause_code) == ("expired", NOTHING_TO_DO)):
        return Move("finish", "settled")
    if rollout.state == "previewed":
        return _move_for_plan(rollout)
    if rollout.state == "succeeded":
        return _move_by_evidence(facts, now=now, patience=PROOF_TIMEOUT)
    if rollout.state == "expired":
        if rollout.cause_code in REPLAN_CAUSES:
            return Move("draft", rollout.cause_code)
        if rollout.cause_code == NOTHING_TO_DO:
            return _move_by_evidence(facts, now=now, patience=PROOF_TIMEOUT)
        return Move("fail", rollout.cause_code or "no_plan")
    return _MOVE_BY_STATE.get(rollout.state, Move("fail", f"rollout_{rollout.state}"))


def _move_for_plan(rollout: RolloutFacts) -> Move:
    if rollout.accepted:
        return Move("ask", "accepted")
    if rollout.differences:
        return Move("stop", "plan_differs")
    return Move("cover") if rollout.covered else Move("ask", "not_covered")


def _move_by_evidence(facts: StepFacts, *, now: datetime, patience: timedelta | None) -> Move:
    """Finishes a proven step, fails one that is open beyond `patience`, and asks a person about an unknown one."""
    evidence = facts.evidence
    if evidence is None:
        return _scan_or(facts, now=now, otherwise=Move("watch", "scan"))
    if evidence.verdict == "proven":
        return Move("finish", "seen")
    if evidence.verdict == "other_release":
        return Move("fail", "other_release")
    if evidence.verdict == "unknown":
        move = Move("finish", WEIGHED_BEFORE) if facts.weighed else Move("tell", "confirmation_needed")
        return _scan_or(facts, now=now, otherwise=move)
    if facts.rollout is not None and facts.rollout.skipped:
        return Move("fail", NODES_SKIPPED)
    if patience is not None and now - facts.proof_since >= patience:
        return Move("fail", "not_seen")
    return _scan_or(facts, now=now, otherwise=Move("tell" if patience is None else "watch", "work_outside"))


def _scan_or(facts: StepFacts, *, now: datetime, otherwise: Move) -> Move:
    due = facts.asked_at is None or facts.asked_at < facts.proof_since or now - facts.asked_at >= SCAN_INTERVAL
    return Move("scan") if due else otherwise
