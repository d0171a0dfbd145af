"""What stops together with a campaign, what does not, and what is told of it to whom."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from migrations_app.campaigns.next_moves import CampaignMove
from migrations_app.errors import Conflict, PermissionDenied
from migrations_app.models.account import Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Approval, Outbox, Rollout
from migrations_app.queries.campaigns.campaigns import campaign_row
from migrations_app.queries.visibility import ALL, VisibilityScope, permissions_of, visibility_scope
from migrations_app.use_cases.campaigns import approvals, lifecycle, worker
from migrations_app.use_cases.campaigns.moves import CampaignWorkToEnqueue, make_campaign_move
from migrations_app.use_cases.campaigns.transitions import load_campaign
from migrations_app.use_cases.clusters.batches import remove_all
from migrations_app.use_cases.clusters.registration import remove
from migrations_app.use_cases.journeys import worker as journey_worker
from migrations_app.use_cases.journeys.holds import change_hold
from migrations_app.use_cases.journeys.lifecycle import pause_journey, resume_journey
from tests.builders.rollouts import a_rollout
from tests.use_cases.campaigns import stage
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import actor, person, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def working(ada, cleo, three):
    """A campaign in one wave whose three journeys run."""
    return begun(ada, cleo)


def begun(ada, cleo, **wanted) -> Campaign:
    row = stage.running(ada, cleo, **({"waves": (0,)} | wanted))
    stage.advanced(row)
    stage.preview_journeys(row)
    return stage.advanced(row)


def of_group(name: str, *clusters: str):
    """An operator of these clusters alone."""
    group = ClusterGroup.objects.create(name=f"of {name}")
    group.clusters.set(Cluster.objects.filter(name__in=clusters))
    found = user(name)
    Grant.objects.create(person=found, role="operator", over=group)
    return found


def journeys_of(row) -> dict[str, str]:
    parts = CampaignMember.objects.filter(campaign=row).exclude(journey=None)
    return dict(parts.order_by("cluster_name").values_list("cluster_name", "journey__state"))


def with_rollout(row, name: str) -> Rollout:
    """The rollout of the first step of that cluster's journey, approved and started."""
    member = stage.member(row, name)
    journeys.advanced(member.journey, 2)
    journeys.planned(member.cluster)
    journeys.advanced(member.journey, 2)
    return journeys.work(member.journey)


class TestPausing:
    def test_who_lacks_the_right_over_one_cluster_pauses_none(self, working, ada):  # T11
        one = of_group("bea", "blue", "green")
        pause = lifecycle.pause_campaign
        assert refusal(PermissionDenied, pause, working.pk, person(one), by=actor(one)) == "forbidden"
        working.refresh_from_db()
        assert (working.state, set(journeys_of(working).values())) == ("running", {"running"})

    def test_a_journey_that_a_person_started_is_paused_before_it_was_noted(self, working, ada):
        CampaignMember.objects.filter(cluster_name="blue").update(state="asking")
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        assert set(journeys_of(working).values()) == {"paused"}

    def test_a_rollout_that_just_ended_keeps_no_journey_running(self, working, ada, monkeypatch):
        made = with_rollout(working, "blue")
        assert made.state == "running"
        Rollout.objects.filter(pk=made.pk).update(stop_request="abort")
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        made.refresh_from_db()
        assert (journeys_of(working)["blue"], made.stop_request) == ("paused", "abort")

    def test_all_stop_with_one_where_the_recipe_says_so(self, ada, cleo, three):
        row = begun(ada, cleo, stop_all=True)
        ada.user_permissions.clear()  # what people approved needs no right of the starter any more
        stage.ended(stage.member(row, "blue"), "paused", cause_code="not_seen")
        stage.advanced(row)
        assert (row.state, journeys_of(row)) == ("paused", {"blue": "paused", "green": "paused", "red": "paused"})
        flags = dict(CampaignMember.objects.values_list("cluster_name", "paused_with"))
        assert flags == {"blue": False, "green": True, "red": True}

    def test_all_stop_also_where_a_journey_is_refused(self, ada, cleo, three):
        row = stage.running(ada, cleo, waves=(0,), stop_all=True)
        stage.advanced(row)
        stage.preview_journeys(row)
        stage.advanced(row, 1)  # covers all three
        first = stage.member(row, "blue")
        Journey.objects.filter(pk=stage.member(row, "green").journey_id).update(state="running")
        Journey.objects.filter(pk=first.journey_id).update(expires_at=first.journey.made_at)
        stage.advanced(row)
        assert (row.state, row.cause_code, stage.states(row)["blue"]) == ("paused", "expired", "stopped")
        assert journeys_of(row)["green"] == "paused"


