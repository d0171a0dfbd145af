"""What waits for people in a campaign, over REST: read by programs, decided by nobody but people in the browser."""

import msgspec
import pytest
from django.contrib.auth.models import User

from migrations_app.journeys.evidence import CheckSeen, StepEvidence
from migrations_app.models.account import Grant
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.journey import JourneyRollout
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout, taint
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet():
    return [a_cluster("blue"), a_cluster("green")]


@pytest.fixture
def row(ada, fleet):
    """A campaign in which a step of one cluster waits, and a plan of the other."""
    row = a_campaign(*fleet, state="running", author=ada)
    blue, green = fleet
    asks = a_journey(blue, state="running", author=ada, wait_code="tick_needed", needs_person=True)
    seen = StepEvidence(verdict="unknown", checks=(CheckSeen("iam_change_known", "manual", "Look at the role"),))
    asks.steps.filter(place=0).update(evidence=msgspec.to_builtins(seen))
    plans = a_journey(green, state="running", author=ada, at=1)
    made = a_rollout(green, taint(), state="awaiting_approval", author=ada, provable={"s001": "no dry run"})
    JourneyRollout.objects.create(step=plans.steps.get(place=1), rollout=made, purpose=JourneyRollout.Purpose.WORK)
    for journey in (asks, plans):
        CampaignMember.objects.filter(cluster=journey.cluster).update(state="running", journey=journey)
    return row


def waiting(client, row):
    answer = client.get(f"/api/v1/campaigns/{row.pk}/waiting")
    assert answer.status_code == 200
    return answer.json()["waiting"]


def test_all_that_waits_is_told_with_what_a_person_needs_and_no_nonce(client, ada, row):
    client.force_login(ada)
    step, plan = waiting(client, row)
    assert (step["kind"], step["cluster"], step["code"], step["rollout"]) == ("step", "blue", "tick_needed", None)
    assert step["checks"] == [{"id": "iam_change_known", "status": "manual", "summary": "Look at the role"}]
    made = JourneyRollout.objects.get().rollout
    assert (plan["kind"], plan["rollout"], plan["digest"], plan["risk"]) == (
        "plan", str(made.pk), made.digest, made.risk,
    )  # fmt: skip
    assert plan["doubts"] == {"s001": "no dry run"}
    assert (len(plan["does"]), made.digest in plan["key"], str(made.pk) in plan["key"]) == (1, True, True)
    assert made.nonce not in str((step, plan))


def test_only_clusters_that_the_caller_may_see_are_told(client, row, fleet):
    group = ClusterGroup.objects.create(name="shop")
    group.clusters.add(fleet[0])
    eve = User.objects.create_user("eve")
    Grant.objects.create(person=eve, role=Grant.Role.OPERATOR, over=group)
    client.force_login(eve)
    assert [decision["cluster"] for decision in waiting(client, row)] == ["blue"]


def test_nothing_is_decided_over_rest(client, ada, row):  # A42
    client.force_login(ada)
    keys = [decision["key"] for decision in waiting(client, row)]
    answer = client.post(
        f"/api/v1/campaigns/{row.pk}/decide", {"decisions": keys, "note": "seen"}, content_type="application/json",
        headers={"Idempotency-Key": "k" * 20},
    )  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (403, "person_needed")
    assert f"/campaigns/{row.pk}/waiting" in answer.json()["detail"]
    assert [decision["key"] for decision in waiting(client, row)] == keys
