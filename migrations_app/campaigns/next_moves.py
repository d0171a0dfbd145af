"""Decides the worker's next moves for a campaign: which clusters begin, which stop, and who has to act.

A campaign pauses itself if a journey failed, was ended or needs a person for its rollout, or if a cluster is
unreachable, gone or back at an earlier release. It then begins nothing until a person resumes it. While it is paused,
results of its journeys are still recorded.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from migrations_app.campaigns.recipe import Recipe, person_opens
from migrations_app.campaigns.states import AT_WORK, SETTLED, CampaignState, MemberState

CampaignMoveKind = Literal[
    "prepare", "cover", "ask", "start", "resume", "note_running", "finish", "next_hop", "stop", "drop", "halt", "open",
    "complete", "wait",
]  # fmt: skip
"""`prepare` drafts the journey of a cluster's next hop, `cover` approves it by the approval of the campaign, `ask`
asks people to approve it, `start` starts it, `resume` resumes one that was paused with the campaign; `note_running`:
it runs again, or was started by hand, so a later pause of it is not the campaign's; `drop`: its cluster is gone;
`halt` pauses the campaign; `open` opens a wave."""
FAILED_WAITS = frozenset({"rollout_paused", "rollout_needs_attention"})
"""What a running journey waits for if its rollout stopped by itself."""
HARMLESS_CAUSES = frozenset({"asked", "kill_switch", "audit"})
"""Causes of a paused journey that are no failure of it: a person, the kill switch, the audit log."""


class JourneyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The journey of a cluster's current hop. `differs`: codes of how it differs from what the campaign showed."""

    state: str
    cause_code: str = ""
    wait_code: str = ""
    differs: tuple[str, ...] = ()


class MemberFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster of the campaign. `wave` counts from 0; `ended_at` is when its last hop was verified.

    `left` is the number of hops after the current journey; `paused_with`: its journey was paused together with the
    campaign; `lost` is the code if scans show it unreachable or reverted; `reached`: the newest scan shows the release
    at which the cluster is to end; `gone`: its registration was removed; `held`: another journey has it; `cause_code`
    is why it stopped.
    """

    id: str
    wave: int
    state: MemberState
    region: str = ""
    environment: str = ""
    journey: JourneyFacts | None = None
    left: int = 0
    paused_with: bool = False
    ended_at: datetime | None = None
    lost: str = ""
    reached: bool = False
    gone: bool = False
    held: bool = False
    cause_code: str = ""


class WaveFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One wave. `agreed`: a person opened it; `stops`: how many times a cluster of it stopped by itself."""

    opened: bool = False
    agreed: bool = False
    stops: int = 0


class CampaignFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts behind the decision. `halts`: the code of what stops every campaign now, such as kill_switch;
    `window`: the change windows of the recipe are open."""

    state: CampaignState
    recipe: Recipe
    members: tuple[MemberFacts, ...]
    waves: tuple[WaveFacts, ...]
    halts: str = ""
    window: bool = True


class CampaignMove(msgspec.Struct, frozen=True):
    """What to do, with which cluster, and the code of the reason. `wave` is set for `open` and `wait`."""

    do: CampaignMoveKind
    member: str = ""
    code: str = ""
    wave: int = 0
    person: bool = False


def next_moves(campaign: CampaignFacts, *, now: datetime) -> tuple[CampaignMove, ...]:
    """Returns the moves that are due now, in order. After a move that pauses the campaign, nothing new begins."""
    results = tuple(move for member in campaign.members for move in _results_of(member))
    results_without_next_hop = tuple(move for move in results if move.do != "next_hop")
    if campaign.state != "running":
        return results_without_next_hop
    if campaign.halts:
        return (*results_without_next_hop, CampaignMove("halt", code=campaign.halts))
    working = {member_facts.id for member_facts in working_members(campaign.members)}
    failure = next(
        (move for move in results if move.do == "stop" or (move.do == "drop" and move.member in working)), None
    )
    if failure is not None:
        return (*results_without_next_hop, CampaignMove("halt", member=failure.member, code=failure.code))
    members_with_result = {move.member for move in results}
    stopped = next(
        (member for member in campaign.members if member.state == "stopped" and member.id not in members_with_result),
        None,
    )
    if stopped is not None:
        # The worker that recorded the stop was killed before it paused the campaign.
        return (
            *results_without_next_hop,
            CampaignMove("halt", member=stopped.id, code=stopped.cause_code or "member_stopped"),
        )
    if all(member.state in SETTLED for member in campaign.members):
        nothing = all(member.state == "out" for member in campaign.members)
        return (*results, CampaignMove("complete", code="nothing_done" if nothing else ""))
    return (*results, *_continued_and_begun(campaign), *_waves(campaign, now=now))


def working_members(members: Sequence[MemberFacts]) -> tuple[MemberFacts, ...]:
    """Returns the clusters that count for the limits."""
    return tuple(member for member in members if member.state in AT_WORK)


def _results_of(member_facts: MemberFacts) -> Iterator[CampaignMove]:
    """Yields what became of the journey of a cluster; recorded also while the campaign is paused."""
    if member_facts.gone and member_facts.state not in SETTLED:
        # The removal of a waiting cluster is harmless; that of a cluster in work pauses the campaign.
        yield CampaignMove("drop", member_facts.id, "cluster_gone")
        return
    if member_facts.state == "done" and member_facts.lost == "reverted":
        yield CampaignMove("stop", member_facts.id, "reverted")
        return
    if member_facts.state not in AT_WORK or member_facts.journey is None:
        return
    journey = member_facts.journey
    if journey.state == "succeeded" and not member_facts.lost:
        yield CampaignMove("next_hop" if member_facts.left else "finish", member_facts.id, "verified")
        return
    if journey.state == "expired" and journey.cause_code == "no_hop" and member_facts.reached:
        yield CampaignMove("finish", member_facts.id, "reached")
        return
    code = member_facts.lost or failure_code(journey)
    if code and member_facts.state != "stopped":
        yield CampaignMove("stop", member_facts.id, code)
    elif not code and journey.state == "running" and (member_facts.state != "running" or member_facts.paused_with):
        how = "fixed" if member_facts.state == "stopped" else "resumed" if member_facts.paused_with else "started"
        yield CampaignMove("note_running", member_facts.id, how)


def failure_code(journey: JourneyFacts) -> str:
    """Returns the code of the journey's failure; empty if it did not fail."""
    if journey.state == "paused" and journey.cause_code not in HARMLESS_CAUSES:
        return journey.cause_code or "journey_paused"
    if journey.state in ("aborted", "rejected", "expired"):
        return journey.cause_code if journey.cause_code not in ("", "asked") else f"journey_{journey.state}"
    if journey.state == "running" and journey.wait_code in FAILED_WAITS:
        return journey.wait_code
    return ""


