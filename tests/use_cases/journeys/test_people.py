"""What people do with a journey, what holds its cluster, and what stops it."""

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.journeys import steps as people
from migrations_app.use_cases.journeys.lifecycle import (
    abort_journey,
    expire_journeys,
    pause_journey,
    resume_journey,
    void_journeys,
)
from migrations_app.use_cases.journeys.worker import journeys_to_enqueue
from migrations_app.use_cases.rollouts import lifecycle as rollouts
from tests.builders.rehearsals import a_rehearsal
from tests.builders.rollouts import a_rollout, an_approval
from tests.use_cases.journeys import stage
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import actor, person

pytestmark = pytest.mark.django_db


class TestPeople:
    def test_a_protecting_step_is_never_skipped(self, running, ada):
        assert (
            refusal(Conflict, people.skip, running.pk, person(ada), step="j01", reason="x", by=actor(ada)) == "protects"
        )

    def test_skipping_wants_a_reason_and_withdraws_the_plan(self, shop, ada, cleo):
        stage.scanned(shop, stage.finding("crds_owned_by_helm", severity="warning", phase="crds"))
        row = stage.started(stage.approved(stage.previewed(shop, ada), ada, [cleo]), ada)
        stage.advanced(row, 2)
        made = stage.planned(shop)
        assert (
            refusal(InvalidInput, people.skip, row.pk, person(ada), step="j01", reason=" ", by=actor(ada))
            == "reason_needed"
        )
        people.skip(row.pk, person(ada), step="j01", reason="done by hand", by=actor(ada))
        made.refresh_from_db()
        first = JourneyStepRow.objects.get(journey=row, place=0)
        assert (first.state, first.note, first.by_name, made.cause_code) == (
            "skipped", "done by hand", "ada", "step_skipped",
        )  # fmt: skip

    def test_a_tick_has_a_name_and_a_note_and_is_for_people(self, shop, ada, cleo):
        weighed = stage.finding("aws_looked_at", status="manual", severity="warning", phase="iam")
        stage.scanned(shop, weighed)
        row = stage.started(stage.approved(stage.previewed(shop, ada), ada, []), ada)
        stage.advanced(row, 3)  # begun, a scan asked for, told
        assert (row.wait_code, row.needs_person) == ("tick_needed", True)
        token = person(ada, method="token")
        assert (
            refusal(PermissionDenied, people.confirm_step, row.pk, token, step="j01", note="ok", by=actor(ada))
            == "person_needed"
        )
        people.confirm_step(row.pk, person(ada), step="j01", note="the role was attached", by=actor(ada))
        first = JourneyStepRow.objects.get(journey=row, place=0)
        assert (first.state, first.by_name, first.note) == ("done", "ada", "the role was attached")
        assert stage.notified_topics() == ["journey.needs_person"]

    def test_no_tick_beside_a_check_that_fails(self, running, ada):
        stage.advanced(running, 2)
        assert (
            refusal(Conflict, people.confirm_step, running.pk, person(ada), step="j01", note="ok", by=actor(ada))
            == "moved"
        )

    def test_pause_and_resume_take_the_rollout_along(self, running, shop, ada):
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        stage.advanced(row, 2)
        pause_journey(row.pk, person(ada), by=actor(ada))
        made.refresh_from_db()
        assert (Journey.objects.get(pk=row.pk).state, made.stop_request) == ("paused", "pause")
        Rollout.objects.filter(pk=made.pk).update(state="paused", stop_request="")
        resume_journey(row.pk, person(ada), by=actor(ada))
        made.refresh_from_db()
        assert (Journey.objects.get(pk=row.pk).state, made.state) == ("running", "running")

    def test_abort_ends_the_journey_and_asks_the_rollout(self, running, shop, ada):
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        stage.advanced(row, 2)
        abort_journey(row.pk, person(ada), reason="another day", by=actor(ada))
        made.refresh_from_db()
        assert (Journey.objects.get(pk=row.pk).state, made.stop_request) == ("aborted", "abort")

    def test_abort_withdraws_a_plan_that_was_not_started(self, running, shop, ada):
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        abort_journey(row.pk, person(ada), reason="", by=actor(ada))
        made.refresh_from_db()
        assert (made.state, made.cause_code) == ("expired", "journey_aborted")

    def test_a_stale_page_is_refused(self, running, ada):  # R33
        assert refusal(Conflict, pause_journey, running.pk, person(ada), by=actor(ada), version=1) == "moved"


