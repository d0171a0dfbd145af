"""What a worker does next for a campaign, decided on values: what begins, what stops, what waits for whom.

A campaign stops by itself at the first broken promise: a journey that failed, was ended or needs a person to settle its
rollout, a cluster that is unreachable or gone, or one whose release was reverted. It then begins nothing until a person
resumes it. While it is paused, what its journeys do is still noted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from migrations_app.campaigns.recipe import Recipe, person_opens
from migrations_app.campaigns.states import AT_WORK, SETTLED, CampaignState, MemberState

Act = Literal[
    "prepare", "cover", "ask", "start", "resume", "note_running", "finish", "next_hop", "stop", "drop", "halt", "open",
    "complete", "wait",
]  # fmt: skip
"""`prepare` drafts the journey of a cluster's next hop, `cover` gives it the approval of the campaign, `ask` asks
people for it, `start` starts it, `resume` resumes one that was paused with the campaign; `note_running`: it runs
again, or was started by hand, and a later pause of it is not the campaign's; `drop`: its cluster is gone; `halt` pauses
the campaign; `open` opens a wave."""
BROKEN = frozenset({"rollout_paused", "rollout_needs_attention"})
"""What a running journey waits for when its rollout stopped by itself."""
NO_BREACH = frozenset({"asked", "kill_switch", "audit"})
"""Causes of a paused journey that break no promise of its own: a person, the kill switch, the audit log."""


class JourneySeen(msgspec.Struct, frozen=True, kw_only=True):
    """The journey of a cluster's current hop. `differs`: codes of how it differs from what the campaign showed."""

    state: str
    cause_code: str = ""
    wait_code: str = ""
    differs: tuple[str, ...] = ()


class MemberSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster of the campaign. `wave` counts from 0; `ended_at` is when its last hop was verified.

    `left` are the hops that are left after the current journey; `paused_with`: its journey was paused together with the
    campaign; `lost` is the code of what scans show that breaks the promise: unreachable, reverted; `reached`: the
    newest scan shows the release at which the cluster is to end; `gone`: its registration was removed; `held`: another
    journey has it; `cause_code` is why it stopped.
    """

    id: str
    wave: int
    state: MemberState
    region: str = ""
    environment: str = ""
    journey: JourneySeen | None = None
    left: int = 0
    paused_with: bool = False
    ended_at: datetime | None = None
    lost: str = ""
    reached: bool = False
    gone: bool = False
    held: bool = False
    cause_code: str = ""


class WaveSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One wave. `agreed`: a person opened it; `stops`: how often a cluster of it stopped by itself."""

    opened: bool = False
    agreed: bool = False
    stops: int = 0


class CampaignSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the decision rests on. `halts`: the code of what stops every campaign now, such as kill_switch;
    `window`: the change windows of the recipe are open."""

    state: CampaignState
    recipe: Recipe
    members: tuple[MemberSeen, ...]
    waves: tuple[WaveSeen, ...]
    halts: str = ""
    window: bool = True


class CampaignMove(msgspec.Struct, frozen=True):
    """What to do, with which cluster, and the code of why. For `open` and `wait`, `wave` is the one that is meant."""

    do: Act
    member: str = ""
    code: str = ""
    wave: int = 0
    person: bool = False


def next_moves(here: CampaignSeen, *, now: datetime) -> tuple[CampaignMove, ...]:
    """The moves that are due now, in order. Nothing begins behind a stop: those moves come with the next look."""
    noted = tuple(move for member in here.members for move in _noted(member))
    calm = tuple(move for move in noted if move.do != "next_hop")
    if here.state != "running":
        return calm
    if here.halts:
        return (*calm, CampaignMove("halt", code=here.halts))
    working = {member_seen.id for member_seen in at_work(here.members)}
    broken = next((move for move in noted if move.do == "stop" or (move.do == "drop" and move.member in working)), None)
    if broken is not None:
        return (*calm, CampaignMove("halt", member=broken.member, code=broken.code))
    noted_of = {move.member for move in noted}
    stopped = next((member for member in here.members if member.state == "stopped" and member.id not in noted_of), None)
    if stopped is not None:
        # The worker that noted it was killed before the campaign was paused.
        return (*calm, CampaignMove("halt", member=stopped.id, code=stopped.cause_code or "member_stopped"))
    if all(member.state in SETTLED for member in here.members):
        nothing = all(member.state == "out" for member in here.members)
        return (*noted, CampaignMove("complete", code="nothing_done" if nothing else ""))
    return (*noted, *_begun(here), *_waves(here, now=now))


def at_work(members: Sequence[MemberSeen]) -> tuple[MemberSeen, ...]:
    """The clusters that count for the limits."""
    return tuple(member for member in members if member.state in AT_WORK)


def _noted(member_seen: MemberSeen) -> Iterator[CampaignMove]:
    """What became of the journey of a cluster, whether the campaign runs or not."""
    if member_seen.gone and member_seen.state not in SETTLED:
        # One that waits is only left out; one in the middle of its work breaks the promise.
        yield CampaignMove("drop", member_seen.id, "cluster_gone")
        return
    if member_seen.state == "done" and member_seen.lost == "reverted":
        yield CampaignMove("stop", member_seen.id, "reverted")
        return
    if member_seen.state not in AT_WORK or member_seen.journey is None:
        return
    journey = member_seen.journey
    if journey.state == "succeeded" and not member_seen.lost:
        yield CampaignMove("next_hop" if member_seen.left else "finish", member_seen.id, "verified")
        return
    if journey.state == "expired" and journey.cause_code == "no_hop" and member_seen.reached:
        yield CampaignMove("finish", member_seen.id, "reached")
        return
    code = member_seen.lost or broken_code(journey)
    if code and member_seen.state != "stopped":
        yield CampaignMove("stop", member_seen.id, code)
    elif not code and journey.state == "running" and (member_seen.state != "running" or member_seen.paused_with):
        how = "fixed" if member_seen.state == "stopped" else "resumed" if member_seen.paused_with else "started"
        yield CampaignMove("note_running", member_seen.id, how)


def broken_code(journey: JourneySeen) -> str:
    """The code of how the journey broke the promise; empty if it did not."""
    if journey.state == "paused" and journey.cause_code not in NO_BREACH:
        return journey.cause_code or "journey_paused"
    if journey.state in ("aborted", "rejected", "expired"):
        return journey.cause_code if journey.cause_code not in ("", "asked") else f"journey_{journey.state}"
    if journey.state == "running" and journey.wait_code in BROKEN:
        return journey.wait_code
    return ""


def _begun(here: CampaignSeen) -> Iterator[CampaignMove]:
    """What goes on, and what begins within the limits."""
    for member in here.members:
        if member.state in ("preparing", "asking") and member.journey is not None:
            yield from _prepared(member, member.journey, window=here.window)
        if (
            member.state in AT_WORK
            and member.paused_with
            and member.journey is not None
            and member.journey.state == "paused"
        ):
            yield CampaignMove("resume", member.id)
    if not here.window:
        return
    room = FreePlaces(here)
    for member in here.members:
        if (
            member.state == "waiting"
            and here.waves[member.wave].opened
            and not member.held
            and not member.gone
            and room.takes(member)
        ):
            yield CampaignMove("prepare", member.id)


def _prepared(member_seen: MemberSeen, journey: JourneySeen, *, window: bool) -> Iterator[CampaignMove]:
    if journey.state == "previewed":
        yield (
            CampaignMove("ask", member_seen.id, journey.differs[0])
            if journey.differs
            else CampaignMove("cover", member_seen.id)
        )
    elif journey.state == "approved" and window:
        yield CampaignMove("start", member_seen.id)


class FreePlaces:
    """What the limits still allow; every cluster that is taken uses it up."""

    def __init__(self, here: CampaignSeen) -> None:
        self.limits = here.recipe.limits
        busy = at_work(here.members)
        self.all = len(busy)
        self.regions = Counter(member_seen.region for member_seen in busy)
        self.environments = Counter(member_seen.environment for member_seen in busy)

    def takes(self, member_seen: MemberSeen) -> bool:
        """Whether one more may begin; if so it is counted."""
        limits = self.limits
        full = (
            (limits.at_once and self.all >= limits.at_once)
            or (limits.per_region and self.regions[member_seen.region] >= limits.per_region)
            or (limits.per_environment and self.environments[member_seen.environment] >= limits.per_environment)
        )
        if full:
            return False
        self.all += 1
        self.regions[member_seen.region] += 1
        self.environments[member_seen.environment] += 1
        return True


def _waves(here: CampaignSeen, *, now: datetime) -> Iterator[CampaignMove]:
    """Opens the next wave, or says what it waits for."""
    wave = next((number for number, wave_seen in enumerate(here.waves) if not wave_seen.opened), None)
    if wave is None:
        if not here.window:
            yield CampaignMove("wait", code="window")
        return
    code = gate(here, wave=wave, now=now)
    if not code:
        yield CampaignMove("open", wave=wave)
    else:
        yield CampaignMove("wait", code=code, wave=wave, person=code in ("person", "stops"))


def gate(here: CampaignSeen, *, wave: int, now: datetime) -> str:
    """The code of what the wave waits for: verified, soak, stops or person; empty if it may open."""
    before = tuple(member for member in here.members if member.wave < wave)
    if any(member_seen.state not in SETTLED for member_seen in before):
        return "verified"
    last = max((member_seen.ended_at for member_seen in before if member_seen.ended_at is not None), default=None)
    if last is not None and now - last < timedelta(seconds=here.recipe.gates.soak_seconds):
        return "soak"
    seen = here.waves[wave]
    if seen.agreed:
        return ""
    if wave and here.waves[wave - 1].stops > here.recipe.gates.most_stops:
        return "stops"
    return "person" if person_opens(here.recipe.gates, wave=wave) else ""
