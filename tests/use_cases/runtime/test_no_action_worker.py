"""An installation without a worker of actions: nothing waits for one for ever, and health does not ask for it."""

import dataclasses

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from karpdash.processes.queues import UPKEEP, WORKERS, worker_command
from migrations_app import tasks
from migrations_app.campaigns.recipe import Selection
from migrations_app.errors import Conflict
from migrations_app.models.campaign import Campaign
from migrations_app.models.journey import Journey
from migrations_app.models.monitoring import ProcessHeartbeat
from migrations_app.models.rollout import Rollout
from migrations_app.queries.worker_health import queues_without_worker
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.campaigns.drafts import draft_campaign
from migrations_app.use_cases.campaigns.requests import CampaignRequest
from migrations_app.use_cases.journeys.drafts import JourneyRequest, draft_journey
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft
from tests.builders.rows import a_cluster
from tests.use_cases.people import person

pytestmark = pytest.mark.django_db
ADA = Actor(name="ada")


@pytest.fixture
def hanna():
    return User.objects.create_user("hanna")


@pytest.fixture
def looking(settings):
    settings.ENV = dataclasses.replace(settings.ENV, action_slots=0)


@pytest.mark.usefixtures("looking")
def test_every_way_to_a_plan_is_refused(hanna):
    cluster, asking = a_cluster("shop").pk, person(hanna)
    drafts = (
        lambda: draft(cluster, RolloutRequest(action="roll_nodes"), by=ADA),
        lambda: draft_journey(cluster, JourneyRequest(), person=asking, by=ADA),
        lambda: draft_campaign(CampaignRequest(name="x", selection=Selection()), person=asking, by=ADA),
    )
    for one in drafts:
        with pytest.raises(Conflict, match="only looks") as refused:
            one()
        assert refused.value.code == "read_only"
    assert (Rollout.objects.count(), Journey.objects.count(), Campaign.objects.count()) == (0, 0, 0)


def test_health_asks_for_the_lane_only_where_there_is_to_be_one(settings):
    ProcessHeartbeat.objects.create(name="one", lanes="probe,scan,upkeep,beat", seen_at=timezone.now())
    assert queues_without_worker() == ("action",)
    settings.ENV = dataclasses.replace(settings.ENV, action_slots=0)
    assert queues_without_worker() == ()


def test_the_queue_of_actions_does_not_grow_while_nobody_serves_it(settings, monkeypatch):
    sent = []
    for task in (tasks.prepare_rollout, tasks.advance_journey, tasks.advance_campaign, tasks.scan_cluster):
        monkeypatch.setattr(task, "delay", lambda _row, name=task.name: sent.append(name))
    row = draft(a_cluster("shop").pk, RolloutRequest(action="roll_nodes"), by=ADA)

    def sweep():
        sent.clear()
        tasks.sweep_rollouts()
        tasks.enqueue_journey(row)
        tasks.enqueue_campaign(row)
        tasks.enqueue_scan(row)
        return sent

    assert sweep() == ["prepare_rollout", "advance_journey", "advance_campaign", "scan_cluster"]
    settings.ENV = dataclasses.replace(settings.ENV, action_slots=0)
    assert sweep() == ["scan_cluster"]


@pytest.mark.usefixtures("looking")
def test_upkeep_has_a_worker_of_its_own(settings):
    words = worker_command(UPKEEP, settings.ENV)
    assert [words[words.index(one) + 1] for one in ("-Q", "-c")] == ["upkeep", "1"]
    served = [lane for one in WORKERS for lane in _queues(worker_command(one, settings.ENV))]
    assert sorted(served) == ["action", "probe", "scan", "upkeep"]


def _queues(words):
    return words[words.index("-Q") + 1].split(",")
