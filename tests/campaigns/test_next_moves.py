"""The decisions of a campaign under every order of events: limits, gates and stops hold whatever happens."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.campaigns.burn_up import burn_up
from migrations_app.campaigns.next_moves import (
    CampaignFacts,
    CampaignMove,
    JourneyFacts,
    MemberFacts,
    WaveFacts,
    gate,
    next_moves,
    working_members,
)
from migrations_app.campaigns.recipe import ALL_REMAINING, Gates, Limits, Recipe, Selection, WaveCandidate, in_waves
from migrations_app.campaigns.states import AT_WORK, CAMPAIGN_STATES, CAMPAIGN_TRANSITIONS, MEMBER_TRANSITIONS, SETTLED

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
replace = msgspec.structs.replace
RECIPES = st.builds(
    Recipe,
    selection=st.just(Selection()),
    waves=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    limits=st.builds(
        Limits, at_once=st.integers(1, 4), per_region=st.integers(0, 2), per_environment=st.integers(0, 3)
    ),
    gates=st.builds(
        Gates,
        soak_seconds=st.sampled_from((0, 600)),
        person=st.sampled_from(("never", "first", "every")),
        most_stops=st.integers(0, 2),
    ),
)
CLUSTERS = st.lists(
    st.builds(
        WaveCandidate,
        id=st.just(""),
        name=st.just(""),
        environment=st.sampled_from(("dev", "prod")),
        nodes=st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


class Stage:
    """A campaign that really makes the moves, as the use cases do, and checks what must hold at each of them."""

    def __init__(self, recipe: Recipe, clusters: list[WaveCandidate]) -> None:
        named = [replace(one, id=str(number), name=f"c{number}") for number, one in enumerate(clusters)]
        where = {pk: wave for wave, ids in enumerate(in_waves(named, recipe)) for pk in ids}
        self.now = NOW
        self.broken = False
        self.here = CampaignFacts(
            state="running",
            recipe=recipe,
            members=tuple(
                MemberFacts(
                    id=one.id, wave=where[one.id], state="waiting", environment=one.environment,
                    region="" if one.nodes else "eu", left=1 + one.nodes % 2,
                )
                for one in named
            ),
            waves=tuple(WaveFacts() for _ in set(where.values())),
        )  # fmt: skip

    def look(self) -> None:
        for move in next_moves(self.here, now=self.now):
            self.make(move)

    def make(self, move: CampaignMove) -> None:
        if move.do == "halt":
            self.here = replace(self.here, state="paused")
        elif move.do == "complete":
            assert all(one.state in SETTLED for one in self.here.members)
            self.here = replace(self.here, state="succeeded")
        elif move.do == "open":
            self.opened(move.wave)
        elif move.do != "wait":
            self.change(move)

    def opened(self, wave: int) -> None:
        before = [one for one in self.here.members if one.wave < wave]
        assert all(one.state in SETTLED for one in before)
        ends = [one.ended_at for one in before if one.ended_at]
        soak = timedelta(seconds=self.here.recipe.gates.soak_seconds)
        assert not ends or self.now - max(ends) >= soak
        gates, seen = self.here.recipe.gates, self.here.waves
        asks = wave > 0 and (gates.person == "every" or (gates.person == "first" and wave == 1))
        stops = wave > 0 and seen[wave - 1].stops > gates.most_stops
        assert seen[wave].agreed or not (asks or stops)
        self.wave(wave, opened=True)

    def change(self, move: CampaignMove) -> None:
        one = self.of(move.member)
        then = {
            "prepare": "preparing", "next_hop": "preparing", "cover": "preparing", "ask": "asking", "start": "running",
            "note_running": "running", "finish": "done", "stop": "stopped", "drop": "out",
        }[move.do]  # fmt: skip
        assert then == one.state or then in MEMBER_TRANSITIONS[one.state]
        if move.do in ("prepare", "next_hop", "cover", "start", "ask"):
            assert self.here.state == "running"
            assert not self.broken
        made, changes = one.journey, {}
        if move.do in ("prepare", "next_hop"):
            assert self.here.waves[one.wave].opened
            made, changes = JourneyFacts(state="previewed"), {"left": one.left - 1}
        elif move.do == "cover":
            made = JourneyFacts(state="approved")
        elif move.do == "ask":
            made = JourneyFacts(state="awaiting_approval")
        elif move.do == "start":
            made = JourneyFacts(state="running")
        elif move.do == "finish":
            changes = {"ended_at": self.now}
        elif move.do == "stop":
            self.broken = True
            self.wave(one.wave, stops=self.here.waves[one.wave].stops + 1)
        self.set(one, state=then, journey=made, **changes)
        self.within_limits()

    def within_limits(self) -> None:
        limits, busy = self.here.recipe.limits, working_members(self.here.members)
        assert len(busy) <= limits.at_once
        for most, counts in (
            (limits.per_region, Counter(one.region for one in busy)),
            (limits.per_environment, Counter(one.environment for one in busy)),
        ):
            assert not most or max(counts.values(), default=0) <= most

    def happens(self, what: str, at: int) -> None:
        """Something from outside: time, a journey's own progress, people, a cluster that goes."""
        one = self.here.members[at % len(self.here.members)]
        made = one.journey
        if what == "time":
            self.now += timedelta(seconds=400)
        elif what == "agree":
            number = next((n for n, wave in enumerate(self.here.waves) if not wave.opened), None)
            if number is not None:
                self.wave(number, agreed=True)
        elif what == "gone":
            self.set(one, gone=True)
        elif what == "unreachable" and one.state in AT_WORK:
            self.set(one, lost="" if one.lost else "unreachable")
        elif what == "resume" and self.here.state == "paused":
            self.settle()
        elif made is not None and one.state in AT_WORK:
            self.journey(one, made, what)

    def journey(self, one: MemberFacts, made: JourneyFacts, what: str) -> None:
        follows = {
            ("succeed", "running"): "succeeded", ("fail", "running"): "paused", ("abort", "running"): "aborted",
            ("approve", "awaiting_approval"): "approved",
        }  # fmt: skip
        if then := follows.get((what, made.state)):
            self.set(one, journey=JourneyFacts(state=then, cause_code="not_seen" if then == "paused" else ""))

    def settle(self) -> None:
        """A person takes out what is stopped, and resumes."""
        for one in self.here.members:
            if one.state == "stopped":
                self.set(one, state="out")
        self.here, self.broken = replace(self.here, state="running"), False

    def of(self, pk: str) -> MemberFacts:
        return next(one for one in self.here.members if one.id == pk)

    def set(self, one: MemberFacts, **changes: object) -> None:
        members = tuple(replace(each, **changes) if each.id == one.id else each for each in self.here.members)
        self.here = replace(self.here, members=members)

    def wave(self, number: int, **changes: object) -> None:
        waves = tuple(replace(one, **changes) if n == number else one for n, one in enumerate(self.here.waves))
        self.here = replace(self.here, waves=waves)


