"""A journey from its draft to its end: what each move does, and which plans ask people."""

from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.actions.changes import merge
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.models.scan import Scan
from migrations_app.readiness.report import Target
from migrations_app.use_cases.journeys import steps as people
from migrations_app.use_cases.journeys.approvals import approve_journey, reject_journey, request_journey_approval
from migrations_app.use_cases.journeys.lifecycle import (
    resume_journey,
)
from tests.builders.rollouts import POOL, remove, taint
from tests.builders.rows import a_report, a_snapshot
from tests.use_cases.journeys import stage
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import APPROVE, OPERATE, actor, person, user

pytestmark = pytest.mark.django_db
CLEAR = "pass"


class TestPreview:
    def test_a_draft_asks_for_a_scan_and_waits_for_it(self, shop, ada):
        row = stage.advanced(stage.drafted(shop, ada), 3)
        assert (row.state, stage.steps(row)) == ("draft", [])
        assert list(Scan.objects.values_list("requested_by", "state")) == [("journey", "queued")]

    def test_the_steps_are_those_of_the_next_hop(self, shop, ada):
        stage.scanned(shop)
        row = stage.advanced(stage.drafted(shop, ada))
        assert (row.hop, row.starts, row.target_release) == (stage.HOP, stage.FROM_RELEASE, stage.TO_RELEASE)
        assert [kind for kind, _ in stage.steps(row)] == ["rollout", "outside", "wait", "outside"]
        assert Rollout.objects.get().state == "draft"

    def test_every_plan_is_shown_and_ends_at_once(self, shop, ada):
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        assert (row.state, len(row.digest)) == ("previewed", 64)
        assert list(Rollout.objects.values_list("state", "cause_code")) == [("expired", "shown_in_journey")]
        assert stage.verbs(row) == ["journey.draft", "journey.composed", "journey.previewed"]

    def test_a_cluster_without_a_next_hop_ends_the_draft(self, shop, ada):
        stage.scanned(shop)
        bare = msgspec.structs.replace(a_report("shop"), target=Target(None, ()))
        Scan.objects.filter(cluster=shop).update(snapshot=a_snapshot(shop, bare))
        row = stage.advanced(stage.drafted(shop, ada))
        assert (row.state, row.cause_code) == ("expired", "no_hop")

    def test_one_open_journey_a_cluster(self, shop, ada):
        stage.drafted(shop, ada)
        assert refusal(Conflict, stage.drafted, shop, ada) == "journey_open"

    @pytest.mark.parametrize(
        ("wanted", "code"),
        [
            ({"covers": "destructive"}, "bad_parameter"),
            ({"soak_seconds": -1}, "out_of_range"),
            ({"parameters": {"nothing": {}}}, "unknown_action"),
            ({"parameters": {"roll_nodes": {"colour": 1}}}, "unknown_parameter"),
        ],
    )
    def test_odd_choices_are_refused(self, shop, ada, wanted, code):
        assert refusal(InvalidInput, stage.drafted, shop, ada, **wanted) == code

    def test_an_approver_alone_prepares_nothing(self, shop, cleo):
        assert refusal(PermissionDenied, stage.drafted, shop, cleo) == "forbidden"


class TestApproval:
    def test_the_author_does_not_approve_and_nobody_twice(self, shop, ada, cleo):
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        Policy.objects.create(approvals={"medium": 2})
        request_journey_approval(row.pk, person(ada), by=actor(ada))
        row.refresh_from_db()
        both = user("both", OPERATE, APPROVE)
        Journey.objects.filter(pk=row.pk).update(author=both)
        assert (
            refusal(
                PermissionDenied,
                approve_journey,
                row.pk,
                person(both),
                approval_request=stage.approval_for(row),
                by=actor(both),
            )
            == "second_person"
        )
        assert (
            approve_journey(row.pk, person(cleo), approval_request=stage.approval_for(row), by=actor(cleo)).state
            == "awaiting_approval"
        )
        assert (
            refusal(
                Conflict,
                approve_journey,
                row.pk,
                person(cleo),
                approval_request=stage.approval_for(row),
                by=actor(cleo),
            )
            == "approved_already"
        )

    @pytest.mark.parametrize(
        ("changed", "code"), [({"digest": "0" * 64}, "digest_moved"), ({"nonce": "x"}, "nonce_moved")]
    )
    def test_it_is_bound_to_digest_and_nonce(self, shop, ada, cleo, changed, code):  # A40
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        request_journey_approval(row.pk, person(ada), by=actor(ada))
        row.refresh_from_db()
        assert (
            refusal(
                Conflict,
                approve_journey,
                row.pk,
                person(cleo),
                approval_request=stage.approval_for(row, **changed),
                by=actor(cleo),
            )
            == code
        )

    def test_a_token_does_not_approve(self, shop, ada, cleo):  # A42
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        request_journey_approval(row.pk, person(ada), by=actor(ada))
        row.refresh_from_db()
        token = person(cleo, method="token")
        assert (
            refusal(
                PermissionDenied,
                approve_journey,
                row.pk,
                token,
                approval_request=stage.approval_for(row),
                by=actor(cleo),
            )
            == "person_needed"
        )

    def test_nothing_is_asked_where_nothing_is_covered(self, shop, ada):
        stage.scanned(shop)
        row = stage.previewed(shop, ada, covers="low")
        assert request_journey_approval(row.pk, person(ada), by=actor(ada)).state == "approved"

    def test_an_approver_who_lost_the_right_does_not_count_at_the_start(self, shop, ada, cleo):  # A41
        stage.scanned(shop)
        row = stage.approved(stage.previewed(shop, ada), ada, [cleo])
        cleo.user_permissions.clear()
        assert refusal(Conflict, stage.started, row, ada) == "approval_missing"

    def test_it_is_rejected_with_a_reason(self, shop, ada, cleo):
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        request_journey_approval(row.pk, person(ada), by=actor(ada))
        found = reject_journey(row.pk, person(cleo), reason="not today", by=actor(cleo))
        assert (found.state, found.cause_code, found.cause) == ("rejected", "rejected", "not today")


