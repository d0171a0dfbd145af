"""What goes wrong with the tools of a campaign's step: it stops, says what to do, and goes on once that is mended."""

import pytest

from migrations_app.errors import Conflict
from migrations_app.models.rollout import Rollout
from migrations_app.templatetags.campaign_tags import member_cause
from migrations_app.templatetags.journey_tags import CAUSES
from migrations_app.use_cases.campaigns import lifecycle, member_decisions
from tests.use_cases.campaigns import stage
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db
FAULTS = ("helm_missing", "helm_version", "chart_not_pulled", "no_chart", "release_pending", "release_failed")
"""What the planning of an upgrade by helm is refused with: tests/helm/test_refusals.py plants each of them."""
WHY = "KARPDASH_HELM: helm is not on the PATH of the worker"


@pytest.mark.parametrize("code", FAULTS)
def test_a_plan_that_cannot_be_made_stops_it_and_goes_on_once_mended(ada, cleo, three, code):
    row = stage.running(ada, cleo)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    blue = stage.member(row, "blue")
    journey = journeys.advanced(blue.journey, 2)
    made = journeys.unplanned(blue.cluster, code)
    Rollout.objects.filter(pk=made.pk).update(cause=WHY)
    journeys.advanced(journey)
    assert (journey.state, journey.cause_code, journey.cause) == ("paused", code, WHY)
    stage.advanced(row)
    blue = stage.member(row, "blue")
    assert (row.state, row.cause_code, row.cause) == ("paused", code, "blue")
    assert (stage.states(row), blue.cause) == ({"blue": "stopped", "green": "waiting", "red": "waiting"}, WHY)
    assert member_cause(code) == CAUSES[code][:1].lower() + CAUSES[code][1:]

    resume = lifecycle.resume_campaign
    assert journeys.refusal(Conflict, resume, row.pk, person(ada), by=actor(ada)) == "member_stopped"
    member_decisions.requeue_member(row.pk, person(ada), member=blue.pk, by=actor(ada), resume=True)
    journeys.advanced(journey, 2)
    assert journeys.work(journey).state == "draft"
    stage.finish_journeys(row, "blue")
    stage.advanced(row)
    assert (row.state, stage.states(row)["blue"]) == ("running", "done")
    assert [stage.verbs(row).count(f"campaign.member_{word}") for word in ("begun", "started", "stopped", "done")] == [
        1, 1, 1, 1,
    ]  # fmt: skip
