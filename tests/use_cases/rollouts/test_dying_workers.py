"""Workers that are killed, stand still or come late: the next one goes on, and nothing is lost or done twice."""

import random

import pytest

from migrations_app.use_cases.rollouts import journal
from tests.servers.processes import discard, folder
from tests.use_cases.rollouts.killing import VERBS, effects, step
from tests.use_cases.rollouts.workers import KILLED, STOPPED, worker_processes

pytestmark = pytest.mark.own_processes
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def people(apiserver):
    place = folder("workers")
    with worker_processes(apiserver, place) as found:
        yield found
    discard(place)


@pytest.fixture
def workers(people, clean_apiserver):
    people.mark = clean_apiserver.audit_mark()
    yield people
    assert people.ask("chain") is True


@pytest.mark.parametrize("point", journal.CRASH_POINTS)
def test_a_worker_killed_at_any_point_is_followed_by_one_that_goes_on(workers, clean_apiserver, point):  # R02, A15, A25
    rows = [workers.rollout(step(clean_apiserver, verb, f"{verb}-1")) for verb in VERBS]
    first = [workers.start(row, point) for row in rows]
    assert [workers.wait(pid) for pid in first] == [KILLED] * len(VERBS)
    for pid in [workers.start(row) for row in rows]:
        assert workers.wait(pid) == 0
    assert [(workers.state(row), workers.complaints(row)) for row in rows] == [("succeeded", [])] * len(VERBS)
    assert [effects(clean_apiserver, row, workers) for row in rows] == [["s001"]] * len(VERBS)


KILLS, SEED = 30, 20261121


def test_thirty_kills_lose_and_double_nothing(workers, clean_apiserver):  # R02, T19
    dice = random.Random(SEED)
    points = journal.CRASH_POINTS[:-1]
    rows = [
        workers.rollout(*(step(clean_apiserver, verb, f"{verb}-{number}") for verb in dice.sample(VERBS, len(VERBS))))
        for number in range(KILLS // 2)
    ]
    for _ in range(2):
        for pid in [workers.start(row, dice.choice(points), dice.randint(1, 2)) for row in rows]:
            assert workers.wait(pid) == KILLED
    for pid in [workers.start(row) for row in rows]:
        assert workers.wait(pid) == 0
    assert [(workers.state(row), workers.complaints(row)) for row in rows] == [("succeeded", [])] * len(rows)
    every = ["s001", "s002", "s003", "s004"]
    assert [effects(clean_apiserver, row, workers) for row in rows] == [every] * len(rows)


@pytest.mark.parametrize("point", ["before_intent", "after_intent", "after_send", "before_outcome", "after_outcome"])
def test_a_worker_that_stood_still_past_its_lease_is_fenced(workers, clean_apiserver, point):  # R03, A14
    rows = [workers.rollout(step(clean_apiserver, verb, f"{verb}-1")) for verb in VERBS]
    first = [workers.start(row, point, 1, "STOP") for row in rows]
    assert [workers.wait(pid) for pid in first] == [STOPPED] * len(VERBS)
    for pid in [workers.start(row) for row in rows]:
        assert workers.wait(pid) == 0
    before = [workers.journal(row) for row in rows]
    for pid in first:
        workers.ask("send", pid, "CONT")
    assert [workers.wait(pid) for pid in first] == [0] * len(VERBS)
    assert [workers.journal(row) for row in rows] == before
    assert [(workers.state(row), workers.complaints(row)) for row in rows] == [("succeeded", [])] * len(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_request_that_is_delivered_after_the_takeover_is_refused(workers, clean_apiserver, proxy, verb):  # R04, A18
    row = workers.rollout(
        step(clean_apiserver, verb, "late-1"), kubeconfig=proxy.kubeconfig(clean_apiserver.admin_token)
    )
    method = {"create": "POST", "delete": "DELETE"}.get(verb, "PATCH")
    held = proxy.add("hold", method, f"{MAPS}\\?" if verb == "create" else "/late-1")
    first = workers.start(row)
    assert held.reached.wait(30)
    workers.ask("send", first, "KILL")
    assert (workers.wait(first), workers.work(row)) == (KILLED, 0)
    held.let_go.set()
    assert held.done.wait(30)
    assert held.told == [404 if verb == "delete" else 409]
    assert [line[3] for line in workers.journal(row)] == ["not_applied", "applied", "noop"]
    assert (workers.state(row), workers.complaints(row)) == ("succeeded", [])


@pytest.mark.parametrize("verb", VERBS)
def test_a_request_that_is_delivered_just_before_the_next_one_counts_once(  # R04, A22, A25
    workers, clean_apiserver, proxy, verb
):
    row = workers.rollout(
        step(clean_apiserver, verb, "late-1"), kubeconfig=proxy.kubeconfig(clean_apiserver.admin_token)
    )
    method = {"create": "POST", "delete": "DELETE"}.get(verb, "PATCH")
    held = proxy.add("hold", method, f"{MAPS}\\?" if verb == "create" else "/late-1")
    first = workers.start(row)
    assert held.reached.wait(30)
    workers.ask("send", first, "KILL")
    assert workers.wait(first) == KILLED
    second = workers.start(row, "before_intent", 1, "STOP")
    assert workers.wait(second) == STOPPED
    held.let_go.set()
    assert held.done.wait(30)
    workers.ask("send", second, "CONT")
    assert workers.wait(second) == 0
    assert (held.told[0] < 300, workers.state(row), workers.complaints(row)) == (True, "succeeded", [])
    assert "applied" in [line[3] for line in workers.journal(row)]


def test_three_workers_woken_for_one_rollout_do_it_once(workers, clean_apiserver):  # R07, A12, A13
    row = workers.rollout(*(step(clean_apiserver, verb, f"{verb}-1") for verb in VERBS))
    for pid in [workers.start(row) for _ in range(3)]:
        assert workers.wait(pid) == 0
    assert (workers.state(row), workers.complaints(row)) == ("succeeded", [])
    assert effects(clean_apiserver, row, workers) == ["s001", "s002", "s003", "s004"]


def test_a_rollout_that_kills_every_worker_is_left_to_a_person(workers, clean_apiserver):  # R36
    row = workers.rollout(step(clean_apiserver, "patch", "patch-1"))
    assert [workers.work(row, "before_intent") for _ in range(4)] == [KILLED, KILLED, KILLED, 0]
    assert (workers.ask("state", row), workers.journal(row)) == (["paused", "worker_lost"], [])


RACES = 40


def test_of_two_who_start_the_same_rollout_one_wins(workers):  # R08, A08
    for _, told in workers.ask("races", RACES, True):
        assert sorted(told) == ["moved: a plan that is running cannot be started", "won"]


def test_of_two_rollouts_that_start_on_one_cluster_one_wins_and_the_other_names_it(workers):  # R08, A13
    for rows, told in workers.ask("races", RACES, False):
        winner = rows[told.index("won")]
        assert sorted(told) == [f"busy: rollout {winner} holds this cluster", "won"]
        states = [workers.state(row) for row in rows]
        assert sorted(states) == ["approved", "running"]
