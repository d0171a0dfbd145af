"""What a cluster page says to do first: work under way, a connection that fails, a result that is out of date."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_failure, a_snapshot
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop", environment="production")


def page_of(client, cluster, tab=""):
    return client.get(f"/clusters/{cluster.pk}/{tab}")


def next_box(page):
    """What the page says to do now, and what after it."""
    words = text(page)
    return words[words.index("Do this now") :][:260]


def test_a_stale_result_is_scanned_again_first(ada, shop):
    a_snapshot(shop, at=timezone.now() - timedelta(days=2))
    page = page_of(ada, shop)
    assert next_box(page).startswith("Do this now Scan again: the newest result is out of date")
    assert ("As of 2 days ago" in text(page), "Then 2 objects keep legacy provisioners" in text(page)) == (True, True)
    assert "Next: Scan again: the newest result is out of date" in text(page_of(ada, shop, "nodes"))
    form = re.search(r"(?s)<form[^>]*/scan.*?</form>", page.content.decode())[0]
    assert ("button-primary" in form, "Scan now" in form, 'name="check"' in form) == (True, True, False)


def test_a_cluster_that_is_not_reached_is_connected_first(ada, shop):
    a_snapshot(shop)
    a_failure(shop, times=4)
    assert next_box(page_of(ada, shop)).startswith("Do this now Fix the connection, then scan again")


@pytest.mark.parametrize(
    ("state", "title", "words"),
    [
        ("running", "Wait for the rollout “{}”", "Change nothing by hand before it has ended."),
        ("rolling_back", "Wait for the rollback of “{}”", "Change nothing by hand before it has ended."),
        ("paused", "Resume or abort the paused rollout “{}”", "resume or abort it."),
        ("needs_attention", "Record what came of the rollout “{}”", "look in the cluster, and record the result."),
        ("approved", "Start the approved rollout “{}”", "can be started."),
        ("awaiting_approval", "Get the rollout “{}” approved", "waits for an approval."),
    ],
)
def test_a_rollout_under_way_comes_first(ada, shop, state, title, words):
    """The title of the rollout alone would read as work to be done by hand."""
    a_snapshot(shop)
    row = a_rollout(shop, state=state)
    page = page_of(ada, shop)
    told = title.format("Taint Provisioners and let drift replace their nodes")
    assert next_box(page).startswith(f"Do this now {told}")
    assert ("Open rollout" in next_box(page), "Done, check again" in text(page)) == (True, False)
    assert (words in next_box(page), f"/rollouts/{row.pk}/" in links(page)) == (True, True)
    assert "Then" not in next_box(page)
    assert "The fix is at the top of this page." not in text(page)


@pytest.mark.parametrize("state", ["succeeded", "aborted", "previewed"])
def test_other_rollouts_do_not(ada, shop, state):
    a_snapshot(shop)
    a_rollout(shop, state=state)
    a_rollout(a_cluster("other"), state="running")
    assert next_box(page_of(ada, shop)).startswith("Do this now 2 objects keep legacy provisioners gone")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"state": "running"}, "says which step is next"),
        ({"state": "running", "needs_person": True}, "waits for a person"),
        ({"state": "paused"}, "read why, then resume or end it"),
    ],
)
def test_an_upgrade_step_by_step_comes_first(ada, shop, columns, words):
    a_snapshot(shop)
    journey = a_journey(shop, **columns)
    a_rollout(shop, state="running")
    page = page_of(ada, shop)
    assert next_box(page).startswith("Do this now Upgrade to 1.0.14, step by step")
    assert (words in next_box(page), f"/journeys/{journey.pk}/" in links(page)) == (True, True)


def in_campaign(cluster, *, campaign="running", member="stopped", journey=None):
    row = a_campaign(cluster, state=campaign)
    row.members.update(state=member, journey=journey, claims=True)
    return f"/campaigns/{row.pk}/"


@pytest.mark.parametrize(
    ("campaign", "member", "words"),
    [
        ("running", "stopped", "The campaign “to v1” has stopped this cluster"),
        ("paused", "stopped", "The campaign “to v1” has stopped this cluster"),
        ("paused", "running", "The campaign “to v1” is paused: nothing starts here before it is resumed."),
    ],
)
def test_a_campaign_that_holds_the_cluster_is_named(ada, shop, campaign, member, words):
    a_snapshot(shop)
    url = in_campaign(shop, campaign=campaign, member=member)
    page = page_of(ada, shop)
    assert next_box(page).startswith("Do this now Settle the campaign of this cluster " + words)
    assert (url in links(page), "Then 2 objects keep legacy provisioners" in text(page)) == (True, True)
    assert ("Open campaign" in text(page), "Done, check again" in text(page)) == (True, True)


@pytest.mark.parametrize("state", ["paused", "running"])
def test_beside_an_upgrade_step_by_step_the_campaign_is_named_too(ada, shop, state):
    a_snapshot(shop)
    url = in_campaign(shop, journey=a_journey(shop, state=state))
    page = page_of(ada, shop)
    assert next_box(page).startswith("Do this now Upgrade to 1.0.14, step by step")
    assert "The campaign “to v1” has stopped this cluster" in next_box(page)
    assert url in links(page)


@pytest.mark.parametrize(
    ("campaign", "member"),
    [("running", "running"), ("running", "waiting"), ("paused", "waiting"), ("paused", "done"), ("aborted", "stopped")],
)
def test_a_campaign_that_does_not_hold_the_cluster_is_not(ada, shop, campaign, member):
    a_snapshot(shop)
    in_campaign(shop, campaign=campaign, member=member)
    assert next_box(page_of(ada, shop)).startswith("Do this now 2 objects keep legacy provisioners gone")
