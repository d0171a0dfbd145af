"""The counters of a run are kept every few seconds, and at once when one is worse than before: the receipt is true."""

from datetime import timedelta

import msgspec
import pytest
import time_machine
from django.utils import timezone

from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits
from migrations_app.queries.rollouts.samples import CounterExtremes, counter_extremes, samples_of
from migrations_app.use_cases.audit.log import WORKER
from migrations_app.use_cases.rollouts import journal, lease
from migrations_app.use_cases.rollouts.journal import ExecutionContext
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
