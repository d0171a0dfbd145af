"""One worker a cluster: taken by compare-and-set, by the database's clock, with a token that only grows."""

import uuid
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.execution.interface import LeaseLost
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Lease
from migrations_app.use_cases.rollouts import lease
from migrations_app.use_cases.rollouts.lease import LeaseToken

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster_id() -> uuid.UUID:
    return Cluster.objects.create(name="shop", source="sample").pk


def run_out(cluster_id):
    Lease.objects.filter(cluster_id=cluster_id).update(expires_at=Now() - timedelta(seconds=1))


def test_one_holder_at_a_time(cluster_id):  # A13
    lease_token = lease.acquire(cluster_id, "a")
    assert lease_token == LeaseToken(cluster_id, "a", 1)
    assert lease.acquire(cluster_id, "b") is None
    assert lease.acquire(cluster_id, "a") is None


def test_given_back_it_is_free_at_once(cluster_id):
    lease.release(lease.acquire(cluster_id, "a"))
    assert lease.acquire(cluster_id, "b") == LeaseToken(cluster_id, "b", 2)


def test_run_out_it_goes_to_the_next_and_the_first_is_fenced(cluster_id):  # A13, A14, R03
    old = lease.acquire(cluster_id, "a")
    run_out(cluster_id)
    new = lease.acquire(cluster_id, "b")
    assert new.token > old.token
    assert not lease.renew(old)
    with pytest.raises(LeaseLost):
        lease.check(old)
    lease.check(new)


def test_run_out_it_is_lost_even_while_nobody_took_it(cluster_id):
    lease_token = lease.acquire(cluster_id, "a")
    run_out(cluster_id)
    assert not lease.renew(lease_token)
    with pytest.raises(LeaseLost):
        lease.check(lease_token)


def test_a_late_release_takes_nothing_from_the_next(cluster_id):
    old = lease.acquire(cluster_id, "a")
    run_out(cluster_id)
    new = lease.acquire(cluster_id, "b")
    lease.release(old)
    lease.check(new)


def test_a_request_begins_only_when_the_lease_outlives_it(cluster_id):  # A20
    lease_token = lease.acquire(cluster_id, "a")
    assert lease.is_valid_for(lease_token, 35)
    assert not lease.is_valid_for(lease_token, 61)
    Lease.objects.filter(cluster_id=cluster_id).update(expires_at=Now() + timedelta(seconds=10))
    assert not lease.is_valid_for(lease_token, 35)
    assert lease.renew(lease_token)
    assert lease.is_valid_for(lease_token, 35)


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_worker_whose_clock_is_wrong_neither_takes_nor_loses_a_lease(cluster_id, time_machine, minutes):  # R18
    lease_token = lease.acquire(cluster_id, "a")
    time_machine.move_to(timezone.now() + timedelta(minutes=minutes))
    assert lease.acquire(cluster_id, "b") is None
    lease.check(lease_token)
    run_out(cluster_id)
    assert lease.acquire(cluster_id, "b") == LeaseToken(cluster_id, "b", 2)
