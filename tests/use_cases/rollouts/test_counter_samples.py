"""The counters of a run are kept every few seconds, and at once when one is worse than before: the receipt is true."""

from datetime import timedelta

import msgspec
import pytest
import time_machine
from django.utils import timezone

from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits
from migrations_app.models.rollout import RolloutSample
from migrations_app.queries.rollouts.samples import MAX_SAMPLES, CounterExtremes, counter_extremes, samples_of
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts import journal, lease
from migrations_app.use_cases.rollouts.journal import ExecutionContext
from migrations_app.web.rollouts.run_board import counter_lines
from tests.builders.rollouts import a_picture, a_rollout
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def work() -> ExecutionContext:
    cluster = a_cluster("shop")
    plan = Plan(
        action="test", title="Test", parameters={}, cluster=str(cluster.pk), steps=(), limits=RolloutLimits(),
        identity=ClusterIdentity(kube_system_uid="k", ca="f", endpoint="https://shop"), forecast=Forecast(),
        author="ada", snapshot="", policy=1,
    )  # fmt: skip
    lease_token = lease.acquire(cluster.pk, "w-1")
    assert lease_token is not None
    row = a_rollout(cluster, state="running")
    return ExecutionContext(row=row, plan=plan, lease_token=lease_token, actor=WORKER)


def counted(**counters):
    return msgspec.convert(a_picture(blocked=(), **counters), type=ClusterCounters)


def test_a_count_between_two_samples_is_kept_if_it_is_the_worst(work):
    start = timezone.now()
    counts = [(14, 0), (14, 0), (12, 0), (13, 0), (13, 5), (13, 2)]
    for second, (ready, pending) in enumerate(counts):
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            journal.sample(work, counted(ready_nodes=ready, pending_pods=pending), pending_limit=0)
    kept = [(one.ready_nodes, one.pending_pods) for one in samples_of(work.row.pk)]
    assert kept == [(14, 0), (12, 0), (13, 5)]
    assert counter_extremes(work.row.pk) == CounterExtremes(least_ready=12, most_pending=5, most_held=0)


def test_counts_that_are_not_worse_are_kept_every_ten_seconds(work):
    start = timezone.now()
    for second in range(0, 25, 5):
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            journal.sample(work, counted(ready_nodes=9, pending_pods=None), pending_limit=None)
    assert len(samples_of(work.row.pk)) == 3


@pytest.mark.parametrize("place", [1, 2, 4])
def test_the_chart_of_a_long_run_shows_the_same_worst_counts_as_the_receipt(work, place):
    counts = [{"ready_nodes": 12, "pending_pods": 1, "held_pods": 2} for _ in range(1000)]
    counts[0]["ready_nodes"] = 15
    counts[place] |= {"ready_nodes": 3, "pending_pods": 9}
    counts[place + 500] |= {"ready_nodes": 16, "held_pods": 7}
    RolloutSample.objects.bulk_create(
        RolloutSample(rollout=work.row, taken_at=timezone.now() + timedelta(seconds=10 * number), **count)
        for number, count in enumerate(counts)
    )
    samples, worst = samples_of(work.row.pk), counter_extremes(work.row.pk)
    ready, pending, held = counter_lines(samples)
    assert worst == CounterExtremes(least_ready=3, most_pending=9, most_held=7)
    assert (ready.most, pending.most, held.most) == (16, worst.most_pending, worst.most_held)
    assert min(sample.ready_nodes for sample in samples) == worst.least_ready
    assert ready.allowed == 15  # as many as at the start
    assert len(samples) <= MAX_SAMPLES
