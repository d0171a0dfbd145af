"""What a worker does next for the hold of Karpenter's own disruption, decided on values.

A hold is a rollout of its own that sets budgets of no nodes; restoring them is another one. Both are previewed,
approved as the policy asks, and started with the rights of who asked. A hold that was never started just ends.
"""

from typing import Literal

import msgspec

from migrations_app.actions.states import PLANNED
from migrations_app.journeys.next_move import ANEW, RolloutSeen

HOLD, RELEASE = "hold_disruption", "release_disruption"
HoldDo = Literal["draft", "ask", "start", "abort", "withdraw", "end", "wait", "tell"]
"""What is done with the rollout of now. `end`: the hold is over, or was never there; `wait`: nothing is to be done,
with the code of what it waits for; `tell`: a person has to look."""
HELD, RELEASED = "held", "released"
WANTED = (HELD, RELEASED)
"""What people ask for."""
NOTHING_TO_DO = "nothing_to_do"


class HoldSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The newest rollouts of this hold, None while there is none; `releasing`: the budgets are to be restored."""

    releasing: bool = False
    hold: RolloutSeen | None = None
    release: RolloutSeen | None = None


class HoldMove(msgspec.Struct, frozen=True):
    """What to do, and the code of why."""

    do: HoldDo
    code: str = ""


_BEFORE_ITS_END: dict[str, HoldMove] = {
    "draft": HoldMove("wait", "planning"),
    "previewed": HoldMove("ask"),
    "awaiting_approval": HoldMove("wait", "approval_needed"),
    "approved": HoldMove("start"),
    "running": HoldMove("wait", "rollout"),
    "rolling_back": HoldMove("wait", "rollout"),
    "paused": HoldMove("tell", "rollout_paused"),
    "needs_attention": HoldMove("tell", "rollout_needs_attention"),
}


def next_hold_move(here: HoldSeen) -> HoldMove:
    """The next move of the hold."""
    return _releasing(here) if here.releasing else _holding(here.hold)


def _holding(rollout: RolloutSeen | None) -> HoldMove:
    if rollout is None or (rollout.state == "expired" and rollout.cause_code in ANEW):
        return HoldMove("draft")
    if rollout.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", rollout.cause_code or rollout.state)
    if rollout.state in ("failed", "aborted"):
        return HoldMove("tell", f"rollout_{rollout.state}")  # a part of the NodePools may be held: a person restores
    return HoldMove("wait", HELD) if rollout.state == "succeeded" else _BEFORE_ITS_END[rollout.state]


def _releasing(here: HoldSeen) -> HoldMove:
    hold = here.hold
    if hold is None or hold.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", RELEASED)
    if hold.state in PLANNED:
        return HoldMove("withdraw", RELEASED)
    if hold.state == "paused":
        return HoldMove("abort")  # what it held so far is restored
    if hold.state in ("running", "rolling_back", "needs_attention"):
        return _BEFORE_ITS_END[hold.state]
    release = here.release
    if release is None or (release.state == "expired" and release.cause_code in ANEW):
        return HoldMove("draft")
    if release.state == "succeeded" or (release.state == "expired" and release.cause_code == NOTHING_TO_DO):
        return HoldMove("end", RELEASED)
    if release.state == "paused":
        return HoldMove("abort")  # an object is not as it was planned: who asks again gets a new plan
    if release.state == "expired" and release.cause_code:
        return HoldMove("tell", release.cause_code)  # why no plan could be made
    return _BEFORE_ITS_END.get(release.state) or HoldMove("tell", f"rollout_{release.state}")
