"""Decides the worker's next move for a hold of Karpenter's disruption.

A hold is a rollout that sets budgets of no nodes; another rollout restores the budgets. Both are previewed, approved by
the rules of the policy, and started with the permissions of the person who asked. A hold that never started just ends.
"""

from typing import Literal

import msgspec

from migrations_app.actions.states import PLANNED
from migrations_app.journeys.next_move import REPLAN_CAUSES, RolloutFacts

HOLD, RELEASE = "hold_disruption", "release_disruption"
HoldMoveKind = Literal["draft", "ask", "start", "abort", "withdraw", "end", "wait", "tell"]
"""What to do with the current rollout. `end`: the hold is over or never began; `wait`: nothing, with the code of the
reason; `tell`: a person has to act."""
HELD, RELEASED = "held", "released"
WANTED = (HELD, RELEASED)
"""The states that people can request."""
NOTHING_TO_DO = "nothing_to_do"


class HoldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The newest rollouts of the hold, None if there is none; `releasing`: the budgets have to be restored."""

    releasing: bool = False
    hold: RolloutFacts | None = None
    release: RolloutFacts | None = None


class HoldMove(msgspec.Struct, frozen=True):
    """What to do, and the code of the reason."""

    do: HoldMoveKind
    code: str = ""


_MOVE_BY_STATE: dict[str, HoldMove] = {
    "draft": HoldMove("wait", "planning"),
    "previewed": HoldMove("ask"),
    "awaiting_approval": HoldMove("wait", "approval_needed"),
    "approved": HoldMove("start"),
    "running": HoldMove("wait", "rollout"),
    "rolling_back": HoldMove("wait", "rollout"),
    "paused": HoldMove("tell", "rollout_paused"),
    "needs_attention": HoldMove("tell", "rollout_needs_attention"),
}


def next_hold_move(facts: HoldFacts) -> HoldMove:
    """Returns the next move of the hold."""
    return _release_move(facts) if facts.releasing else _hold_move(facts.hold)


def _hold_move(rollout: RolloutFacts | None) -> HoldMove:
    if rollout is None or (rollout.state == "expired" and rollout.cause_code in REPLAN_CAUSES):
        return HoldMove("draft")
    if rollout.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", rollout.cause_code or rollout.state)
    if rollout.state in ("failed", "aborted"):
        return HoldMove("tell", f"rollout_{rollout.state}")  # some NodePools may be held: a person restores them
    return HoldMove("wait", HELD) if rollout.state == "succeeded" else _MOVE_BY_STATE[rollout.state]


def _release_move(facts: HoldFacts) -> HoldMove:
    hold = facts.hold
    if hold is None or hold.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", RELEASED)
    if hold.state in PLANNED:
        return HoldMove("withdraw", RELEASED)
    if hold.state == "paused":
        return HoldMove("abort")  # the NodePools held so far are restored
    if hold.state in ("running", "rolling_back", "needs_attention"):
        return _MOVE_BY_STATE[hold.state]
    release = facts.release
    if release is None or (release.state == "expired" and release.cause_code in REPLAN_CAUSES):
        return HoldMove("draft")
    if release.state == "succeeded" or (release.state == "expired" and release.cause_code == NOTHING_TO_DO):
        return HoldMove("end", RELEASED)
    if release.state == "paused":
        return HoldMove("abort")  # an object differs from the plan: a new request makes a new plan
    if release.state == "expired" and release.cause_code:
        return HoldMove("tell", release.cause_code)  # why no plan could be made
    return _MOVE_BY_STATE.get(release.state) or HoldMove("tell", f"rollout_{release.state}")
