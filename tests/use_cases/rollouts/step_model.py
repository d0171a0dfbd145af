"""A model of two workers at one step, explored completely: crashes, lost leases and late requests in every
order (A15).

It mirrors execution/steps.py and use_cases/rollouts/attempts.py; the standing of a step comes from
actions/states.py. `without` names guards that are removed, to show that each is needed.
"""

from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits, Step
from migrations_app.actions.states import Position, current_position
from tests.use_cases.rollouts.building import creating

Guard = Literal["precondition", "token", "intent_first", "look_first", "settle_by_reading", "doubt"]
WORKERS, CRASHES, LOSSES, BEATS, ATTEMPTS = 2, 2, 1, 1, 3
NOBODY, NO_ANSWER = -1, -1
ROW = Step(id="s001", title="Create", change=creating().change)
PLAN = Plan(
    action="test",
    title="Test",
    parameters={},
    cluster="",
    identity=ClusterIdentity(kube_system_uid="", ca="", endpoint=""),
    steps=(ROW,),
    limits=RolloutLimits(),
    forecast=Forecast(),
    author="",
    snapshot="",
    policy=1,
)


class Line(NamedTuple):
    """One line of the journal."""

    outcome: str
    step: str = "s001"
    verb: str = "create"


class Worker(NamedTuple):
    """`rv` and `brought` are what it read; `attempt` is its current line; `holds`: its fencing token is that of the
    lease.
    """

    at: str = "idle"
    holds: bool = False
    rv: int = 0
    brought: bool = False
    attempt: int = NOBODY
    answer: int = 0


class Letter(NamedTuple):
    """A request on its way. It may arrive long after its sender has ended."""

    attempt: int
    rv: int
    sender: int


class State(NamedTuple):
    """Cluster, database, requests and workers at one moment; `wrong` names an invariant that was just broken.

    `taken`: a worker has the lease, dead or alive.
    """

    rv: int = 0
    brought: bool = False
    effects: int = 0
    taken: bool = False
    lines: tuple[Line, ...] = ()
    wire: frozenset[Letter] = frozenset()
    workers: tuple[Worker, ...] = (Worker(),) * WORKERS
    crashes: int = CRASHES
    losses: int = LOSSES
    beats: int = BEATS
    wrong: str = ""


class Explored(NamedTuple):
    """The number of states, the number of final ones, and the broken invariants."""

    states: int
    done: int
    wrong: frozenset[str]


def explore(*, without: frozenset[Guard] = frozenset(), until: str = "") -> Explored:
    """Visits every reachable state; with `until`, stops once that invariant is broken."""
    first = State()
    known, todo, wrong, done = {first}, deque([first]), set(), 0
    while todo:
        state = todo.popleft()
        broken = state.wrong or _lost(state)
        if broken:
            wrong.add(broken)
            if broken == until:
                break
            continue
        done += _place(state.lines) is None
        for after in map(_normal, _successors(state, without)):
            if after not in known:
                known.add(after)
                todo.append(after)
    return Explored(len(known), done, frozenset(wrong))


def _normal(state: State) -> State:
    """Returns one representative of states that differ only in irrelevant details."""
    waits = {(number, one.attempt) for number, one in enumerate(state.workers) if one.at == "waiting"}
    wire = frozenset(one if (one.sender, one.attempt) in waits else one._replace(sender=NOBODY) for one in state.wire)
    if state.workers[0] > state.workers[1]:
        swapped = frozenset(one if one.sender == NOBODY else one._replace(sender=1 - one.sender) for one in wire)
        return state._replace(workers=state.workers[::-1], wire=swapped)
    return state._replace(wire=wire)


@cache
def _place(lines: tuple[Line, ...]) -> Position | None:
    """Returns the standing of the step; None when it is done, apart from gates."""
    here = current_position(PLAN, lines)
    return None if here is None or here.phase == "gate" else here


def _lost(state: State) -> str:
    """Returns the broken invariant if the journal of a finished step lost what was done to the cluster; else empty."""
    if _place(state.lines) is not None:
        return ""
    known = any(line.outcome == "applied" for line in state.lines)
    return "" if known and state.effects else "nothing lost"


def _successors(state: State, without: frozenset[Guard]) -> Iterator[State]:
    yield from _around(state, without)
    for number, worker in enumerate(state.workers):
        if state.crashes and worker.at not in ("idle", "over"):
            yield _left(state, number, "idle")._replace(crashes=state.crashes - 1)
        yield from _works(state, number, without)


def _around(state: State, without: frozenset[Guard]) -> Iterator[State]:
    """Yields what happens without a worker: a lease ends, another client writes, a request arrives."""
    if state.losses and state.taken:
        lost = tuple(one._replace(holds=False) for one in state.workers)
        yield state._replace(taken=False, workers=lost, losses=state.losses - 1)
    if state.beats and not state.effects:
        yield state._replace(rv=state.rv + 1, beats=state.beats - 1)
    for letter in state.wire:
        yield _delivered(state, letter, without)


