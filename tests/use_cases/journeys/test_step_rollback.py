"""A journey that is taken back to a step that a person chose: step by step, the last one first, each by its own way."""

from collections.abc import Sequence

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.journey import JourneyRollback, JourneyRollout, JourneyStepRow
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.journeys.rollback import rollback_of
from migrations_app.use_cases.journeys import steps as people
from migrations_app.use_cases.journeys.lifecycle import abort_journey, pause_journey, resume_journey
from migrations_app.use_cases.journeys.step_rollback import begin_rollback
from migrations_app.use_cases.rollouts.approvals import approve
from tests.builders.rollouts import a_line
from tests.use_cases.journeys import stage
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import actor, approval_request, person

pytestmark = pytest.mark.django_db
WEIGHED = ("aws_looked_at", "iam")


def back(row, who, step="j01", **more):
    begin_rollback(row.pk, person(who), **({"step": step, "reason": "the dashboards are red", "by": actor(who)} | more))
    row.refresh_from_db()
    return row


def states(row) -> Sequence[str]:
    return [state for _, state in stage.steps(row)]


def rollback(row) -> Rollout:
    """The newest rollout that takes one back."""
    return JourneyRollout.objects.filter(step__journey=row, purpose="back").latest("pk").rollout


@pytest.fixture
def halfway(shop, ada, cleo):
    """A journey whose first step a person did, whose second was a rollout, and whose third waits for its turn."""
    weighed = stage.finding(WEIGHED[0], status="manual", severity="warning", phase=WEIGHED[1])
    stage.scanned(shop, weighed, stage.finding())
    row = stage.started(stage.approved(stage.previewed(shop, ada), ada, [cleo]), ada)
    stage.advanced(row, 3)  # it begins, a scan is asked for, and a person is told
    people.confirm_step(row.pk, person(ada), step="j01", note="the role was attached", by=actor(ada))
    stage.advanced(row, 2)
    stage.planned(shop)
    made = stage.work(stage.advanced(row, 2))
    assert made.state == "running"
    a_line(made)
    stage.ended(made)
    stage.scanned(shop, weighed, stage.finding(status="pass"), late=5)
    row = stage.advanced(row, 2)
    assert states(row)[:3] == ["done", "done", "running"]
    return row


def agreed(row, who) -> Rollout:
    """The rollback of now, planned, approved and started by the worker of the journey."""
    stage.planned(row.cluster)
    stage.advanced(row, 1)
    made = rollback(row)
    assert made.state == "awaiting_approval"
    approve(made.pk, person(who), approval_request=approval_request(made), by=actor(who))
    stage.advanced(row, 1)
    made.refresh_from_db()
    return made