class TestResuming:
    def test_one_that_waits_for_a_window_is_resumed_when_it_may(self, working, ada):
        made = with_rollout(working, "blue")
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        Rollout.objects.filter(pk=made.pk).update(state="paused", stop_request="", cause_code="pause")
        Policy.objects.create(frozen=True, frozen_why="fair")
        lifecycle.resume_campaign(working.pk, person(ada), by=actor(ada))
        stage.advanced(working)
        assert journeys_of(working) == {"blue": "paused", "green": "running", "red": "running"}
        assert (working.state, stage.member(working, "blue").paused_with) == ("running", True)
        Policy.objects.update(frozen=False)
        stage.advanced(working)
        made.refresh_from_db()
        assert (journeys_of(working)["blue"], made.state) == ("running", "running")
        assert stage.verbs(working).count("campaign.member_resumed") == 1
        assert not stage.member(working, "blue").paused_with

    def test_one_whose_disruption_is_held_is_resumed_once_its_budgets_are_back(self, working, ada):
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        row = Journey.objects.get(pk=stage.member(working, "blue").journey_id)
        change_hold(row.pk, person(ada), asked_for="held", by=actor(ada))
        held = JourneyRollout.objects.create(
            step=row.steps.first(), rollout=a_rollout(row.cluster, state="succeeded"), purpose="hold"
        )
        lifecycle.resume_campaign(working.pk, person(ada), by=actor(ada))
        stage.advanced(working)
        assert journeys_of(working) == {"blue": "paused", "green": "running", "red": "running"}
        assert (stage.member(working, "blue").paused_with, JourneyHold.objects.get().asked_for) == (False, "released")
        JourneyRollout.objects.filter(pk=held.pk).update(purpose="preview")  # as if it had never been started
        journey_worker.advance_journey(row.pk, holder="w")
        stage.advanced(working)
        assert (working.state, journeys_of(working)["blue"]) == ("running", "running")
        pause_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(working)
        assert journeys_of(working)["blue"] == "paused"  # a later pause is that of a person

    def test_a_restoring_that_failed_is_not_asked_for_again_by_a_worker(self, working, ada):
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        row = Journey.objects.get(pk=stage.member(working, "blue").journey_id)
        change_hold(row.pk, person(ada), asked_for="held", by=actor(ada))
        for purpose, state in (("hold", "succeeded"), ("release", "failed")):
            made = a_rollout(row.cluster, state=state)
            JourneyRollout.objects.create(step=row.steps.first(), rollout=made, purpose=purpose)
        JourneyHold.objects.update(asked_for="released")
        Campaign.objects.update(state="running")
        CampaignMember.objects.exclude(cluster_name="blue").update(paused_with=False)
        stage.advanced(working)
        assert (working.state, working.cause_code) == ("paused", "disruption_held")
        assert "journey.release_asked" not in journeys.verbs(row)

    def test_one_that_a_person_resumed_and_paused_again_stays_paused(self, working, ada):
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        blue = stage.member(working, "blue").journey_id
        resume_journey(blue, person(ada), by=actor(ada))
        stage.advanced(working)
        assert (stage.member(working, "blue").paused_with, stage.member(working, "red").paused_with) == (False, True)
        pause_journey(blue, person(ada), by=actor(ada))
        lifecycle.resume_campaign(working.pk, person(ada), by=actor(ada))
        stage.advanced(working)
        assert journeys_of(working) == {"blue": "paused", "green": "running", "red": "running"}

    def test_one_whose_rollout_stopped_by_itself_is_looked_at_first(self, working, ada):
        made = with_rollout(working, "blue")
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        Rollout.objects.filter(pk=made.pk).update(state="paused", stop_request="", cause_code="gate")
        with pytest.raises(Conflict) as refused:
            lifecycle.resume_campaign(working.pk, person(ada), by=actor(ada))
        assert (refused.value.code, refused.value.message.partition(":")[0]) == ("rollout_paused", "blue")
        working.refresh_from_db()
        assert (working.state, set(journeys_of(working).values())) == ("paused", {"paused"})  # all or nothing

    def test_one_that_was_resumed_by_hand_is_left_as_it_is(self, working, ada):
        lifecycle.pause_campaign(working.pk, person(ada), by=actor(ada))
        Journey.objects.filter(pk=stage.member(working, "blue").journey_id).update(state="running")
        lifecycle.resume_campaign(working.pk, person(ada), by=actor(ada))
        assert set(journeys_of(working).values()) == {"running"}


class TestApprovalsTakenBack:
    def test_what_was_approved_with_it_and_not_started_is_planned_anew(self, working, cleo):  # A41
        Policy.objects.create(frozen=True, frozen_why="fair")
        made = with_rollout(working, "blue")
        assert (made.state, Approval.objects.filter(rollout=made).count()) == ("approved", 1)
        approvals.withdraw_approval(working.pk, person(cleo), reason="wait", by=actor(cleo))
        made.refresh_from_db()
        assert (made.state, made.cause_code) == ("expired", "approval_taken_back")
        Policy.objects.update(frozen=False)
        again = with_rollout(working, "blue")
        assert (again.pk != made.pk, again.state) == (True, "awaiting_approval")
        assert not Approval.objects.filter(rollout=again).exists()