EVENTS = st.tuples(
    st.sampled_from(
        ("time", "agree", "gone", "unreachable", "resume", "succeed", "succeed", "fail", "abort", "approve")
    ),
    st.integers(0, 7),
)


@settings(max_examples=300, deadline=None)
@given(recipe=RECIPES, clusters=CLUSTERS, events=st.lists(EVENTS, max_size=40))
def test_limits_gates_and_stops_hold_whatever_happens(recipe, clusters, events):
    stage = Stage(recipe, clusters)
    for what, at in events:
        stage.look()
        stage.happens(what, at)
    stage.look()


@settings(max_examples=60, deadline=None)
@given(recipe=RECIPES, clusters=CLUSTERS)
def test_where_everything_goes_well_it_comes_to_its_end(recipe, clusters):
    stage = Stage(recipe, clusters)
    for _ in range(200):
        stage.look()
        for at in range(len(clusters)):
            stage.happens("succeed", at)
        stage.happens("agree", 0)
        stage.happens("time", 0)
    assert stage.here.state == "succeeded"
    assert {one.state for one in stage.here.members} == {"done"}


@given(recipe=RECIPES, clusters=CLUSTERS)
def test_every_cluster_is_in_one_wave(recipe, clusters):
    named = [replace(one, id=str(number), name=f"c{number}") for number, one in enumerate(clusters)]
    waves = in_waves(named, recipe)
    assert sorted(pk for wave in waves for pk in wave) == sorted(one.id for one in named)
    assert all(waves)
    for size, wave in zip(recipe.waves, waves, strict=False):
        if 0 in recipe.waves[: recipe.waves.index(size) + 1]:
            break
        assert len(wave) <= size


def test_first_environments_and_small_clusters_come_first():
    recipe = Recipe(selection=Selection(), waves=(1, 2, ALL_REMAINING), order=("dev", "staging"))
    clusters = [
        WaveCandidate(id=name, name=name, environment=environment, nodes=nodes)
        for name, environment, nodes in (
            ("shop", "production", 2),
            ("lab", "dev", 30),
            ("try", "dev", 3),
            ("pre", "staging", 9),
            ("pay", "", 1),
        )
    ]
    assert in_waves(clusters, recipe) == (("try",), ("lab", "pre"), ("pay", "shop"))


