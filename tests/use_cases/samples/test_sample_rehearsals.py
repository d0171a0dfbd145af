"""A rehearsal of a sample cluster uses the behaviour of its simulation: speed, sizes, no consolidation."""

import dataclasses

import pytest
from django.db import transaction

from migrations_app.models.cluster import Cluster
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.rehearsals.document import read_document
from migrations_app.use_cases.rehearsal_runs import queue
from migrations_app.use_cases.rehearsal_runs.worker import rehearse_claimed
from migrations_app.use_cases.rollouts.preview import prepare
from migrations_app.use_cases.samples.clusters import make_all
from migrations_app.use_cases.samples.path import SamplePath, run_next_step
from tests.use_cases.people import OPERATE, actor, person, user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


def test_the_speed_of_the_samples_is_that_of_their_rehearsals():
    with transaction.atomic():
        make_all()
    row = Cluster.objects.get(name="live-halfway")
    ada = user("ada", OPERATE)
    with transaction.atomic():
        rollout = run_next_step(row.pk, SamplePath(row.pk).next.step.id, person=person(ada), by=actor(ada))
    prepare(rollout)
    rehearse_claimed(queue.claim(queue.request_rehearsal(rollout, person(ada), by=actor(ada))))
    without_failure = read_document(bytes(Rehearsal.objects.get().result)).without_failure
    assert (without_failure.finished, without_failure.assumptions) == (
        True, ("this sample cluster is simulated itself: nodes, pods, sizes and zones are as they are there",),
    )  # fmt: skip
    assert (without_failure.seconds < 300, [one.code for one in without_failure.unknown]) == (True, ["aws_apart"])
    assert {one.size for one in without_failure.groups if one.pool == "NodePool/general"} <= {
        "c6a.xlarge",
        "m6i.2xlarge",
    }
