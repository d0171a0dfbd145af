"""A rollout that ends requests a scan of its cluster, in the transaction that ends it (R09)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app import tasks
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.rollouts import lifecycle
from migrations_app.use_cases.rollouts.transitions import waiting_scan
from migrations_app.use_cases.scans import queue
from tests.builders.rollouts import a_rollout, taint
from tests.builders.rows import a_cluster
from tests.use_cases.people import OPERATE, actor, person, user
from tests.use_cases.rollouts.building import advanced, node, rollout, tainting

pytestmark = pytest.mark.django_db(transaction=True)


def scans(cluster):
    return list(Scan.objects.filter(cluster=cluster).values_list("state", "requested_by"))


@pytest.mark.usefixtures("long_slice")
def test_after_the_end_the_cluster_is_looked_at_anew(server, cluster, monkeypatch):  # R09
    woken = []
    monkeypatch.setattr(tasks, "enqueue_scan", woken.append)
    row = rollout(cluster, tainting(*node(server)), started_at=timezone.now())
    tasks.advance_rollout(str(row.pk))
    row.refresh_from_db()
    assert (row.state, scans(cluster)) == ("succeeded", [("queued", "rollout")])
    assert woken == [waiting_scan(row.pk)] == [Scan.objects.get().pk]


def test_a_scan_that_began_before_the_end_does_not_count(server, cluster):  # R09
    early = queue.claim(queue.request_scan(cluster.pk).scan_id)
    Cluster.objects.filter(pk=cluster.pk).update(next_due_at=timezone.now() + timedelta(hours=1))
    row = advanced(rollout(cluster, tainting(*node(server)), started_at=timezone.now()))
    assert (row.state, waiting_scan(row.pk), Scan.objects.get().pk) == ("succeeded", None, early.scan_id)
    assert Cluster.objects.get(pk=cluster.pk).next_due_at <= timezone.now()


@pytest.mark.parametrize(("started", "asked"), [(True, [("queued", "rollout")]), (False, [])])
def test_ended_by_a_person_it_is_the_same_but_for_what_never_began(started, asked):  # R09
    eve, began = user("eve", OPERATE), timezone.now() if started else None
    row = a_rollout(a_cluster("shop"), taint(), state="paused", started_at=began)
    lifecycle.abort(row.pk, person(eve), by=actor(eve))
    assert scans(row.cluster) == asked