class TestSteps:
    def test_a_plan_that_was_shown_is_covered_and_started(self, running, shop):
        row = stage.advanced(running, 2)
        assert (stage.work(row).state, row.wait_code) == ("draft", "planning")
        made = stage.planned(shop)
        stage.advanced(row, 2)
        made.refresh_from_db()
        assert (made.state, made.started_by_name) == ("running", "ada")
        assert list(Approval.objects.values_list("approver_name", "reason")) == [("cleo", f"journey {row.pk}")]
        assert stage.verbs(row)[-4:] == [
            "journey.step_begun", "journey.step_planned", "journey.step_covered", "journey.step_started",
        ]  # fmt: skip

    def test_the_way_to_the_end(self, running, shop, ada):
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        stage.advanced(row, 2)
        stage.ended(made)
        assert stage.advanced(row).wait_code == "rollout"
        stage.scanned(shop, stage.finding(status=CLEAR))
        assert stage.steps(stage.advanced(row))[0] == ("rollout", "done")
        stage.advanced(row, 3)
        assert (row.wait_code, row.needs_person) == ("scan", False)
        stage.scanned(shop, stage.finding(status=CLEAR), release=stage.TO_RELEASE)
        stage.advanced(row, 3)
        assert (row.wait_code, row.state) == ("time", "running")
        JourneyStepRow.objects.filter(journey=row, kind="wait").update(since=timezone.now() - timedelta(minutes=2))
        stage.advanced(row, 3)
        stage.scanned(shop, stage.finding(status=CLEAR), release=stage.TO_RELEASE)
        stage.advanced(row, 2)
        assert (row.state, {state for _, state in stage.steps(row)}) == ("succeeded", {"done"})
        assert stage.notified_topics() == ["journey.approval_requested", "journey.completed"]

    def test_a_rollout_that_is_not_seen_in_time_fails_its_step(self, running, shop):
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        stage.advanced(row, 2)
        stage.ended(made)
        stage.advanced(row)
        stage.scanned(shop)
        Rollout.objects.filter(pk=made.pk).update(finished_at=timezone.now() - timedelta(hours=1))
        stage.advanced(row)
        assert (row.state, row.cause_code, stage.steps(row)[0][1]) == ("paused", "not_seen", "failed")
        assert stage.notified_topics()[-1] == "journey.paused"

    def test_another_release_than_planned_fails_the_step(self, running, shop, ada):
        first = JourneyStepRow.objects.get(journey=running, place=0)
        JourneyStepRow.objects.filter(pk=first.pk).update(state="done")
        JourneyStepRow.objects.filter(journey=running, place=1).update(state="ready", since=timezone.now())
        row = stage.advanced(running, 2)
        stage.scanned(shop, stage.finding(status=CLEAR), release="0.36.9")
        stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", "other_release")

    @pytest.mark.parametrize("state", ["failed", "aborted", "rejected", "rolled_back"])
    def test_a_rollout_that_did_not_succeed_fails_its_step(self, running, shop, state):
        row = stage.advanced(running, 2)
        stage.ended(stage.planned(shop), state="previewed")
        made = stage.work(row)
        for then in WAYS[state]:
            Rollout.objects.filter(pk=made.pk).update(state=then)
        stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", f"rollout_{state}")

    def test_a_plan_that_cannot_be_made_fails_its_step_and_is_made_again(self, running, shop, ada):
        row = stage.advanced(running, 2)
        stage.unplanned(shop, "missing_rights")
        stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", "missing_rights")
        people.retry(row.pk, person(ada), step="j01", by=actor(ada))
        stage.advanced(row, 2)
        assert (row.state, stage.work(row).state, row.cause_code) == ("running", "draft", "")

    def test_nothing_to_do_counts_once_a_scan_shows_it(self, running, shop):
        row = stage.advanced(running, 2)
        stage.unplanned(shop, "nothing_to_do")
        stage.advanced(row)
        stage.scanned(shop, stage.finding(status=CLEAR))
        assert stage.steps(stage.advanced(row))[0] == ("rollout", "done")

    def test_an_expired_plan_is_made_anew_without_asking(self, running, shop):
        row = stage.advanced(running, 2)
        old = stage.unplanned(shop, "expired")
        stage.advanced(row)
        assert (stage.work(row).state, stage.work(row).pk == old.pk) == ("draft", False)


