"""Workers killed at every named point of a rollout, a journey and a campaign, and people who start at the same moment
(R02, R08, A25)."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from migrations_app.use_cases.rollouts import journal
from tests.actions import charts
from tests.builders.newest import NEWEST
from tests.servers.apiserver import ApiServer
from tests.servers.processes import discard, folder
from tests.trust.parts import Part
from tests.use_cases.campaigns.walk import CAMPAIGN_WORKER, ELSEWHERE, Walk
from tests.use_cases.rollouts.killing import VERBS, effects, step
from tests.use_cases.rollouts.workers import KILLED, WorkerProcesses, worker_processes

AT_ONCE = 8
"""Rollouts whose workers run side by side."""
TWICE = 2
"""How often the workers of one rollout are killed before one may end it."""
EVERY = ["s001", "s002", "s003", "s004"]


@contextmanager
def _people() -> Iterator[tuple[WorkerProcesses, ApiServer]]:
    """Worker processes with a database of their own, and a real API server, whose audit log is compared."""
    server, place = ApiServer(), folder("trust")
    try:
        with worker_processes(server, place) as workers:
            workers.mark = server.audit_mark()
            yield workers, server
    finally:
        discard(place)
        server.stop()


def killed_workers(count: int, dice: random.Random) -> Sequence[str]:
    """That many kills, two for each rollout of four steps: each step took effect once, with an intent before it."""
    told: list[str] = []
    with _people() as (workers, server):
        while len(told) < count:
            rollouts = min(AT_ONCE, -(-(count - len(told)) // TWICE))
            told += _round(workers, server, count=rollouts, first=len(told), dice=dice)
        if workers.ask("chain") is not True:
            told[-1] = told[-1] or "the audit log has a gap"
    return told[:count]


def _round(workers: WorkerProcesses, server: ApiServer, *, count: int, first: int, dice: random.Random) -> list[str]:
    rows = [
        workers.rollout(*(step(server, verb, f"{verb}-{first}-{number}") for verb in dice.sample(VERBS, len(VERBS))))
        for number in range(count)
    ]
    points = journal.CRASH_POINTS[:-1]
    ends = []
    for _ in range(TWICE):
        pids = [workers.start(row, dice.choice(points), dice.randint(1, 2)) for row in rows]
        ends.append(["" if workers.wait(pid) == KILLED else "was not killed" for pid in pids])
    for pid in [workers.start(row) for row in rows]:
        workers.wait(pid)
    wrong = [_complaint(workers, server, row) for row in rows]
    return [end or why for one in ends for end, why in zip(one, wrong, strict=True)]


def _complaint(workers: WorkerProcesses, server: ApiServer, row: str) -> str:
    if (state := workers.state(row)) != "succeeded":
        return f"ended as {state}"
    if said := workers.complaints(row):
        return str(said[0])
    found = effects(server, row, workers)
    return "" if found == EVERY else f"took effect: {', '.join(found)}"


def killed_campaigns(count: int, dice: random.Random) -> Sequence[str]:
    """That many kills at named points of campaigns and their journeys, some twenty for each campaign of two clusters:
    each write, and each move of the campaign, happened once, and it came to its end."""
    told: list[str] = []
    while len(told) < count:
        told += _walked(dice)
    return told[:count]


def _walked(dice: random.Random) -> list[str]:
    """One answer for each kill of a whole campaign."""
    servers = {"blue": ApiServer(), "green": ApiServer()}
    place = folder("trust")
    try:
        charts.real_chart(place / "d" / "charts", f"v{NEWEST}", version=NEWEST)
        with worker_processes(servers["blue"], place, module=CAMPAIGN_WORKER) as people:
            points = [one for one in people.ask("points") if one not in ELSEWHERE]
            walk = Walk(people, servers, deadly=lambda died: _one_of(points, died, dice=dice))
            try:
                walk.whole()
            except AssertionError as wrong:
                return [*("" for _ in walk.died[1:]), f"after {', '.join(walk.died)}: {str(wrong)[:200]}"]
            return ["" for _ in walk.died] or ["was not killed"]
    finally:
        discard(place)
        for server in servers.values():
            server.stop()


def _one_of(points: list[str], died: list[str], *, dice: random.Random) -> dict[str, int]:
    """A point at which nobody died in this campaign yet, while there is one; then any."""
    point = dice.choice([one for one in points if one not in died] or points)
    return {point: dice.randint(1, 3) if point.endswith(("_store", "_member")) else 1}


def races(count: int, dice: random.Random) -> Sequence[str]:
    """Two start the same rollout, or two rollouts of one cluster: one wins, the other is told who."""
    told = []
    with _people() as (workers, _):
        for same, rounds in ((True, count - count // 2), (False, count // 2)):
            asked = workers.ask("races", rounds, same) if rounds else []
            told += [_lost(rows, answers, same=same) for rows, answers in asked]
    dice.shuffle(told)
    return told


def _lost(rows: list[str], answers: list[str], *, same: bool) -> str:
    if answers.count("won") != 1:
        return f"told {answers}"
    loser = next(one for one in answers if one != "won")
    wanted = "moved: " if same else f"busy: rollout {rows[answers.index('won')]} "
    return "" if loser.startswith(wanted) else f"the loser was told {loser!r}"


PARTS = (
    Part(name="kills of workers", full=1_000, rules="R02, A15, A25", series=killed_workers),
    Part(name="kills in journeys and campaigns", full=200, rules="R02, A25, A40", series=killed_campaigns),
    Part(name="races of starters", full=1_000, rules="R08, A08, A13", series=races),
)
