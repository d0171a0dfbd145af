"""A campaign from its draft to its end, on rows: waves, limits, gates, stops, and what people do."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.campaigns.recipe import Gates, Limits
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.use_cases.campaigns import approvals, lifecycle, member_decisions
from migrations_app.use_cases.journeys.lifecycle import resume_journey
from tests.use_cases.campaigns import stage
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db


def test_a_preview_rests_on_stored_scans_and_tells_who_cannot_join(ada, three):
    Cluster.objects.filter(name="green").update(failures=3)
    Cluster.objects.filter(name="red").update(kube_system_uid="u")
    stage.clusters("red-again")
    Cluster.objects.filter(name="red-again").update(kube_system_uid="u")
    row = stage.previewed(ada)
    causes = dict(CampaignMember.objects.filter(campaign=row).values_list("cluster_name", "cause_code"))
    assert causes == {"blue": "", "green": "unreachable", "red": "", "red-again": "registered_twice"}
    shown = stage.member(row, "blue").shown
    assert [(hop["starts"], hop["lands"]) for hop in shown["hops"]] == [("0.32.10", "0.33.10")]
    assert [step["action"] for step in shown["hops"][0]["steps"] if step["kind"] == "rollout"] == ["taint_and_drift"]
    assert (row.state, row.risk, len(row.digest)) == ("previewed", "high", 64)


def test_a_campaign_goes_through_its_waves(ada, cleo, three):
    row = stage.running(ada, cleo)
    assert stage.advanced(row).state == "running"
    assert stage.states(row) == {"blue": "preparing", "green": "waiting", "red": "waiting"}
    stage.preview_journeys(row)
    stage.advanced(row)
    assert stage.states(row) == {"blue": "running", "green": "waiting", "red": "waiting"}
    assert stage.member(row, "blue").journey.approvals.get().approver_name == "cleo"
    stage.finish_journeys(row)
    stage.advanced(row)
    assert stage.states(row) == {"blue": "done", "green": "preparing", "red": "preparing"}
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.finish_journeys(row)
    assert stage.advanced(row).state == "succeeded"
    assert set(stage.states(row).values()) == {"done"}
    assert stage.notified_topics() == ["campaign.approval_requested", "campaign.completed"]
    counted = [stage.verbs(row).count(f"campaign.member_{word}") for word in ("begun", "covered", "started", "done")]
    assert counted == [3, 3, 3, 3]
    assert not CampaignMember.objects.filter(claims=True).exists()


def test_limits_hold_together_and_per_environment(ada, cleo):
    stage.clusters("a1", "a2", environment="dev")
    stage.clusters("b1", "b2", environment="production")
    row = stage.running(ada, cleo, waves=(0,), limits=Limits(at_once=3, per_environment=1))
    stage.advanced(row)
    assert stage.states(row) == {"a1": "preparing", "a2": "waiting", "b1": "preparing", "b2": "waiting"}


def test_a_wave_waits_for_soak_and_for_a_person(ada, cleo, three):
    row = stage.running(ada, cleo, gates=Gates(soak_seconds=600, person="first"))
    first = stage.member(row, "blue")
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.finish_journeys(row)
    assert (stage.advanced(row).wait_code, row.needs_person) == ("soak", False)
    stage.move_ends_back(row, timedelta(seconds=601))
    CampaignMember.objects.filter(pk=first.pk).update(target_release=stage.TO_RELEASE)
    assert (stage.advanced(row).wait_code, row.needs_person) == ("person", True)
    assert "campaign.needs_person" in stage.notified_topics()
    agree = member_decisions.open_wave
    token = person(ada, method="token")
    assert refusal(PermissionDenied, agree, row.pk, token, wave=1, note="x", by=actor(ada)) == "person_needed"
    assert refusal(InvalidInput, agree, row.pk, person(ada), wave=1, note=" ", by=actor(ada)) == "reason_needed"
    agree(row.pk, person(ada), wave=1, note="quiet night", by=actor(ada))
    stage.advanced(row)
    assert stage.states(row) == {"blue": "done", "green": "preparing", "red": "preparing"}


def test_it_stops_at_the_first_broken_promise_is_mended_and_resumed(ada, cleo, three):
    row = stage.running(ada, cleo, waves=(0,), limits=Limits(at_once=2))
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    assert stage.states(row) == {"blue": "running", "green": "running", "red": "waiting"}
    stage.ended(stage.member(row, "blue"), "paused", cause_code="not_seen")
    stage.finish_journeys(row, "green")
    stage.advanced(row)
    assert (row.state, row.cause_code, row.needs_person) == ("paused", "not_seen", True)
    assert stage.states(row) == {"blue": "stopped", "green": "done", "red": "waiting"}
    assert row.waves.get().stops == 1
    resume = lifecycle.resume_campaign
    assert refusal(Conflict, resume, row.pk, person(ada), by=actor(ada)) == "member_stopped"
    stage.ended(stage.member(row, "blue"), "running", cause_code="")
    stage.advanced(row)
    assert (row.state, stage.states(row)["blue"]) == ("paused", "running")
    resume(row.pk, person(ada), by=actor(ada))
    stage.advanced(row)
    assert stage.states(row) == {"blue": "running", "green": "done", "red": "preparing"}


def test_one_that_cannot_be_mended_is_tried_again_or_taken_out(ada, cleo, three):
    row = stage.running(ada, cleo, waves=(1, 0))
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.ended(stage.member(row, "blue"), "aborted", cause_code="asked")
    stage.advanced(row)
    blue = stage.member(row, "blue")
    assert (row.cause_code, blue.state, blue.cause_code) == ("journey_aborted", "stopped", "journey_aborted")
    member_decisions.requeue_member(row.pk, person(ada), member=blue.pk, by=actor(ada))
    lifecycle.resume_campaign(row.pk, person(ada), by=actor(ada))
    stage.advanced(row)
    assert stage.states(row)["blue"] == "preparing"
    assert stage.member(row, "blue").journeys.count() == 2
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.ended(stage.member(row, "blue"), "aborted")
    stage.advanced(row)
    member_decisions.exclude_member(row.pk, person(ada), member=blue.pk, reason="it is rebuilt", by=actor(ada))
    lifecycle.resume_campaign(row.pk, person(ada), by=actor(ada))
    assert stage.advanced(row).wait_code == "stops"  # two stops in the first wave: a person opens the next one
    assert stage.states(row) == {"blue": "out", "green": "waiting", "red": "waiting"}


def test_the_kill_switch_stops_it_and_it_goes_on_after(ada, cleo, three):
    row = stage.running(ada, cleo)
    KillSwitch.objects.create(on=True)
    assert (stage.advanced(row).state, row.cause_code) == ("paused", "kill_switch")
    assert set(stage.states(row).values()) == {"waiting"}
    resume = lifecycle.resume_campaign
    assert refusal(Conflict, resume, row.pk, person(ada), by=actor(ada)) == "kill_switch"
    KillSwitch.objects.update(on=False)
    resume(row.pk, person(ada), by=actor(ada))
    assert stage.advanced(row).state == "running"
    assert stage.states(row)["blue"] == "preparing"


def test_a_tightened_policy_stops_it_until_more_people_agree(ada, cleo, dora, three):
    row = stage.running(ada, cleo)
    Policy.objects.create(approvals={"low": 0, "medium": 1, "high": 2, "destructive": 2}, version=2)
    assert (stage.advanced(row).state, row.cause_code) == ("paused", "approval_missing")
    resume = lifecycle.resume_campaign
    assert refusal(Conflict, resume, row.pk, person(ada), by=actor(ada)) == "approval_missing"
    approvals.approve_campaign(row.pk, person(dora), approval_request=stage.approval_for(row), by=actor(dora))
    resume(row.pk, person(ada), by=actor(ada))
    assert stage.advanced(row).state == "running"


def test_an_approval_that_is_taken_back_counts_no_more_for_journeys_either(ada, cleo, three):
    row = stage.running(ada, cleo)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    journey = stage.member(row, "blue").journey
    assert journey.approvals.count() == 1
    approvals.withdraw_approval(row.pk, person(cleo), reason="the ticket was closed", by=actor(cleo))
    row.refresh_from_db()
    assert (row.state, row.cause_code, journey.approvals.count()) == ("paused", "approval_missing", 0)
    assert refusal(Conflict, approvals.withdraw_approval, row.pk, person(cleo), reason="", by=actor(cleo)) == "moved"
    approvals.approve_campaign(row.pk, person(cleo), approval_request=stage.approval_for(row), by=actor(cleo))
    lifecycle.resume_campaign(row.pk, person(ada), by=actor(ada))


def test_before_the_start_it_waits_for_an_approval_again(ada, cleo, three):
    row = stage.approved(stage.previewed(ada), ada, [cleo])
    approvals.withdraw_approval(row.pk, person(cleo), reason="", by=actor(cleo))
    row.refresh_from_db()
    assert row.state == "awaiting_approval"


def test_author_and_tokens_never_approve(ada, cleo, three):  # A42
    row = stage.approved(stage.previewed(ada), ada, [])
    approve = approvals.approve_campaign
    assert (
        refusal(PermissionDenied, approve, row.pk, person(ada), approval_request=stage.approval_for(row), by=actor(ada))
        == "forbidden"
    )
    token = person(cleo, method="token")
    assert (
        refusal(PermissionDenied, approve, row.pk, token, approval_request=stage.approval_for(row), by=actor(cleo))
        == "person_needed"
    )
    other = stage.approval_for(row, digest="0" * 64)
    assert refusal(Conflict, approve, row.pk, person(cleo), approval_request=other, by=actor(cleo)) == "digest_moved"
    unnamed = stage.approval_for(row, typed="x")
    assert (
        refusal(InvalidInput, approve, row.pk, person(cleo), approval_request=unnamed, by=actor(cleo))
        == "name_not_typed"
    )


def test_two_campaigns_never_have_one_cluster(ada, cleo, three):
    first, second = stage.previewed(ada), stage.previewed(ada, name="another")
    stage.approved(first, ada, [cleo])
    with pytest.raises(Conflict) as refused:
        approvals.request_campaign_approval(second.pk, person(ada), by=actor(ada))
    assert (refused.value.code, refused.value.message) == ("campaign_holds", "another campaign has blue, green, red")
    third = stage.previewed(ada, name="third")
    assert set(CampaignMember.objects.filter(campaign=third).values_list("cause_code", flat=True)) == {"in_campaign"}
    assert (third.state, third.cause_code) == ("expired", "nothing_joins")


def test_a_cluster_that_is_removed_in_the_middle_stops_it(ada, cleo, three):
    row = stage.running(ada, cleo, waves=(2, 0))
    stage.advanced(row)
    Cluster.objects.get(name="blue").delete()
    stage.advanced(row)
    assert (row.state, row.cause_code) == ("paused", "cluster_gone")
    assert stage.states(row) == {"blue": "out", "green": "preparing", "red": "waiting"}
    Cluster.objects.get(name="red").delete()
    lifecycle.resume_campaign(row.pk, person(ada), by=actor(ada))
    stage.advanced(row)
    assert (row.state, stage.states(row)["red"]) == ("running", "out")  # it only waited


def test_a_cluster_that_answers_no_more_stops_it(ada, cleo, three):
    row = stage.running(ada, cleo)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    Cluster.objects.filter(name="blue").update(failures=3)
    stage.advanced(row)
    assert (row.state, row.cause_code, stage.states(row)["blue"]) == ("paused", "unreachable", "stopped")


def test_a_release_that_is_reverted_while_it_soaks_stops_it(ada, cleo, three):
    row = stage.running(ada, cleo, gates=Gates(soak_seconds=3600, person="never"))
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    stage.finish_journeys(row)
    stage.advanced(row)
    stage.move_ends_back(row, timedelta(minutes=1))
    stage.scanned(Cluster.objects.get(name="blue"))
    stage.advanced(row)
    assert (row.state, row.cause_code, stage.states(row)["blue"]) == ("paused", "reverted", "stopped")
    stage.scanned(Cluster.objects.get(name="blue"), release=stage.TO_RELEASE)
    stage.advanced(row)
    assert stage.states(row)["blue"] == "done"


def test_a_plan_that_differs_from_what_was_shown_asks_people(ada, cleo, three):
    row = stage.running(ada, cleo)
    member = stage.member(row, "blue")
    shown = dict(member.shown)
    shown["hops"][0]["steps"] = [step for step in shown["hops"][0]["steps"] if step["kind"] != "rollout"]
    CampaignMember.objects.filter(pk=member.pk).update(shown=shown)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    blue = stage.member(row, "blue")
    assert (blue.state, blue.cause_code, blue.journey.state) == ("asking", "action_added", "awaiting_approval")
    assert row.state == "running"
    from migrations_app.use_cases.journeys.approvals import approve_journey
    from tests.use_cases.journeys.stage import approval_for

    approve_journey(blue.journey_id, person(cleo), approval_request=approval_for(blue.journey), by=actor(cleo))
    stage.advanced(row)
    assert stage.states(row)["blue"] == "running"


def test_pause_takes_its_journeys_along_and_resume_too(ada, cleo, three):
    row = stage.running(ada, cleo)
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    lifecycle.pause_campaign(row.pk, person(ada), by=actor(ada))
    assert stage.member(row, "blue").journey.state == "paused"
    stage.advanced(row)
    assert stage.states(row)["blue"] == "running"
    lifecycle.resume_campaign(row.pk, person(ada), by=actor(ada))
    assert stage.member(row, "blue").journey.state == "running"


def test_the_end_pauses_what_is_under_way_and_withdraws_the_rest(ada, cleo, three):
    row = stage.running(ada, cleo, waves=(0,), limits=Limits(at_once=1))
    stage.advanced(row)
    stage.preview_journeys(row)
    stage.advanced(row)
    lifecycle.abort_campaign(row.pk, person(ada), reason="enough", by=actor(ada))
    row.refresh_from_db()
    assert (row.state, stage.member(row, "blue").journey.state) == ("aborted", "paused")
    resume_journey(stage.member(row, "blue").journey_id, person(ada), by=actor(ada))


def test_what_nobody_starts_ends(ada, cleo, three):
    row = stage.approved(stage.previewed(ada), ada, [cleo])
    type(row).objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert refusal(
        Conflict, lifecycle.start_campaign, row.pk, person(ada), digest=row.digest, by=actor(ada)
    ) == "expired"  # fmt: skip
    assert lifecycle.expire_campaigns() == 1
    assert not CampaignMember.objects.filter(claims=True).exists()


def test_without_rights_nothing_is_drafted_or_started(ada, cleo, three):
    with pytest.raises(InvalidInput) as refused:
        stage.drafted(cleo)
    assert refused.value.code == "no_clusters"
    row = stage.approved(stage.previewed(ada), ada, [cleo])
    start = lifecycle.start_campaign
    assert refusal(PermissionDenied, start, row.pk, person(cleo), digest=row.digest, by=actor(cleo)) == "forbidden"
    assert refusal(Conflict, start, row.pk, person(ada), digest="x", by=actor(ada)) == "digest_moved"
