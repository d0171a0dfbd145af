"""Decisions on many clusters at once, and what one approval covers besides plans."""

import json

import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.errors import InvalidInput, PermissionDenied
from migrations_app.journeys.deletions import DestroyedObject, deleted_objects
from migrations_app.journeys.prior_approval import PriorApproval
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import CampaignApproval, CampaignMember
from migrations_app.models.journey import Journey, JourneyApproval, JourneyStepRow
from migrations_app.models.policy import Policy
from migrations_app.queries.campaigns.approval_scope import covered_by_approval
from migrations_app.queries.campaigns.pending_decisions import waiting_in
from migrations_app.queries.rollouts.policies import campaigns_may_destroy
from migrations_app.use_cases.campaigns import approvals, bulk_decisions, member_journeys
from migrations_app.use_cases.campaigns.bulk_decisions import TogetherRequest
from migrations_app.use_cases.campaigns.transitions import load_campaign
from migrations_app.use_cases.journeys import step_rollouts
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_plan, a_rollout, remove
from tests.use_cases.campaigns import stage
from tests.use_cases.campaigns.test_prior_approval import NOTE, running, steps_of
from tests.use_cases.journeys import stage as journeys
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db


def asking(ada, cleo, *names: str, **more):
    """A campaign whose clusters each wait for a person's word."""
    row = running(ada, cleo, *names, **more)
    for name in names:
        journeys.advanced(stage.member(row, name).journey, 4)
    return row


def decided(row, ada, *keys: str, **said):
    wanted = TogetherRequest(keys=keys, **({"note": "compared with the owners"} | said))
    return bulk_decisions.decide_together(row.pk, person(ada), request=wanted, by=actor(ada))


def test_one_decision_confirms_a_step_on_every_cluster(ada, cleo):
    row = asking(ada, cleo, "blue", "green")
    waiting = waiting_in(row.pk)
    assert [(one.cluster, one.kind, one.code) for one in waiting] == [
        ("blue", "step", "tick_needed"),
        ("green", "step", "tick_needed"),
    ]
    found = decided(row, ada, *(one.key for one in waiting))
    assert [one.code for one in found] == ["", ""]
    for name in ("blue", "green"):
        assert steps_of(row, name)[0] == ("person", "done", "ada", "compared with the owners")
    assert AuditEvent.objects.filter(verb="journey.step_ticked").count() == 2
    told = json.loads(AuditEvent.objects.get(verb="campaign.decided").detail)
    assert (len(told["done"]), told["refused"]) == (2, {})
    assert waiting_in(row.pk) == ()


def test_what_moved_since_it_was_shown_is_refused_alone(ada, cleo):
    row = asking(ada, cleo, "blue", "green")
    blue, green = waiting_in(row.pk)
    Journey.objects.filter(pk=green.journey).update(version=green.version + 1)
    assert [one.code for one in decided(row, ada, blue.key, green.key)] == ["", "moved"]
    assert (steps_of(row, "blue")[0][1], steps_of(row, "green")[0][1]) == ("done", "running")


def test_nobody_confirms_what_an_earlier_scan_said(ada, cleo):
    row = asking(ada, cleo, "blue", status="fail")
    (blue,) = waiting_in(row.pk)
    told = journeys.verbs(stage.member(row, "blue").journey).count("journey.person_needed")
    worse = journeys.finding("controller_permitted", status="fail", summary="worse", phase="iam", severity="warning")
    journeys.scanned(stage.member(row, "blue").cluster, journeys.finding(), worse, late=2)
    journeys.advanced(stage.member(row, "blue").journey, 2)
    (now,) = waiting_in(row.pk)
    assert [check.summary for check in now.checks] == ["worse"]
    assert [one.code for one in decided(row, ada, blue.key)] == ["moved"]
    assert journeys.verbs(stage.member(row, "blue").journey).count("journey.person_needed") == told + 1
    assert [one.code for one in decided(row, ada, now.key)] == [""]


