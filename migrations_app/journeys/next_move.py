"""What a worker does next for the current step of a running journey, decided on values.

A plan is covered by the approval of the journey if it was shown, does not differ, and is within the limit. Everything
else asks a person.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from migrations_app.journeys.evidence import StepEvidence
from migrations_app.journeys.outline import PlanDifference
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.states import StepState

Do = Literal["begin", "draft", "cover", "ask", "start", "scan", "finish", "fail", "stop", "watch", "tell"]
"""`draft` plans the rollout of the step, `cover` approves it with the journey's approval, `ask` asks people for it;
`stop` pauses the journey without failing the step; `tell` waits for a person, `watch` for anything else."""
PATIENCE = timedelta(minutes=30)
"""How long a finished rollout may take to be seen in a scan, before its step fails."""
WEIGHED_BEFORE = "weighed_before"
SCAN_EVERY = timedelta(minutes=2)
"""How often a scan is asked for while a step waits to be seen in one."""


class RolloutSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The rollout of the step as it is now. `differences`: how its plan differs from the one that was shown; `covered`:
    the approval of the journey counts for it; `accepted`: a person accepted the plan as it is; `skipped`: the nodes
    that people left out."""

    state: str
    cause_code: str = ""
    differences: tuple[PlanDifference, ...] = ()
    covered: bool = False
    accepted: bool = False
    skipped: tuple[str, ...] = ()
    finished_at: datetime | None = None


class StepSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the decision rests on. `since` is when the step began, `asked_at` when it last asked for a scan.

    `evidence` is from a scan that began after `proof_since`; None while there is none. `weighed`: a person weighed
    before, for the whole campaign, what no scan tells of the step.
    """

    state: StepState
    since: datetime
    rollout: RolloutSeen | None = None
    evidence: StepEvidence | None = None
    asked_at: datetime | None = None
    weighed: bool = False

    @property
    def proof_since(self) -> datetime:
        """From when on a scan proves something: the end of its rollout, else the beginning of the step (R09)."""
        return (self.rollout.finished_at if self.rollout else None) or self.since


class Move(msgspec.Struct, frozen=True):
    """What to do, and the code of why."""

    do: Do
    code: str = ""


def next_move(step: JourneyStep, here: StepSeen, *, now: datetime) -> Move:
    """The next move for the current step, which is ready or running."""
    if here.state == "ready":
        return Move("begin")
    if step.kind == "person":
        return _of_person(step, here, now=now)
    if step.kind == "wait":
        over = now - here.since >= timedelta(seconds=step.seconds)
        return Move("finish", "time_passed") if over else Move("watch", "time")
    if step.kind == "outside":
        return _by_evidence(here, now=now, patience=None)
    return _of_rollout(here, now=now, settled=step.settled)


def _of_person(step: JourneyStep, here: StepSeen, *, now: datetime) -> Move:
    """Finished if it was weighed before, or a scan proves it: nobody is asked to say what is seen. A scan is asked for
    once, and again as long as a check fails, for its work may be done meanwhile."""
    if here.weighed:
        return Move("finish", WEIGHED_BEFORE)
    evidence, move = here.evidence, Move("tell", "tick_needed")
    if evidence is not None and evidence.verdict == "proven":
        return Move("finish", "seen")
    if not step.checks or (evidence is not None and evidence.verdict == "unknown"):
        return move
    return _scan(here, now=now, otherwise=move)


_WATCHED: dict[str, Move] = {
    "draft": Move("watch", "planning"),
    "awaiting_approval": Move("tell", "approval_needed"),
    "approved": Move("start"),
    "running": Move("watch", "rollout"),
    "rolling_back": Move("watch", "rollout"),
    "paused": Move("tell", "rollout_paused"),
    "needs_attention": Move("tell", "rollout_needs_attention"),
}
APPROVAL_TAKEN_BACK = "approval_taken_back"
ANEW = frozenset({"expired", "policy_moved", "cluster_changed", APPROVAL_TAKEN_BACK})
"""Causes for which a plan is made anew without asking anybody: nothing of it was started."""
NOTHING_TO_DO = "nothing_to_do"
NODES_SKIPPED = "nodes_skipped"
"""Nodes were left out and the checks still fail: time proves nothing here, so the step fails at once and names them."""


def _of_rollout(here: StepSeen, *, now: datetime, settled: bool) -> Move:
    rollout = here.rollout
    if rollout is None:
        return Move("draft")
    if settled and (rollout.state == "succeeded" or (rollout.state, rollout.cause_code) == ("expired", NOTHING_TO_DO)):
        return Move("finish", "settled")
    if rollout.state == "previewed":
        return _planned(rollout)
    if rollout.state == "succeeded":
        return _by_evidence(here, now=now, patience=PATIENCE)
    if rollout.state == "expired":
        if rollout.cause_code in ANEW:
            return Move("draft", rollout.cause_code)
        if rollout.cause_code == NOTHING_TO_DO:
            return _by_evidence(here, now=now, patience=PATIENCE)
        return Move("fail", rollout.cause_code or "no_plan")
    return _WATCHED.get(rollout.state, Move("fail", f"rollout_{rollout.state}"))


def _planned(rollout: RolloutSeen) -> Move:
    if rollout.accepted:
        return Move("ask", "accepted")
    if rollout.differences:
        return Move("stop", "plan_differs")
    return Move("cover") if rollout.covered else Move("ask", "not_covered")


def _by_evidence(here: StepSeen, *, now: datetime, patience: timedelta | None) -> Move:
    """Finished if it is proven; `open` beyond the patience fails; what cannot be told asks a person to confirm it."""
    evidence = here.evidence
    if evidence is None:
        return _scan(here, now=now, otherwise=Move("watch", "scan"))
    if evidence.verdict == "proven":
        return Move("finish", "seen")
    if evidence.verdict == "other_release":
        return Move("fail", "other_release")
    if evidence.verdict == "unknown":
        move = Move("finish", WEIGHED_BEFORE) if here.weighed else Move("tell", "confirmation_needed")
        return _scan(here, now=now, otherwise=move)
    if here.rollout is not None and here.rollout.skipped:
        return Move("fail", NODES_SKIPPED)
    if patience is not None and now - here.proof_since >= patience:
        return Move("fail", "not_seen")
    return _scan(here, now=now, otherwise=Move("tell" if patience is None else "watch", "work_outside"))


def _scan(here: StepSeen, *, now: datetime, otherwise: Move) -> Move:
    due = here.asked_at is None or here.asked_at < here.proof_since or now - here.asked_at >= SCAN_EVERY
    return Move("scan") if due else otherwise
