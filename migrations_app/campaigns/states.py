"""The states of a campaign and of its clusters, and the allowed transitions."""

from typing import Literal, get_args

CampaignState = Literal[
    "draft",
    "previewed",
    "awaiting_approval",
    "approved",
    "running",
    "paused",
    "succeeded",
    "aborted",
    "rejected",
    "expired",
]
CAMPAIGN_STATES: tuple[CampaignState, ...] = get_args(CampaignState)
CAMPAIGN_TRANSITIONS: dict[CampaignState, frozenset[CampaignState]] = {
    "draft": frozenset({"previewed", "expired"}),
    "previewed": frozenset({"awaiting_approval", "expired"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired"}),
    "approved": frozenset({"awaiting_approval", "running", "rejected", "expired"}),
    "running": frozenset({"paused", "succeeded", "aborted"}),
    "paused": frozenset({"running", "aborted"}),
    "succeeded": frozenset(),
    "aborted": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
}
"""A withdrawn approval leads from `approved` back to `awaiting_approval`."""
UNSTARTED: frozenset[CampaignState] = frozenset({"draft", "previewed", "awaiting_approval", "approved"})
UNDER_WAY: frozenset[CampaignState] = frozenset({"running", "paused"})
CLAIMING: frozenset[CampaignState] = frozenset({"awaiting_approval", "approved", "running", "paused"})
"""States in which a campaign claims its clusters: they cannot join another one."""
OVER_STATES: frozenset[CampaignState] = frozenset(state for state, after in CAMPAIGN_TRANSITIONS.items() if not after)

MemberState = Literal["waiting", "preparing", "asking", "running", "stopped", "done", "out"]
"""waiting for its turn; preparing: its journey is previewed; asking: its journey needs an approval of its own; running;
stopped by itself; done; out: not part of the campaign, or not any more."""
MEMBER_STATES: tuple[MemberState, ...] = get_args(MemberState)
AT_WORK: frozenset[MemberState] = frozenset({"preparing", "asking", "running", "stopped"})
"""States that count for the limits. A stopped cluster counts, because it is halfway and a person works on it."""
SETTLED: frozenset[MemberState] = frozenset({"done", "out"})
MEMBER_TRANSITIONS: dict[MemberState, frozenset[MemberState]] = {
    "waiting": frozenset({"preparing", "done", "out"}),
    "preparing": frozenset({"asking", "running", "stopped", "done", "out"}),
    "asking": frozenset({"running", "stopped", "out"}),
    "running": frozenset({"preparing", "stopped", "done", "out"}),
    "stopped": frozenset({"waiting", "preparing", "asking", "running", "done", "out"}),
    "done": frozenset({"stopped"}),
    "out": frozenset(),
}
"""From `done` to `stopped`: a later scan no longer shows the release."""