class TestTheWay:
    def test_it_is_told_before_it_begins(self, halfway):
        told = rollback_of(halfway.pk, to="j01")
        assert [(one.step, one.how) for one in told] == [("j03", "nothing"), ("j02", "rollback"), ("j01", "person")]
        assert [one.step for one in rollback_of(halfway.pk, to="j02")] == ["j03", "j02"]
        assert refusal(InvalidInput, rollback_of, halfway.pk, to="j99") == "unknown_step"

    def test_steps_are_undone_in_the_opposite_order_each_by_its_own_way(self, halfway, ada, cleo):  # A35, A40
        row = back(halfway, ada)
        assert (row.state, states(row)[:3]) == ("running", ["done", "undoing", "waiting"])
        stage.advanced(row)
        draft = rollback(row)
        assert (draft.state, draft.action, draft.rolls_back, draft.author) == (
            "draft", "roll_back", stage.work(row), ada,
        )  # fmt: skip
        made = agreed(row, cleo)
        assert (made.state, made.started_by_name, Approval.objects.filter(rollout=made).count()) == (
            "running",
            "ada",
            1,
        )
        stage.ended(made)
        stage.advanced(row)
        assert (row.state, states(row)[:3]) == ("running", ["undoing", "waiting", "waiting"])
        stage.advanced(row)
        assert (row.wait_code, row.needs_person) == ("back_needed", True)
        token = person(ada, method="token")
        assert refusal(PermissionDenied, people.confirm_step, row.pk, token, step="j01", note="x", by=actor(ada)) == (
            "person_needed"
        )
        people.confirm_step(row.pk, person(ada), step="j01", note="the role was detached", by=actor(ada))
        row.refresh_from_db()
        assert (row.state, row.cause_code, states(row)[:3]) == ("paused", "taken_back", ["ready", "waiting", "waiting"])
        assert not JourneyRollback.objects.exists()
        verbs = [verb for verb in stage.verbs(row) if "back" in verb]
        assert verbs == ["journey.taking_back", "journey.step_taken_back", "journey.step_taken_back"]
        event = AuditEvent.objects.get(verb="journey.taking_back")
        assert (event.actor, '"to":"j01"' in event.detail, "dashboards" in event.detail) == ("ada", True, True)

    def test_forward_again_everything_is_done_anew(self, halfway, shop, ada, cleo):
        row = back(halfway, ada, "j02")
        stage.advanced(row)
        stage.ended(agreed(row, cleo))
        row = stage.advanced(row)
        assert (row.state, states(row)[:2]) == ("paused", ["done", "ready"])
        before = stage.work(row)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.scanned(shop, stage.finding(status="pass"), late=9)
        stage.advanced(row, 2)
        assert (stage.work(row).state, stage.work(row).pk != before.pk) == ("draft", True)
        assert JourneyStepRow.objects.get(journey=row, step="j02").evidence == {}

    def test_a_rollout_that_was_taken_back_by_hand_is_not_taken_back_twice(self, halfway, ada):
        made = stage.work(halfway)
        Rollout.objects.create(
            cluster=made.cluster, cluster_name="shop", action="roll_back", title="t", state="draft", author_name="ada",
            made_at=timezone.now(), expires_at=timezone.now(), rolls_back=made,
        )  # fmt: skip
        for then in ("previewed", "awaiting_approval", "approved", "running", "succeeded"):
            Rollout.objects.filter(rolls_back=made).update(state=then)
        row = stage.advanced(back(halfway, ada, "j02"))
        assert (row.state, states(row)[:2]) == ("paused", ["done", "ready"])
        assert not JourneyRollout.objects.filter(purpose="back").exists()


