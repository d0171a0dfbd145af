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


def _holding(made: RolloutSeen | None) -> HoldMove:
    if made is None or (made.state == "expired" and made.cause_code in ANEW):
        return HoldMove("draft")
    if made.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", made.cause_code or made.state)
    if made.state in ("failed", "aborted"):
        return HoldMove("tell", f"rollout_{made.state}")  # a part of the NodePools may be held: a person restores
    return HoldMove("wait", HELD) if made.state == "succeeded" else _BEFORE_ITS_END[made.state]


def _releasing(here: HoldSeen) -> HoldMove:
    held = here.hold
    if held is None or held.state in ("expired", "rejected", "rolled_back"):
        return HoldMove("end", RELEASED)
    if held.state in PLANNED:
        return HoldMove("withdraw", RELEASED)
    if held.state == "paused":
        return HoldMove("abort")  # what it held so far is restored
    if held.state in ("running", "rolling_back", "needs_attention"):
        return _BEFORE_ITS_END[held.state]
    made = here.release
    if made is None or (made.state == "expired" and made.cause_code in ANEW):
        return HoldMove("draft")
    if made.state == "succeeded" or (made.state == "expired" and made.cause_code == NOTHING_TO_DO):
        return HoldMove("end", RELEASED)
    if made.state == "paused":
        return HoldMove("abort")  # an object is not as it was planned: who asks again gets a new plan
    if made.state == "expired" and made.cause_code:
        return HoldMove("tell", made.cause_code)  # why no plan could be made
    return _BEFORE_ITS_END.get(made.state) or HoldMove("tell", f"rollout_{made.state}")