class TestHolding:
    def test_a_rollout_of_somebody_else_waits_for_the_journey(self, running, shop, ada, cleo):  # A13
        other = a_rollout(shop, state="approved", author=ada)
        an_approval(other, cleo)
        told = refusal(Conflict, rollouts.start, other.pk, person(ada), digest=other.digest, by=actor(ada))
        assert (told, Rollout.objects.get(pk=other.pk).state) == ("busy", "approved")

    def test_a_journey_waits_for_a_rollout_of_somebody_else(self, shop, ada, cleo):
        stage.scanned(shop)
        row = stage.approved(stage.previewed(shop, ada), ada, [cleo])
        a_rollout(shop, state="paused", author=ada)
        assert refusal(Conflict, stage.started, row, ada) == "busy"
        assert Journey.objects.get(pk=row.pk).state == "approved"

    def test_the_same_cluster_registered_twice_has_one_journey(self, shop, ada, cleo):
        twin = stage.a_cluster("twin", source="kubeconfig", kube_system_uid="u")
        type(shop).objects.filter(pk=shop.pk).update(kube_system_uid="u")
        for one in (shop, twin):
            stage.scanned(one)
        first, second = (stage.approved(stage.previewed(one, ada), ada, [cleo]) for one in (shop, twin))
        stage.started(first, ada)
        assert refusal(Conflict, stage.started, second, ada) == "busy"

    def test_the_kill_switch_pauses_it(self, running):  # A36
        KillSwitch.objects.create(on=True, why="stop")
        row = stage.advanced(running)
        assert (row.state, row.cause_code) == ("paused", "kill_switch")

    def test_a_freeze_is_waited_for(self, running, shop):  # A33
        row = stage.advanced(running, 2)
        stage.planned(shop)
        stage.advanced(row)
        Policy.objects.create(frozen=True, frozen_why="fair")
        stage.advanced(row)
        assert (row.state, row.wait_code, stage.work(row).state) == ("running", "closed", "approved")

    def test_a_demanded_rehearsal_of_its_plan_is_waited_for(self, running, shop):  # A46
        Policy.objects.create(rehearsals=["medium"])
        row = stage.advanced(running, 2)
        made = stage.planned(shop)
        row = stage.advanced(row)
        assert (row.state, row.wait_code, row.needs_person) == ("running", "rehearsal_missing", True)
        assert Rollout.objects.get(pk=made.pk).state == "previewed"
        a_rehearsal(made)
        stage.advanced(row)
        assert stage.work(row).state == "approved"

    def test_changed_access_pauses_it(self, running, shop):  # A05
        void_journeys(shop.pk)
        running.refresh_from_db()
        assert (running.state, running.cause_code) == ("paused", "cluster_changed")

    def test_an_old_preview_ends(self, shop, ada):
        stage.scanned(shop)
        row = stage.previewed(shop, ada)
        Journey.objects.filter(pk=row.pk).update(expires_at=timezone.now())
        assert expire_journeys() == 1
        row.refresh_from_db()
        assert (row.state, row.cause_code) == ("expired", "expired")

    def test_the_sweeper_finds_drafts_and_running_journeys(self, running, shop, ada):
        assert journeys_to_enqueue() == [running.pk]
        pause_journey(running.pk, person(ada), by=actor(ada))
        assert journeys_to_enqueue() == []

    def test_work_that_kills_its_workers_is_left_to_a_person(self, running):  # R36
        Journey.objects.filter(pk=running.pk).update(worker_attempts=3)
        row = stage.advanced(running)
        assert (row.state, row.cause_code, row.worker_attempts) == ("paused", "worker_lost", 0)