class TestWhatStopsIt:
    @pytest.mark.parametrize("code", ["no_way_back", "changed", "nothing_to_do", "missing_rights"])
    def test_a_rollback_that_cannot_be_planned_ends_it_with_the_reason(self, halfway, shop, ada, code):
        row = stage.advanced(back(halfway, ada))
        stage.unplanned(shop, code)
        row = stage.advanced(row)
        assert (row.state, row.cause_code, row.cause) == ("paused", code, "no plan")
        assert states(row)[:3] == ["done", "done", "ready"]  # nothing of it was undone, and from here it goes forward
        assert stage.verbs(row)[-1] == "journey.step_has_no_return"
        assert stage.notified_topics()[-1] == "journey.paused"

    def test_a_step_with_no_return_ends_it_with_the_reason(self, halfway, ada, cleo):
        first = JourneyStepRow.objects.get(journey=halfway, step="j01")
        first.definition["no_return"] = ["the old role was deleted"]
        first.save()
        assert rollback_of(halfway.pk, to="j01")[-1].why == ("the old role was deleted",)
        row = stage.advanced(back(halfway, ada))
        stage.ended(agreed(row, cleo))
        row = stage.advanced(row, 2)
        assert (row.state, row.cause_code, row.cause) == ("paused", "no_return", "the old role was deleted")
        assert states(row)[:3] == ["done", "ready", "waiting"]

    def test_a_rollback_that_failed_leaves_the_step_to_a_person(self, halfway, ada, cleo):
        row = stage.advanced(back(halfway, ada))
        made = agreed(row, cleo)
        stage.ended(made, "aborted")
        row = stage.advanced(row)
        assert (row.state, row.cause_code, states(row)[:2]) == ("paused", "rollout_aborted", ["done", "failed"])
        row = back(row, ada)
        assert states(row)[:2] == ["done", "undoing"]
        row = stage.advanced(row)
        assert (rollback(row).state, rollback(row).pk != made.pk) == ("draft", True)
        stage.ended(agreed(row, cleo))
        row = stage.advanced(row)
        assert states(row)[:2] == ["undoing", "waiting"]

    def test_what_a_way_back_left_undone_is_planned_anew_by_the_next_one(self, halfway, shop, ada):
        row = stage.advanced(back(halfway, ada))
        stage.unplanned(shop, "missing_rights")
        row = stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", "missing_rights")
        first = rollback(row)
        row = stage.advanced(back(row, ada))
        assert (rollback(row).state, rollback(row).pk != first.pk, states(row)[1]) == ("draft", True, "undoing")
        stage.planned(shop)
        row = stage.advanced(row)
        assert rollback(row).state == "awaiting_approval"
        row = stage.advanced(back(row, ada))  # asked for again while people have not answered yet
        assert (row.state, rollback(row).state, states(row)[1]) == ("running", "draft", "undoing")

    @pytest.mark.parametrize("outcome", ["unknown", "changed_by_other"])
    def test_a_step_of_which_nobody_knows_whether_it_took_effect_is_left_to_a_person(self, running, shop, ada, outcome):
        row = stage.advanced(running, 2)
        stage.planned(shop)
        made = stage.work(stage.advanced(row, 2))
        a_line(made, outcome=outcome)
        stage.ended(made, "aborted")
        row = stage.advanced(row, 2)
        (place,) = [place for place, state in enumerate(states(row)) if state == "failed"]
        step = f"j{place + 1:02d}"
        assert [(one.step, one.how) for one in rollback_of(row.pk, to=step)] == [(step, "person")]
        row = stage.advanced(back(row, ada, step))
        assert (row.wait_code, states(row)[place]) == ("back_needed", "undoing")
        people.confirm_step(row.pk, person(ada), step=step, note="it had changed nothing", by=actor(ada))
        row.refresh_from_db()
        assert (row.state, states(row)[place], rollback_of(row.pk, to=step)) == ("paused", "ready", ())

    def test_a_step_that_was_skipped_after_it_had_changed_something_is_undone_too(self, running, shop, ada, cleo):
        row = stage.advanced(running, 2)
        stage.planned(shop)
        made = stage.work(stage.advanced(row, 2))
        a_line(made)
        stage.ended(made, "failed")
        row = stage.advanced(row, 2)
        (place,) = [place for place, state in enumerate(states(row)) if state == "failed"]
        step = f"j{place + 1:02d}"
        definition = JourneyStepRow.objects.get(journey=row, step=step).definition
        JourneyStepRow.objects.filter(journey=row, step=step).update(definition=definition | {"protects": False})
        people.skip(row.pk, person(ada), step=step, reason="three of five are enough", by=actor(ada))
        row.refresh_from_db()
        assert states(row)[place] == "skipped"
        assert [(one.step, one.how) for one in rollback_of(row.pk, to=step)][-1] == (step, "rollback")
        row = back(row, ada, step)
        assert states(row)[place] == "undoing"
        row = stage.advanced(row)
        stage.ended(agreed(row, cleo))
        row = stage.advanced(row)
        assert (row.state, states(row)[place]) == ("paused", "ready")

    def test_people_reject_the_rollback(self, halfway, ada):
        row = stage.advanced(back(halfway, ada))
        stage.planned(row.cluster)
        stage.advanced(row)
        Rollout.objects.filter(pk=rollback(row).pk).update(state="rejected")
        row = stage.advanced(row)
        assert (row.state, row.cause_code, states(row)[:2]) == ("paused", "rollout_rejected", ["done", "done"])

    def test_where_the_policy_asks_nobody_an_operator_accepts_the_rollback(self, halfway, ada):
        Policy.objects.create(approvals={"low": 0, "medium": 0, "high": 0})
        row = stage.advanced(back(halfway, ada, "j02"))
        made = stage.planned(row.cluster)
        row = stage.advanced(row)
        assert (row.state, row.cause_code) == ("paused", "plan_not_shown")
        assert refusal(Conflict, resume_journey, row.pk, person(ada), by=actor(ada)) == "plan_differs"
        people.accept_plan(row.pk, person(ada), step="j02", digest=made.digest, by=actor(ada))
        row = stage.advanced(row, 2)
        made.refresh_from_db()
        assert made.state == "running"

    def test_the_kill_switch_a_pause_and_an_end_hold_here_too(self, halfway, ada, cleo):  # A36
        row = stage.advanced(back(halfway, ada))
        made = agreed(row, cleo)
        pause_journey(row.pk, person(ada), by=actor(ada))
        made.refresh_from_db()
        assert made.stop_request == "pause"
        Rollout.objects.filter(pk=made.pk).update(state="paused", stop_request="")
        resume_journey(row.pk, person(ada), by=actor(ada))
        assert states(row)[1] == "undoing"
        KillSwitch.objects.create(on=True, why="stop")
        row = stage.advanced(row)
        assert (row.state, row.cause_code, states(row)[1]) == ("paused", "kill_switch", "undoing")
        abort_journey(row.pk, person(ada), reason="enough", by=actor(ada))
        made.refresh_from_db()
        assert made.stop_request == "abort"

    def test_a_scan_has_to_show_the_release_before(self, halfway, shop, ada):
        third = JourneyStepRow.objects.get(journey=halfway, step="j03")
        assert (third.kind, third.definition["release"]) == ("outside", stage.TO_RELEASE)
        third.definition["no_return"] = []
        third.save()
        stage.scanned(shop, stage.finding(status="pass"), release=stage.TO_RELEASE, late=7)
        row = stage.advanced(halfway)
        assert states(row)[2] == "done"
        row = stage.advanced(back(row, ada, "j03"), 2)
        assert (states(row)[2], row.wait_code) == ("undoing", "back_outside")
        refused = refusal(Conflict, people.confirm_step, row.pk, person(ada), step="j03", note="x", by=actor(ada))
        assert refused == "moved"
        stage.scanned(shop, stage.finding(status="pass"), late=9)
        row = stage.advanced(row)
        assert (row.state, states(row)[2]) == ("paused", "ready")


class TestRefused:
    def test_what_is_refused(self, halfway, ada, cleo):
        assert refusal(PermissionDenied, back, halfway, cleo) == "forbidden"
        assert refusal(InvalidInput, back, halfway, ada, reason=" ") == "reason_needed"
        assert refusal(InvalidInput, back, halfway, ada, "j99") == "unknown_step"
        assert refusal(Conflict, back, halfway, ada, "j05") == "not_reached"
        assert refusal(Conflict, back, halfway, ada, version=1) == "moved"
        KillSwitch.objects.create(on=True, why="stop")
        assert refusal(Conflict, back, halfway, ada) == "kill_switch"

    def test_a_rollout_under_way_is_ended_first(self, running, shop, ada):
        row = stage.advanced(running, 2)
        stage.planned(shop)
        stage.advanced(row, 2)
        assert refusal(Conflict, back, row, ada) == "rollout_holds"

    def test_a_step_that_changed_nothing_just_waits_again(self, running, ada):
        row = back(stage.advanced(running, 2), ada)
        assert (row.state, row.cause_code, states(row)[0]) == ("paused", "taken_back", "ready")