def _continued_and_begun(campaign: CampaignFacts) -> Iterator[CampaignMove]:
    """Yields the journeys that continue, and those that begin within the limits."""
    for member in campaign.members:
        if member.state in ("preparing", "asking") and member.journey is not None:
            yield from _prepared(member, member.journey, window=campaign.window)
        if (
            member.state in AT_WORK
            and member.paused_with
            and member.journey is not None
            and member.journey.state == "paused"
        ):
            yield CampaignMove("resume", member.id)
    if not campaign.window:
        return
    room = FreePlaces(campaign)
    for member in campaign.members:
        if (
            member.state == "waiting"
            and campaign.waves[member.wave].opened
            and not member.held
            and not member.gone
            and room.takes(member)
        ):
            yield CampaignMove("prepare", member.id)


def _prepared(member_facts: MemberFacts, journey: JourneyFacts, *, window: bool) -> Iterator[CampaignMove]:
    if journey.state == "previewed":
        yield (
            CampaignMove("ask", member_facts.id, journey.differs[0])
            if journey.differs
            else CampaignMove("cover", member_facts.id)
        )
    elif journey.state == "approved" and window:
        yield CampaignMove("start", member_facts.id)


class FreePlaces:
    """How many more clusters the limits allow to begin."""

    def __init__(self, campaign: CampaignFacts) -> None:
        self.limits = campaign.recipe.limits
        busy = working_members(campaign.members)
        self.all = len(busy)
        self.regions = Counter(member_facts.region for member_facts in busy)
        self.environments = Counter(member_facts.environment for member_facts in busy)

    def takes(self, member_facts: MemberFacts) -> bool:
        """Returns whether one more cluster may begin; if so, counts it."""
        limits = self.limits
        full = (
            (limits.at_once and self.all >= limits.at_once)
            or (limits.per_region and self.regions[member_facts.region] >= limits.per_region)
            or (limits.per_environment and self.environments[member_facts.environment] >= limits.per_environment)
        )
        if full:
            return False
        self.all += 1
        self.regions[member_facts.region] += 1
        self.environments[member_facts.environment] += 1
        return True


def _waves(campaign: CampaignFacts, *, now: datetime) -> Iterator[CampaignMove]:
    """Yields the move that opens the next wave, or says what it waits for."""
    wave = next((number for number, wave_seen in enumerate(campaign.waves) if not wave_seen.opened), None)
    if wave is None:
        if not campaign.window:
            yield CampaignMove("wait", code="window")
        return
    code = gate(campaign, wave=wave, now=now)
    if not code:
        yield CampaignMove("open", wave=wave)
    else:
        yield CampaignMove("wait", code=code, wave=wave, person=code in ("person", "stops"))


def gate(campaign: CampaignFacts, *, wave: int, now: datetime) -> str:
    """Returns the code of what the wave waits for: verified, soak, stops or person; empty if it may open."""
    earlier_members = tuple(member for member in campaign.members if member.wave < wave)
    if any(member_facts.state not in SETTLED for member_facts in earlier_members):
        return "verified"
    last_end = max(
        (member_facts.ended_at for member_facts in earlier_members if member_facts.ended_at is not None), default=None
    )
    if last_end is not None and now - last_end < timedelta(seconds=campaign.recipe.gates.soak_seconds):
        return "soak"
    wave_seen = campaign.waves[wave]
    if wave_seen.agreed:
        return ""
    if wave and campaign.waves[wave - 1].stops > campaign.recipe.gates.most_stops:
        return "stops"
    return "person" if person_opens(campaign.recipe.gates, wave=wave) else ""
