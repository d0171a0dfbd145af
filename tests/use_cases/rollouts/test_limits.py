"""Wishes, switches, freezes, limits and workers that give up: between requests, and never in the middle of one."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import RolloutLimits, Step
from migrations_app.execution import steps
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts import attempts, journal, lease, limits, worker
from tests.use_cases.rollouts.building import (
    APPLIED,
    NODE_PATH,
    advanced,
    config_map,
    deleting,
    ended,
    node,
    outcomes,
    rollout,
    tainting,
)

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("stop_request", "state"), [("pause", "paused"), ("abort", "aborted")])
def test_what_was_sent_is_settled_before_a_wish_is_heard(
    server, cluster, proxy, complaints, stop_request, state
):  # A10
    target, read = node(server)
    other, whole = node(server, "node-2")
    row = rollout(cluster, tainting(target, read), tainting(other, whole))
    proxy.add("lose_answer", "PATCH", NODE_PATH)
    with pytest.MonkeyPatch.context() as patched:
        real = journal.record_outcome

        def conclude(work, attempt_id, *, outcome):
            if outcome.outcome == "unknown":
                Rollout.objects.filter(pk=row.pk).update(stop_request=stop_request)
            real(work, attempt_id, outcome=outcome)

        patched.setattr(journal, "record_outcome", conclude)
        row = advanced(row)
    assert (row.state, outcomes(row), complaints(row)) == (state, [("s001", "patch", "applied")], [])


def test_the_kill_switch_stops_before_the_next_request(server, cluster, complaints):  # A36
    target, read = node(server)
    other, whole = node(server, "node-2")
    row = rollout(cluster, tainting(target, read), tainting(other, whole))
    with pytest.MonkeyPatch.context() as patched:
        real = journal.record_outcome

        def conclude(work, attempt_id, *, outcome):
            real(work, attempt_id, outcome=outcome)
            KillSwitch.objects.create(on=True, why="fire")

        patched.setattr(journal, "record_outcome", conclude)
        row = advanced(row)
    assert (ended(row), outcomes(row)) == (("paused", "kill_switch"), [("s001", "patch", "applied")])
    assert complaints(row) == []


def test_the_environment_switch_stops_too(server, cluster, settings):  # A36
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    settings.ENV = replace(settings.ENV, stop_all_actions=True)
    assert (ended(advanced(row)), outcomes(row)) == (("paused", "kill_switch"), [])


def test_a_freeze_is_looked_at_before_each_batch(server, cluster):  # A33
    target, read = node(server)
    other, whole = node(server, "node-2")
    gate = Gate(pending_above=None, seconds=60)
    row = rollout(cluster, tainting(target, read, after=gate), tainting(other, whole))
    with pytest.MonkeyPatch.context() as patched:
        real = journal.record_outcome

        def conclude(work, attempt_id, *, outcome):
            real(work, attempt_id, outcome=outcome)
            Policy.objects.create(cluster=None, frozen=True, frozen_why="sales")

        patched.setattr(journal, "record_outcome", conclude)
        row = advanced(row)
    assert (ended(row), row.cause) == (("paused", "closed"), "changes are frozen: sales")
    assert outcomes(row) == APPLIED


LEFT = Step(id="", title="Left as it is: what a rollback does not undo")
PASSED = [("s001", "gate", "noop")]


def test_a_freeze_is_looked_at_where_the_first_step_sends_nothing(server, cluster):  # A33
    target, read = node(server)
    row = rollout(cluster, LEFT, tainting(target, read))
    Policy.objects.create(cluster=None, frozen=True, frozen_why="sales")
    assert (ended(advanced(row)), outcomes(row)) == (("paused", "closed"), PASSED)


@pytest.mark.usefixtures("long_slice")
def test_deletions_wait_for_the_next_hour(server, cluster, complaints, monkeypatch):  # A33
    steps = [deleting(*config_map(server, f"map-{number}")) for number in range(3)]
    row = rollout(cluster, *steps, limits=RolloutLimits(per_hour=2))
    monkeypatch.setattr(worker, "SLICE_SECONDS", 2.0)
    for _ in range(30):
        assert worker.advance(row.pk, holder="w") is True
        row.refresh_from_db()
        if row.waits_for:
            break
    assert row.waits_for == "the next hour: 2 deletions of at most 2 an hour are done"
    assert [one for one in outcomes(row) if one[1] == "delete"] == [
        ("s001", "delete", "applied"),
        ("s002", "delete", "applied"),
    ]
    Attempt.objects.filter(rollout=row).update(intent_at=timezone.now() - limits.HOUR)
    assert (advanced(row).state, row.waits_for, complaints(row)) == ("succeeded", "", [])


def test_for_some_seconds_nothing_is_sent_yet(server, cluster, settings):
    target, read = node(server)
    settings.ENV = replace(settings.ENV, cancel_seconds=10)
    row = rollout(cluster, tainting(target, read), started_at=timezone.now())
    assert worker.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert (outcomes(row), row.waits_for) == ([], "10 seconds, in which it can still be cancelled")
    Rollout.objects.filter(pk=row.pk).update(started_at=timezone.now() - timedelta(seconds=11))
    assert advanced(row).state == "succeeded"


def test_for_some_seconds_nothing_is_sent_after_a_step_without_a_request(server, cluster, settings):
    target, read = node(server)
    settings.ENV = replace(settings.ENV, cancel_seconds=10)
    row = rollout(cluster, LEFT, tainting(target, read), started_at=timezone.now())
    assert worker.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert (outcomes(row), row.waits_for) == (PASSED, "10 seconds, in which it can still be cancelled")


def test_a_rollout_that_kills_its_workers_ends_with_a_person(server, cluster):  # R36
    target, read = node(server)
    row = rollout(cluster, tainting(target, read), worker_attempts=attempts.MAX_ATTEMPTS)
    row = advanced(row)
    assert (ended(row), row.worker_attempts, outcomes(row)) == (("paused", "worker_lost"), 0, [])


def test_a_worker_that_crashes_leaves_its_try_counted(server, cluster, monkeypatch):  # R36
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    with monkeypatch.context() as broken:
        broken.setattr(steps, "make_request", _crashing)
        for _ in range(attempts.MAX_ATTEMPTS):
            with pytest.raises(ZeroDivisionError):
                worker.advance(row.pk, holder="w")
    assert ended(advanced(row)) == ("paused", "worker_lost")


def test_a_worker_that_is_told_to_stop_gives_the_cluster_back(server, cluster, monkeypatch):  # R28
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    with monkeypatch.context() as broken:
        broken.setattr(steps, "make_request", _leaving)
        with pytest.raises(SystemExit):
            worker.advance(row.pk, holder="w")
    row.refresh_from_db()
    assert (row.worker_attempts, lease.acquire(cluster.pk, "next") is not None) == (0, True)


def _crashing(*_, **__):
    return 1 // 0


def _leaving(*_, **__):
    raise SystemExit(0)


def test_a_message_that_comes_thrice_changes_nothing_more(server, cluster, complaints):  # A12, R07
    target, read = node(server)
    row = advanced(rollout(cluster, tainting(target, read)))
    before = outcomes(row), row.version
    assert [worker.advance(row.pk, holder=f"w{number}") for number in range(3)] == [False] * 3
    row.refresh_from_db()
    assert ((outcomes(row), row.version), complaints(row)) == (before, [])


def test_nobody_works_at_a_cluster_that_somebody_holds(server, cluster):  # A13
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    lease_token = lease.acquire(cluster.pk, "other")
    assert (worker.advance(row.pk, holder="w"), outcomes(row)) == (False, [])
    lease.release(lease_token)
