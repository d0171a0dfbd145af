"""Attempts of workers that died are counted: not those of slow workers, and not those that made progress."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from migrations_app.models.rollout import Lease, Rollout
from migrations_app.use_cases.rollouts import attempts, journal, lease, worker
from tests.use_cases.rollouts.building import advanced, ended, node, rollout, tainting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row(server, cluster) -> Rollout:
    """Two steps, of which nothing is done yet."""
    return rollout(cluster, tainting(*node(server, "node-1")), tainting(*node(server, "node-2")))


def tries_of(row: Rollout) -> int:
    return Rollout.objects.values_list("worker_attempts", flat=True).get(pk=row.pk)


def run_out(row: Rollout) -> None:
    Lease.objects.filter(cluster_id=row.cluster_id).update(expires_at=Now() - timedelta(seconds=1))


def at(monkeypatch, point, act):
    monkeypatch.setattr(journal, "reached", lambda name: act() if name == point else None)


def test_a_worker_whose_lease_ran_out_is_not_taken_for_dead(row, monkeypatch):  # R36, A14
    with monkeypatch.context() as slow:
        at(slow, "before_intent", lambda: run_out(row))
        for number in range(attempts.MAX_ATTEMPTS + 1):
            assert worker.advance(row.pk, holder=f"slow-{number}") is False
            assert tries_of(row) == 0
    assert ended(advanced(row)) == ("succeeded", "")


def test_a_worker_that_was_overtaken_writes_nothing(row, monkeypatch):  # A14
    def overtaken() -> None:
        run_out(row)
        assert lease.acquire(row.cluster_id, "next") is not None
        Rollout.objects.filter(pk=row.pk).update(worker_attempts=2)

    at(monkeypatch, "before_intent", overtaken)
    assert worker.advance(row.pk, holder="slow") is False
    assert tries_of(row) == 2


def test_what_got_through_starts_the_count_anew(row, monkeypatch):  # R36
    Rollout.objects.filter(pk=row.pk).update(worker_attempts=attempts.MAX_ATTEMPTS - 1)
    seen: list[int] = []
    at(monkeypatch, "before_intent", lambda: seen.append(tries_of(row)))
    assert ended(advanced(row)) == ("succeeded", "")
    assert seen == [attempts.MAX_ATTEMPTS, 1]
    assert tries_of(row) == 0