def _delivered(state: State, letter: Letter, without: frozenset[Guard]) -> State:
    taken = "precondition" in without or letter.rv == state.rv
    after = state._replace(wire=state.wire - {letter})
    if taken:
        wrong = "no double effect" if state.effects else ""
        if letter.attempt >= len(state.lines):
            wrong = wrong or "no effect without intent"
        after = after._replace(rv=state.rv + 1, brought=True, effects=state.effects + 1, wrong=wrong)
    if letter.sender == NOBODY:
        return after
    return _with(
        after, letter.sender, state.workers[letter.sender]._replace(at="answered", answer=200 if taken else 409)
    )


def _works(state: State, number: int, without: frozenset[Guard]) -> Iterator[State]:
    worker = state.workers[number]
    match worker.at:
        case "idle":
            if not state.taken:
                yield _with(state, number, Worker(at="works", holds=True))._replace(taken=True)
        case "works":
            yield _looks(state, number)
        case "read":
            yield _decides(state, number, without)
        case "settles":
            yield _settled(state, number, without)
        case "intends":
            yield _intended(state, number, without)
        case "sends":
            yield _sent(state, number, without)
        case "waiting":
            yield _with(state, number, worker._replace(at="answered", answer=NO_ANSWER))
        case "answered":
            yield _concluded(state, number, without)


def _looks(state: State, number: int) -> State:
    """Reads the journal, and then the object."""
    here, worker = _place(state.lines), state.workers[number]
    if here is None:
        return _left(state, number, "over")
    read = worker._replace(rv=state.rv, brought=state.brought, attempt=len(state.lines) - 1)
    return _with(state, number, read._replace(at="settles" if here.phase == "settle" else "read"))


def _decides(state: State, number: int, without: frozenset[Guard]) -> State:
    worker, here = state.workers[number], _place(state.lines)
    if worker.brought and "look_first" not in without:
        doubt = here is not None and here.in_doubt and "doubt" not in without
        line = Line("applied" if doubt else "noop")
        return _written(state, number, (*state.lines, line), then="works", without=without)
    if len(state.lines) >= ATTEMPTS:
        return _left(state, number, "over")
    at = "sends" if "intent_first" in without else "intends"
    return _with(state, number, worker._replace(at=at, attempt=len(state.lines)))


def _intended(state: State, number: int, without: frozenset[Guard]) -> State:
    then = "waiting" if "intent_first" in without else "sends"
    return _written(state, number, (*state.lines, Line("")), then=then, without=without)


def _sent(state: State, number: int, without: frozenset[Guard]) -> State:
    worker = state.workers[number]
    letter = Letter(worker.attempt, worker.rv, number)
    then = "intends" if "intent_first" in without else "waiting"
    return _with(state, number, worker._replace(at=then))._replace(wire=state.wire | {letter})


def _settled(state: State, number: int, without: frozenset[Guard]) -> State:
    """Settles the outcome by reading: the change is there, or the request counts as lost after so much time, though it
    may still come.
    """
    worker = state.workers[number]
    applied = worker.brought or "settle_by_reading" in without
    lines = _judged(state.lines, worker.attempt, Line("applied" if applied else "not_applied"))
    return _written(state, number, lines, then="works", without=without)


def _concluded(state: State, number: int, without: frozenset[Guard]) -> State:
    worker = state.workers[number]
    word = {200: "applied", 409: "refused", NO_ANSWER: "unknown"}[worker.answer]
    if worker.attempt >= len(state.lines) or state.lines[worker.attempt].outcome not in ("", "unknown"):
        return _left(state, number, "idle")  # settled by somebody else meanwhile
    lines = _judged(state.lines, worker.attempt, Line(word))
    return _written(state, number, lines, then="works", without=without)


def _written(state: State, number: int, lines: tuple[Line, ...], *, then: str, without: frozenset[Guard]) -> State:
    """Writes to the journal: with the fencing token of the lease in the same transaction, or not at all (A14)."""
    worker = state.workers[number]
    if not worker.holds and "token" not in without:
        return _with(state, number, Worker())
    wrong = "" if worker.holds else "no journal write by a stale holder"
    goes_on = Worker(at=then, holds=worker.holds) if then == "works" else worker._replace(at=then)
    return _with(state, number, goes_on)._replace(lines=lines, wrong=wrong)


def _judged(lines: tuple[Line, ...], attempt: int, line: Line) -> tuple[Line, ...]:
    return (*lines[:attempt], line, *lines[attempt + 1 :])


def _left(state: State, number: int, at: str) -> State:
    """Ends a worker's work: it gives back its lease, or dies and the lease ends by time."""
    return _with(state, number, Worker(at=at))._replace(taken=state.taken and not state.workers[number].holds)


def _with(state: State, number: int, worker: Worker) -> State:
    return state._replace(workers=(*state.workers[:number], worker, *state.workers[number + 1 :]))
