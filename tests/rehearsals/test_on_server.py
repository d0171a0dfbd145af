"""On a real API server with the simulator beside it, the rehearsal of a plan foretells its run."""

from dataclasses import replace

import pytest

from migrations_app.models.policy import Policy
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.rehearsals.document import read_document
from migrations_app.use_cases.rehearsal_runs import queue
from migrations_app.use_cases.rehearsal_runs.compare_run import keep_comparison
from migrations_app.use_cases.rehearsal_runs.worker import rehearse_claimed
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.runtime.connections import connect
from tests.actions.on_server import QUICK, previewed, registered
from tests.rehearsals.on_server import SimulatedRun, behaviour_of, load
from tests.rehearsals.scene import Scene
from tests.use_cases.people import OPERATE, actor, person, user

pytestmark = [pytest.mark.apiserver, pytest.mark.django_db(transaction=True)]
ONE_MOVE = 0.001
"""Seconds of a worker's slice: it makes one move, and the cluster answers to it."""


@pytest.fixture
def cluster(clean_apiserver, settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", ONE_MOVE)
    Policy.objects.create(batch=2, pool_percent=100)
    load(clean_apiserver, Scene(nodes=3, pods=4, apps=2, away=1))
    return registered(clean_apiserver)


@pytest.mark.parametrize("action", ["roll_nodes"])
def test_the_rehearsal_foretells_the_run(clean_apiserver, cluster, action):
    ada = user("ada", OPERATE)
    row = previewed(cluster, action)
    assert (row.state, row.cause) == ("previewed", "")
    asked = queue.request_rehearsal(row.pk, person(ada), by=actor(ada))
    rehearse_claimed(queue.claim(asked))
    made = Rehearsal.objects.get()
    assert (made.state, made.error_code) == ("finished", "")
    told = read_document(bytes(made.result)).without_failure
    with connect(cluster) as api:
        run = SimulatedRun(clean_apiserver, behaviour_of(api))
    done = run.carry_out(row)
    measured = run.simulator.measurements
    assert (done.state, told.finished, done.cause) == ("succeeded", True, "")
    assert (measured.peak_nodes, tuple(measured.nodes_drained), measured.pods_moved) == (
        told.nodes_peak, told.drained, told.pods_moved,
    )  # fmt: skip
    assert {by: len(one.pods) for by, one in measured.held_by.items()} == {one.by: one.pods for one in told.held}
    found = keep_comparison(row.pk)
    lines = {line.measure: (line.foretold, line.happened) for line in found.lines}
    assert (found.finished, found.ended, found.order, found.cut) == (True, "succeeded", "as_foretold", False)
    assert lines["nodes_peak"] == (measured.peak_nodes, measured.peak_nodes)
    assert lines["pods_moved"][0] == measured.pods_moved
    assert {one.by for one in found.held} == set(measured.held_by)