WAYS = {
    "failed": ("awaiting_approval", "approved", "running", "failed"),
    "aborted": ("awaiting_approval", "approved", "running", "aborted"),
    "rejected": ("awaiting_approval", "rejected"),
    "rolled_back": ("awaiting_approval", "approved", "running", "aborted", "rolling_back", "rolled_back"),
}


class TestPlansThatDiffer:
    def test_another_plan_stops_and_is_accepted_and_approved_by_itself(self, running, shop, ada, cleo):
        row = stage.advanced(running, 2)
        made = stage.planned(shop, taint(change=merge(POOL, {"spec": {"taints": []}})))
        stage.advanced(row)
        current = JourneyStepRow.objects.get(journey=row, place=0)
        assert (row.state, row.cause_code) == ("paused", "plan_differs")
        assert [one["code"] for one in current.differences] == ["request_added", "request_missing"]
        assert refusal(Conflict, resume_journey, row.pk, person(ada), by=actor(ada)) == "plan_differs"
        assert (
            refusal(Conflict, people.accept_plan, row.pk, person(ada), step="j01", digest="x", by=actor(ada))
            == "digest_moved"
        )
        people.accept_plan(row.pk, person(ada), step="j01", digest=made.digest, by=actor(ada))
        stage.advanced(row, 2)
        made.refresh_from_db()
        assert (made.state, row.wait_code, row.needs_person) == ("awaiting_approval", "approval_needed", True)
        assert Approval.objects.count() == 0

    def test_it_is_planned_again_instead(self, running, shop, ada):
        row = stage.advanced(running, 2)
        made = stage.planned(shop, taint(change=merge(POOL, {"spec": {"taints": []}})))
        stage.advanced(row)
        people.retry(row.pk, person(ada), step="j01", by=actor(ada))
        stage.advanced(row)
        made.refresh_from_db()
        assert (made.state, made.cause_code) == ("expired", "step_retried")

    def test_a_plan_that_was_never_shown_asks_for_its_own_approval(self, shop, ada):
        stage.scanned(shop)
        row = stage.advanced(stage.drafted(shop, ada))
        stage.unplanned(shop, "unavailable")
        row = stage.started(stage.approved(stage.advanced(row), ada, []), ada)
        stage.advanced(row, 2)
        stage.planned(shop)
        stage.advanced(row, 2)
        assert (stage.work(row).state, row.wait_code) == ("awaiting_approval", "approval_needed")

    def test_where_the_policy_asks_nobody_an_operator_accepts_what_was_not_shown(self, shop, ada):
        Policy.objects.create(approvals={"low": 0, "medium": 0, "high": 0})
        stage.scanned(shop)
        row = stage.advanced(stage.drafted(shop, ada))
        stage.unplanned(shop, "unavailable")
        row = stage.started(stage.approved(stage.advanced(row), ada, []), ada)
        stage.advanced(row, 2)
        made = stage.planned(shop)
        stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", "plan_not_shown")
        people.accept_plan(row.pk, person(ada), step="j01", digest=made.digest, by=actor(ada))
        stage.advanced(row, 2)
        made.refresh_from_db()
        assert made.state == "running"

    def test_a_plan_above_the_limit_asks_again(self, shop, ada, cleo):
        stage.scanned(shop)
        row = stage.previewed(shop, ada, remove(), covers="medium")
        row = stage.started(stage.approved(row, ada, []), ada)
        stage.advanced(row, 2)
        stage.planned(shop, remove())
        stage.advanced(row, 2)
        assert (stage.work(row).state, row.wait_code) == ("awaiting_approval", "approval_needed")

    def test_a_tightened_policy_asks_for_more_people(self, running, shop):
        row = stage.advanced(running, 2)
        Policy.objects.create(approvals={"medium": 2})
        stage.planned(shop)
        stage.advanced(row, 2)
        assert (stage.work(row).state, Approval.objects.count()) == ("awaiting_approval", 1)

    def test_after_a_week_the_approval_covers_nothing_more(self, running, shop):
        Journey.objects.filter(pk=running.pk).update(started_at=timezone.now() - timedelta(days=8))
        row = stage.advanced(running, 2)
        stage.planned(shop)
        stage.advanced(row, 2)
        assert (stage.work(row).state, Approval.objects.count()) == ("awaiting_approval", 0)