class TestRegistrations:
    def test_a_cluster_that_a_campaign_claims_is_not_forgotten(self, ada, cleo, three):
        row = stage.running(ada, cleo)
        red = Cluster.objects.get(name="red")
        assert refusal(Conflict, remove, red.pk, typed_name="red") == "campaign_holds"
        with visibility_scope(ALL):
            assert refusal(Conflict, remove_all, {red.pk: "red"}) == "campaign_holds"
        assert Cluster.objects.filter(pk=red.pk).exists()
        lifecycle.abort_campaign(row.pk, person(ada), reason="enough", by=actor(ada))
        remove(red.pk, typed_name="red")
        assert not Cluster.objects.filter(pk=red.pk).exists()


class TestEnds:
    def test_one_of_which_every_cluster_was_left_out_did_not_succeed(self, ada, cleo, three):
        row = stage.running(ada, cleo)
        Cluster.objects.all().delete()
        stage.advanced(row)
        assert (row.state, row.cause_code) == ("aborted", "nothing_done")
        assert stage.verbs(row)[-1] == "campaign.aborted"

    def test_a_journey_to_the_last_release_leaves_no_hop_whatever_was_counted(self, ada, cleo, three):
        row = begun(ada, cleo, waves=(1, 0))
        CampaignMember.objects.filter(campaign=row, cluster_name="blue").update(hops_left=1)
        stage.finish_journeys(row)
        stage.advanced(row)
        assert (stage.states(row)["blue"], Journey.objects.filter(cluster__name="blue").count()) == ("done", 1)


class TestTold:
    def test_a_cluster_is_named_to_those_who_see_it_alone(self, working, ada):  # T11
        stage.ended(stage.member(working, "blue"), "paused", cause_code="not_seen")
        stage.advanced(working)
        assert working.cause == "blue"
        some = of_group("bea", "green")
        with visibility_scope(VisibilityScope(permissions_of(some))):
            assert (campaign_row(working.pk).cause_code, campaign_row(working.pk).cause) == ("not_seen", "")
        with visibility_scope(VisibilityScope(permissions_of(ada))):
            assert campaign_row(working.pk).cause == "blue"
        assert "blue" not in str(Outbox.objects.filter(topic="campaign.paused").latest("pk").body)
        event = AuditEvent.objects.filter(correlation=str(working.pk), verb="campaign.paused").latest("seq")
        assert json.loads(event.detail)["cluster"] == "blue"

    def test_a_campaign_of_others_is_not_told_their_clusters(self, ada, cleo, three):
        stage.running(ada, cleo)
        Cluster.objects.filter(name="red").update(kube_system_uid="u")
        stage.clusters("pink")
        Cluster.objects.filter(name="pink").update(kube_system_uid="u")
        bea = of_group("bea", "pink")
        with visibility_scope(VisibilityScope(permissions_of(bea))):
            row = stage.drafted(bea, name="of bea")
            CampaignMember.objects.filter(campaign=row).update(
                target_release="0.33.10", shown={"cluster": "", "name": "pink"}
            )
            Campaign.objects.filter(pk=row.pk).update(state="previewed")
            with pytest.raises(Conflict) as refused:
                approvals.request_campaign_approval(row.pk, person(bea), by=actor(bea))
        assert (refused.value.code, refused.value.message) == (
            "campaign_holds",
            "another campaign has 1 of the clusters",
        )


class TestSweeps:
    def test_a_campaign_that_waits_takes_no_turn_of_another(self, ada, cleo, three, monkeypatch):
        first = stage.running(ada, cleo)
        second = stage.drafted(ada, name="second")
        Campaign.objects.filter(pk=second.pk).update(made_at=second.made_at - timedelta(hours=1))
        monkeypatch.setattr(worker, "MAX_ENQUEUED", 1)
        assert {pk for _ in range(64) for pk in worker.campaigns_to_enqueue()} == {first.pk, second.pk}

    def test_nor_does_a_journey(self, working, ada, monkeypatch):
        pause_journey(stage.member(working, "red").journey_id, person(ada), by=actor(ada))
        monkeypatch.setattr(journey_worker, "MAX_ENQUEUED", 1)
        seen = {pk for _ in range(64) for pk in journey_worker.journeys_to_enqueue()}
        assert seen == {stage.member(working, name).journey_id for name in ("blue", "green")}


def test_the_campaign_is_held_before_its_journeys_and_the_log(ada, cleo, three):
    """A person who pauses it locks in that order; in another one the two would wait for each other."""
    row = stage.running(ada, cleo)
    stage.advanced(row, 1)
    move = CampaignMove("prepare", str(stage.member(row, "blue").pk))
    with CaptureQueriesContext(connection) as asked:
        make_campaign_move(load_campaign(row.pk), move, to_enqueue=CampaignWorkToEnqueue())
    written = [
        one["sql"].split('"')[1] for one in asked.captured_queries if one["sql"].startswith(("UPDATE", "INSERT"))
    ]
    assert written[0] == Campaign._meta.db_table
    assert AuditEvent._meta.db_table in written