def test_who_may_not_confirm_is_refused_each_and_a_token_at_once(ada, cleo):
    row = asking(ada, cleo, "blue")
    (blue,) = waiting_in(row.pk)
    assert [one.code for one in decided(row, cleo, blue.key)] == ["forbidden"]
    wanted = TogetherRequest(keys=(blue.key,), note="seen")
    with pytest.raises(PermissionDenied) as refused:
        bulk_decisions.decide_together(row.pk, person(ada, method="token"), request=wanted, by=actor(ada))
    assert refused.value.code == "person_needed"
    with pytest.raises(InvalidInput):
        decided(row, ada)
    assert steps_of(row, "blue")[0][1] == "running"


def test_a_step_for_a_person_ends_where_a_scan_shows_it_done(ada, cleo):
    row = asking(ada, cleo, "blue", status="fail")
    assert steps_of(row, "blue")[0][1] == "running"
    step = JourneyStepRow.objects.get(journey=stage.member(row, "blue").journey, kind="person")
    assert step.definition["checks"] == ["controller_permitted"]
    mended = msgspec.structs.replace(journeys.finding("controller_permitted", status="pass"), phase="iam")
    journeys.scanned(stage.member(row, "blue").cluster, journeys.finding(), mended, late=2)
    journeys.advanced(stage.member(row, "blue").journey, 2)
    step.refresh_from_db()
    assert (step.state, step.by_name, step.cause_code) == ("done", "", "seen")


def test_a_warning_is_accepted_by_the_approver_who_ticks_it(ada, cleo):
    for one in stage.clusters("blue"):
        warning = msgspec.structs.replace(journeys.finding("controller_permitted", status="fail"), phase="iam")
        journeys.scanned(one, journeys.finding(), msgspec.structs.replace(warning, severity="warning"))
        stage_latest(one)
    row = stage.previewed(ada, weighed=NOTE, accepts=True)
    assert list(covered_by_approval(row.pk).warnings) == ["controller_permitted"]
    with pytest.raises(InvalidInput) as refused:
        stage.approved(row, ada, [cleo])
    assert (refused.value.code, refused.value.where) == ("not_accepted", "accepted")
    row.refresh_from_db()
    approval_request = stage.approval_for(row, accepted=("controller_permitted",))
    approvals.approve_campaign(row.pk, person(cleo), approval_request=approval_request, by=actor(cleo))
    row.refresh_from_db()
    assert row.state == "approved"
    assert json.loads(AuditEvent.objects.get(verb="campaign.yes").detail)["accepted"] == ["controller_permitted"]


@pytest.mark.parametrize(("causes", "asked"), [(50, True), (51, False)])
def test_every_cause_that_is_accepted_is_shown(ada, causes, asked):
    rows = tuple(Evidence(kind="Pod", namespace="shop", name=f"cart-{number}", seen="old") for number in range(causes))
    warning = journeys.finding(
        "controller_permitted", phase="iam", severity="warning", evidence=rows, evidence_total=causes
    )
    for one in stage.clusters("blue"):
        journeys.scanned(one, journeys.finding(), warning)
        stage_latest(one)
    row = stage.previewed(ada, weighed=NOTE, accepts=True)
    here = load_campaign(row.pk)
    assert here.plan.accepted == (("controller_permitted",) if asked else ())
    told = [on.warning.about for found in covered_by_approval(row.pk).warnings.values() for on in found]
    assert told == ([tuple(f"Pod shop/cart-{number}: old" for number in range(50))] if asked else [])
    prior = member_journeys._decisions_for(here, here.members[0])
    assert [hop.accepted for hop in prior.weighed.values() if hop.accepted] == (
        [("controller_permitted",)] if asked else []
    )