def running(**member: object) -> CampaignFacts:
    one = MemberFacts(**({"id": "a", "wave": 0, "state": "running"} | member))
    other = MemberFacts(id="b", wave=0, state="waiting")
    recipe = Recipe(selection=Selection())
    return CampaignFacts(state="running", recipe=recipe, members=(one, other), waves=(WaveFacts(opened=True),))


@pytest.mark.parametrize(
    ("journey", "code"),
    [
        ({"state": "paused", "cause_code": "not_seen"}, "not_seen"),
        ({"state": "paused"}, "journey_paused"),
        ({"state": "aborted", "cause_code": "asked"}, "journey_aborted"),
        ({"state": "expired", "cause_code": "cluster_changed"}, "cluster_changed"),
        ({"state": "expired", "cause_code": "no_hop"}, "no_hop"),
        ({"state": "rejected"}, "journey_rejected"),
        ({"state": "running", "wait_code": "rollout_needs_attention"}, "rollout_needs_attention"),
    ],
)
def test_what_breaks_the_promise_stops_the_campaign(journey, code):
    moves = next_moves(running(journey=JourneyFacts(**journey)), now=NOW)
    assert moves == (CampaignMove("stop", "a", code), CampaignMove("halt", "a", code))


@pytest.mark.parametrize(("cause", "code"), [("not_seen", "not_seen"), ("", "member_stopped")])
def test_one_that_was_noted_by_a_worker_that_died_halts_it_for_its_own_cause(cause, code):  # R02
    journey = JourneyFacts(state="paused", cause_code=cause)
    moves = next_moves(running(state="stopped", cause_code=cause, journey=journey), now=NOW)
    assert moves == (CampaignMove("halt", "a", code),)


@pytest.mark.parametrize("cause", ["asked", "kill_switch", "audit"])
def test_what_people_and_the_kill_switch_pause_breaks_none(cause):
    moves = next_moves(running(journey=JourneyFacts(state="paused", cause_code=cause)), now=NOW)
    assert moves == (CampaignMove("prepare", "b"),)


def test_nothing_to_do_is_done_only_where_the_release_is_seen():
    made = JourneyFacts(state="expired", cause_code="no_hop")
    assert next_moves(running(journey=made, reached=True), now=NOW)[0] == CampaignMove("finish", "a", "reached")


def test_behind_the_kill_switch_and_outside_of_its_windows_nothing_begins():
    here = running(journey=JourneyFacts(state="running"))
    assert next_moves(replace(here, halts="kill_switch"), now=NOW) == (CampaignMove("halt", code="kill_switch"),)
    assert next_moves(replace(here, window=False), now=NOW) == (CampaignMove("wait", code="window"),)
    assert next_moves(replace(here, state="paused"), now=NOW) == ()


def test_the_gate_tells_what_it_waits_for():
    gates = Gates(soak_seconds=600, person="every", most_stops=0)
    done = MemberFacts(id="a", wave=0, state="done", ended_at=NOW - timedelta(seconds=599))
    here = CampaignFacts(
        state="running", recipe=Recipe(selection=Selection(), gates=gates),
        members=(done, MemberFacts(id="b", wave=1, state="waiting")),
        waves=(WaveFacts(opened=True, stops=1), WaveFacts()),
    )  # fmt: skip
    assert gate(replace(here, members=(replace(done, state="running"), here.members[1])), wave=1, now=NOW) == "verified"
    assert gate(here, wave=1, now=NOW) == "soak"
    later = NOW + timedelta(seconds=1)
    assert gate(here, wave=1, now=later) == "stops"
    calm = replace(here, waves=(WaveFacts(opened=True), WaveFacts()))
    assert gate(calm, wave=1, now=later) == "person"
    assert gate(replace(here, waves=(here.waves[0], WaveFacts(agreed=True))), wave=1, now=later) == ""


def test_ended_campaigns_stay_ended():
    over = [state for state in CAMPAIGN_STATES if not CAMPAIGN_TRANSITIONS[state]]
    assert over == ["succeeded", "aborted", "rejected", "expired"]


def test_the_burn_up_projects_an_end_from_the_pace_so_far():
    ended = [NOW + timedelta(minutes=30), NOW + timedelta(minutes=60)]
    found = burn_up(began=NOW, ended=ended, total=4, now=NOW + timedelta(minutes=60))
    assert [(one.at, one.done) for one in found.points] == [(NOW, 0), (ended[0], 1), (ended[1], 2)]
    assert found.ends == NOW + timedelta(minutes=120)
    assert burn_up(began=NOW, ended=ended[:1], total=4, now=ended[1]).ends is None
    assert burn_up(began=NOW, ended=ended, total=2, now=ended[1]).ends is None
    assert burn_up(began=None, ended=[], total=2, now=NOW).points == ()
