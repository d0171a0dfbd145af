"""A rolling step of which nodes were skipped: it is done only if scans show it, and it names them either way."""

import pytest
from django.utils import timezone

from migrations_app.models.journey import JourneyStepRow
from migrations_app.models.rollout import NodeSkip
from migrations_app.queries.journeys.journeys import journey_detail
from migrations_app.use_cases.journeys import steps as people
from tests.use_cases.journeys import stage
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def rolled(running, shop):
    """A journey whose rollout ended with a skipped node."""
    row = stage.advanced(running, 2)
    stage.planned(shop)
    made = stage.work(stage.advanced(row, 2))
    NodeSkip.objects.create(
        rollout=made, step="s001", node="node-7", by_name="ada", reason="on Monday", at=timezone.now()
    )  # fmt: skip
    stage.ended(made)
    return row


def test_a_step_that_is_still_open_fails_at_once_and_names_the_nodes(rolled, shop, ada):
    stage.scanned(shop, late=5)
    row = stage.advanced(rolled, 2)
    step = JourneyStepRow.objects.get(journey=row, place=0)
    assert (row.state, row.cause_code, row.cause, step.state) == ("paused", "nodes_skipped", "node-7", "failed")
    assert journey_detail(row.pk).steps[0].work.skipped == ("node-7",)
    people.retry(row.pk, person(ada), step="j01", by=actor(ada))
    row = stage.advanced(row, 2)
    assert (row.state, stage.work(row).state) == ("running", "draft")


def test_a_step_that_scans_prove_is_done_and_still_names_them(rolled, shop):
    stage.scanned(shop, stage.finding(status="pass"), late=5)
    row = stage.advanced(rolled, 2)
    assert stage.steps(row)[0] == ("rollout", "done")
    assert journey_detail(row.pk).steps[0].work.skipped == ("node-7",)