def test_a_cluster_that_was_left_out_is_still_part_of_what_is_approved(ada):
    warning = journeys.finding("controller_permitted", phase="iam", severity="warning")
    for one in stage.clusters("blue"):
        journeys.scanned(one, journeys.finding(), warning)
        stage_latest(one)
    row = stage.previewed(ada, weighed=NOTE, accepts=True)
    CampaignMember.objects.filter(campaign=row).update(state="out", cause="rebuilt")
    assert (
        tuple(covered_by_approval(row.pk).warnings) == load_campaign(row.pk).plan.accepted == ("controller_permitted",)
    )


@pytest.mark.parametrize(("saw", "state"), [(True, "approved"), (False, "awaiting_approval")])
def test_who_approved_the_journey_alone_does_not_count_for_a_deletion(ada, cleo, dora, saw, state):  # A40, A44
    Policy.objects.create(campaigns_destroy=True, approvals={"destructive": 2})
    (blue,) = stage.clusters("blue")
    row = a_campaign(blue, state="running", author=ada)
    journey = a_journey(blue, state="running", author=ada, at=1)
    CampaignMember.objects.filter(campaign=row).update(state="running", journey=journey)
    step = journey.steps.get(place=1)
    plan = a_plan(blue, remove(risk="destructive"), action=step.definition["action"])
    made = a_rollout(blue, plan_value=plan, author=ada)
    prior = PriorApproval(
        source="campaign", destroys={journey.target_release: (plan.action,)}, objects=deleted_objects(plan) or (),
        cluster=step_rollouts.outline_of(made).cluster, covered=True,
    )  # fmt: skip
    journey.choices = journey.choices | {"settled": msgspec.to_builtins(prior)}
    journey.save()
    for who in (cleo, dora):
        told = {"approver": who, "approver_name": who.username, "step_up": True}
        JourneyApproval.objects.create(journey=journey, digest=journey.digest, nonce=journey.nonce, **told)
        if saw or who is cleo:
            CampaignApproval.objects.create(campaign=row, digest=row.digest, nonce=row.nonce, **told)
    step_rollouts.cover(journey, made, step=step)
    made.refresh_from_db()
    assert (made.state, made.approvals.count()) == (state, 2 if saw else 1)


def test_words_are_needed_where_warnings_are_accepted(ada):
    stage.clusters("blue")
    with pytest.raises(InvalidInput) as refused:
        stage.drafted(ada, accepts=True)
    assert refused.value.code == "reason_needed"
    with pytest.raises(InvalidInput) as refused:
        stage.drafted(ada, destroys=("forced_deletion",))
    assert (refused.value.where, refused.value.code) == ("destroys", "bad_parameter")


OLD = DestroyedObject(kind="Provisioner", name="default", uid="u-1")


@pytest.mark.parametrize("allowed", [True, False])
def test_objects_are_covered_only_where_the_policy_lets_a_campaign_cover_them(ada, three, allowed):
    Policy.objects.create(campaigns_destroy=allowed)
    assert campaigns_may_destroy(three[0].pk) is allowed
    row = stage.previewed(ada, destroys=("remove_legacy",))
    member = CampaignMember.objects.filter(campaign=row).first()
    assert member is not None
    told = {"objects": [msgspec.to_builtins(OLD)], "destroys": allowed}
    CampaignMember.objects.filter(pk=member.pk).update(shown={**member.shown, **told})
    here = load_campaign(row.pk)
    prior = member_journeys._decisions_for(here, here.member(member.pk))
    assert prior.objects == ((OLD,) if allowed else ())


def stage_latest(one) -> None:
    """The newest scan is the one that its page shows."""
    from django.utils import timezone

    from migrations_app.models.cluster import Cluster
    from migrations_app.models.scan import Scan, Snapshot

    newest = Scan.objects.filter(cluster=one).latest("started_at").snapshot_id
    Snapshot.objects.filter(pk=newest).update(scanned_at=timezone.now())
    Cluster.objects.filter(pk=one.pk).update(latest=newest)
