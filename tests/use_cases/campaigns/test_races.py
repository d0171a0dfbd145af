"""Two workers at one campaign, messages that come twice or never: nothing is done twice, and nothing is lost."""

import pytest

from migrations_app import tasks
from migrations_app.campaigns.next_moves import CampaignMove
from migrations_app.errors import Conflict
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.journey import Journey
from migrations_app.use_cases.campaigns import lifecycle
from migrations_app.use_cases.campaigns.moves import CampaignWorkToEnqueue, make_campaign_move
from migrations_app.use_cases.campaigns.preview import missing_previews, preview_member
from migrations_app.use_cases.campaigns.transitions import load_campaign
from tests.use_cases.campaigns import stage
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    """The messages: the name of the task, and its row."""
    found = []
    monkeypatch.setattr(tasks, "_send", lambda task, row: found.append((task.name, row)) or True)
    return found


def test_of_two_workers_with_the_same_move_one_makes_it(ada, cleo, three):
    row = stage.running(ada, cleo)
    stage.advanced(row, 1)  # opens the first wave
    first, second = load_campaign(row.pk), load_campaign(row.pk)
    move = CampaignMove("prepare", str(stage.member(row, "blue").pk))
    woken = CampaignWorkToEnqueue()
    make_campaign_move(first, move, to_enqueue=woken)
    late = CampaignWorkToEnqueue()
    make_campaign_move(second, move, to_enqueue=late)
    assert (Journey.objects.count(), len(woken.journeys), late.journeys) == (1, 1, [])
    assert stage.verbs(row).count("campaign.member_begun") == 1


def test_what_is_paused_meanwhile_begins_nothing(ada, cleo, three):
    row = stage.running(ada, cleo)
    stage.advanced(row, 1)
    here = load_campaign(row.pk)
    lifecycle.pause_campaign(row.pk, person(ada), by=actor(ada))
    with pytest.raises(Conflict):
        make_campaign_move(
            here, CampaignMove("prepare", str(stage.member(row, "blue").pk)), to_enqueue=CampaignWorkToEnqueue()
        )
    assert not Journey.objects.exists()


def test_a_preview_that_comes_twice_counts_once(ada, three):
    row = stage.drafted(ada)
    members = missing_previews(row.pk)
    assert [preview_member(member) for member in members] == [None, None, row.pk]
    shown = CampaignMember.objects.get(pk=members[0]).shown
    assert preview_member(members[0]) == row.pk
    assert CampaignMember.objects.get(pk=members[0]).shown == shown


def test_the_sweep_finds_lost_messages_of_a_draft_and_looks_at_what_runs(ada, cleo, three, sent):
    running = stage.running(ada, cleo)
    lost = stage.drafted(ada, name="lost")
    young = stage.drafted(ada, name="young")
    type(lost).objects.filter(pk=lost.pk).update(made_at=lost.made_at - stage.timedelta(minutes=2))
    tasks.sweep_campaigns()
    previews = {row for name, row in sent if name == "preview_campaign_member"}
    assert previews == set(map(str, missing_previews(lost.pk)))
    assert {row for name, row in sent if name == "advance_campaign"} == {str(lost.pk), str(running.pk)}
    assert str(young.pk) not in {row for _, row in sent}


def test_tasks_preview_compose_and_wake(ada, three, sent):
    row = stage.drafted(ada)
    for member in missing_previews(row.pk):
        tasks.preview_campaign_member(str(member))
    row.refresh_from_db()
    assert row.state == "previewed"


def test_a_move_of_a_journey_wakes_its_campaign(ada, cleo, three, sent):
    row = stage.running(ada, cleo)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.ended(stage.member(row, "blue"), "paused", cause_code="not_seen")
    tasks.advance_journey(str(stage.member(row, "blue").journey_id))
    assert ("advance_campaign", str(row.pk)) in sent
    tasks.advance_campaign(str(row.pk))
    row.refresh_from_db()
    assert row.state == "paused"
