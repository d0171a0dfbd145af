"""Karpenter's own disruption, held for a pause of a journey: begun, restored before it goes on, and left to nobody."""

from datetime import timedelta

import pytest

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.journeys.disruption_hold import HoldFacts, HoldMove, next_hold_move
from migrations_app.journeys.next_move import RolloutFacts
from migrations_app.models.audit import AuditEvent
from migrations_app.models.journey import JourneyHold, JourneyRollout
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Rollout
from migrations_app.queries.journeys.disruption_hold import disruption_hold
from migrations_app.use_cases.journeys.holds import change_hold
from migrations_app.use_cases.journeys.lifecycle import (
    abort_journey,
    pause_if_running,
    pause_journey,
    resume_journey,
    start_journey,
)
from migrations_app.use_cases.journeys.step_rollback import begin_rollback
from migrations_app.use_cases.journeys.steps import retry
from migrations_app.use_cases.journeys.worker import journeys_to_enqueue
from migrations_app.use_cases.rollouts import approvals
from migrations_app.use_cases.rollouts import lifecycle as rollouts
from migrations_app.use_cases.rollouts.start_checks import why_not_start
from tests.builders.rollouts import a_line, a_rollout, taint
from tests.use_cases.journeys import stage
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import OPERATE, actor, person, user

LOW = taint(risk="low")
STATES = ("draft", "previewed", "awaiting_approval", "approved", "running", "paused", "succeeded", "failed", "aborted",
          "rolled_back", "rejected", "expired", "rolling_back", "needs_attention")  # fmt: skip


def seen(state, code=""):
    return RolloutFacts(state=state, cause_code=code) if state else None


def move(*, hold="", release="", releasing=False, code=""):
    there = HoldFacts(releasing=releasing, hold=seen(hold, "" if release else code), release=seen(release, code))
    return next_hold_move(there)


class TestDecisions:
    @pytest.mark.parametrize(
        ("state", "code", "then"),
        [
            ("", "", HoldMove("draft")),
            ("previewed", "", HoldMove("ask")),
            ("approved", "", HoldMove("start")),
            ("succeeded", "", HoldMove("wait", "held")),
            ("paused", "changed", HoldMove("tell", "rollout_paused")),
            ("failed", "", HoldMove("tell", "rollout_failed")),
            ("expired", "wrong_release", HoldMove("end", "wrong_release")),
            ("expired", "policy_moved", HoldMove("draft")),
            ("rejected", "", HoldMove("end", "rejected")),
            ("rolled_back", "", HoldMove("end", "rolled_back")),
        ],
    )
    def test_a_hold_is_planned_asked_for_and_started(self, state, code, then):
        assert move(hold=state, code=code) == then

    @pytest.mark.parametrize(
        ("hold", "release", "code", "then"),
        [
            ("", "", "", HoldMove("end", "released")),
            ("approved", "", "", HoldMove("withdraw", "released")),
            ("running", "", "", HoldMove("wait", "rollout")),
            ("paused", "", "", HoldMove("abort")),
            ("succeeded", "", "", HoldMove("draft")),
            ("aborted", "", "", HoldMove("draft")),
            ("succeeded", "approved", "", HoldMove("start")),
            ("succeeded", "succeeded", "", HoldMove("end", "released")),
            ("succeeded", "expired", "nothing_to_do", HoldMove("end", "released")),
            ("succeeded", "expired", "policy_moved", HoldMove("draft")),
            ("succeeded", "expired", "missing_rights", HoldMove("tell", "missing_rights")),
            ("succeeded", "paused", "", HoldMove("abort")),
            ("succeeded", "aborted", "", HoldMove("tell", "rollout_aborted")),
            ("succeeded", "aborted", "asked", HoldMove("tell", "rollout_aborted")),
            ("succeeded", "rejected", "", HoldMove("tell", "rollout_rejected")),
        ],
    )
    def test_budgets_are_restored_after_what_was_held(self, hold, release, code, then):
        assert move(hold=hold, release=release, releasing=True, code=code) == then

    @pytest.mark.parametrize("state", STATES)
    def test_every_state_has_its_move(self, state):
        assert move(hold=state).do
        assert move(hold=state, releasing=True).do
        assert move(hold="succeeded", release=state, releasing=True).do


@pytest.fixture
def at_work(running, shop):
    """A running journey whose rollout runs."""
    row = stage.advanced(running, 2)
    stage.planned(shop)
    return stage.advanced(row, 2)


def paused(row, who, *, with_rollout=True):
    """Paused with a hold; its rollout stands still."""
    pause_journey(row.pk, person(who), by=actor(who), hold_disruption=True)
    if with_rollout:
        Rollout.objects.filter(pk=stage.work(row).pk).update(state="paused", stop_request="", cause_code="asked")
    row.refresh_from_db()
    return row


def newest(row, purpose):
    return JourneyRollout.objects.filter(step__journey=row, purpose=purpose).latest("pk").rollout


def done(row, shop, purpose="hold"):
    """The rollout of that purpose from its draft to its end."""
    stage.advanced(row)
    stage.planned(shop, LOW)
    stage.advanced(row, 2)
    made = newest(row, purpose)
    assert made.state == "running"
    stage.ended(made)
    return stage.advanced(row)


@pytest.mark.django_db
class TestJourneys:
    def test_the_hold_runs_beside_the_rollout_that_is_paused(self, at_work, shop, ada):  # A13
        row = paused(at_work, ada)
        stage.advanced(row)
        made = stage.planned(shop, LOW)
        assert (made.action, made.beside, made.author_name) == ("hold_disruption", True, "ada")
        stage.advanced(row, 2)
        made.refresh_from_db()
        main = stage.work(row)
        assert (made.state, made.started_by_name, main.state, row.state) == ("running", "ada", "paused", "paused")
        assert refusal(Conflict, rollouts.resume, main.pk, person(ada), by=actor(ada)) == "busy"
        stage.ended(made)
        stage.advanced(row)
        assert JourneyHold.objects.get().wait_code == "held"
        assert refusal(Conflict, rollouts.resume, main.pk, person(ada), by=actor(ada)) == "busy"

    def test_it_begins_only_when_the_request_under_way_has_ended(self, at_work, shop, ada):
        row = paused(at_work, ada, with_rollout=False)
        assert stage.work(row).stop_request == "pause"
        stage.advanced(row)
        stage.planned(shop, LOW)
        stage.advanced(row, 3)
        assert (newest(row, "hold").state, JourneyHold.objects.get().wait_code) == ("approved", "busy")
        Rollout.objects.filter(pk=stage.work(row).pk).update(state="paused", stop_request="")
        stage.advanced(row)
        assert newest(row, "hold").state == "running"

    def test_resumed_it_restores_first_and_goes_on_by_itself(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        assert resume_journey(row.pk, person(ada), by=actor(ada)).state == "paused"
        done(row, shop, "release")
        assert (row.state, stage.work(row).state, JourneyHold.objects.count()) == ("running", "running", 0)
        assert stage.verbs(row)[-4:] == [
            "journey.hold_asked", "journey.release_asked", "journey.hold_over", "journey.running",
        ]  # fmt: skip
        last = AuditEvent.objects.filter(verb="journey.hold_over").get()
        assert last.outcome == "released"

    def test_aborted_it_restores_although_the_journey_is_over(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        abort_journey(row.pk, person(ada), reason="wrong week", by=actor(ada))
        assert journeys_to_enqueue() == [row.pk]
        done(row, shop, "release")
        assert (row.state, JourneyHold.objects.count(), journeys_to_enqueue()) == ("aborted", 0, [])

    def test_an_approver_who_aborts_leaves_the_restoring_to_who_held(self, at_work, shop, ada, cleo):
        row = done(paused(at_work, ada), shop)
        abort_journey(row.pk, person(cleo), reason="stop", by=actor(cleo))
        done(row, shop, "release")
        assert newest(row, "release").started_by_name == "ada"

    def test_restored_by_hand_the_journey_stays_paused(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        change_hold(row.pk, person(ada), asked_for="released", by=actor(ada))
        done(row, shop, "release")
        assert (row.state, JourneyHold.objects.count()) == ("paused", 0)
        assert refusal(
            Conflict, change_hold, row.pk, person(ada), asked_for="released", by=actor(ada)
        ) == "moved"  # fmt: skip

    def test_a_hold_that_never_began_is_withdrawn(self, at_work, shop, ada):
        row = paused(at_work, ada)
        stage.advanced(row)
        stage.planned(shop)  # of medium risk: it waits for approval
        stage.advanced(row, 2)
        assert (newest(row, "hold").state, JourneyHold.objects.get().wait_code) == (
            "awaiting_approval", "approval_needed",
        )  # fmt: skip
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        assert (newest(row, "hold").state, row.state) == ("expired", "running")

    def test_the_policy_is_asked(self, at_work, shop, ada, cleo):  # A40
        Policy.objects.create(approvals={"low": 1})
        row = paused(at_work, ada)
        stage.advanced(row)
        stage.planned(shop, LOW)
        stage.advanced(row, 3)
        made = newest(row, "hold")
        assert made.state == "awaiting_approval"
        approval_request = approvals.ApprovalRequest(digest=made.digest, nonce=made.nonce)
        code = refusal(
            PermissionDenied, approvals.approve, made.pk, person(ada), approval_request=approval_request, by=actor(ada)
        )
        assert code in ("second_person", "forbidden")
        approvals.approve(made.pk, person(cleo), approval_request=approval_request, by=actor(cleo))
        stage.advanced(row)
        made.refresh_from_db()
        assert made.state == "running"

    def test_where_no_plan_can_be_made_the_journey_goes_on_as_before(self, at_work, shop, ada):
        row = paused(at_work, ada)
        stage.advanced(row)
        stage.unplanned(shop, "wrong_release")
        stage.advanced(row)
        assert (JourneyHold.objects.count(), row.state) == (0, "paused")
        assert resume_journey(row.pk, person(ada), by=actor(ada)).state == "running"

    def test_a_restoring_that_came_to_nothing_is_asked_for_again(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        stage.unplanned(shop, "missing_rights")
        stage.advanced(row)
        assert (JourneyHold.objects.get().wait_code, row.state) == ("missing_rights", "paused")
        resume_journey(row.pk, person(ada), by=actor(ada))
        done(row, shop, "release")
        assert (row.state, JourneyHold.objects.count()) == ("running", 0)

    @pytest.mark.parametrize("by_campaign", [False, True])
    def test_a_resume_that_waits_for_the_budgets_is_stopped(self, at_work, shop, ada, by_campaign):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        if by_campaign:
            assert pause_if_running(row.pk, by=actor(ada))
            assert not pause_if_running(row.pk, by=actor(ada))  # it is paused, and nothing of it goes on
        else:
            pause_journey(row.pk, person(ada), by=actor(ada))
        done(row, shop, "release")
        assert (row.state, row.cause_code, JourneyHold.objects.count()) == ("paused", "asked", 0)

    def test_the_kill_switch_leaves_the_resuming_to_a_person(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        switch = KillSwitch.objects.create(on=True)
        stage.advanced(row)
        assert (JourneyHold.objects.get().resumes, row.cause_code) == (False, "kill_switch")
        KillSwitch.objects.filter(pk=switch.pk).update(on=False)
        stage.planned(shop, LOW)
        stage.advanced(row, 2)
        stage.ended(newest(row, "release"))
        stage.advanced(row)
        assert (row.state, JourneyHold.objects.count()) == ("paused", 0)

    def test_no_budgets_are_restored_for_a_journey_that_may_not_go_on(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        Policy.objects.create(frozen=True, frozen_why="fair")
        code = refusal(Conflict, resume_journey, row.pk, person(ada), by=actor(ada))
        assert code in ("closed", "policy_moved")
        assert JourneyHold.objects.get().asked_for == "held"

    def test_a_resume_that_is_refused_after_the_restoring_is_told(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        stage.planned(shop, LOW)
        stage.advanced(row, 2)
        stage.ended(newest(row, "release"))
        Policy.objects.create(frozen=True, frozen_why="fair")
        stage.advanced(row)
        assert (row.state, row.cause_code, JourneyHold.objects.count()) == ("paused", "closed", 0)
        assert (stage.work(row).state, stage.notified_topics()[-1]) == ("paused", "journey.paused")
        assert "fair" in row.cause

    def test_one_who_may_not_start_any_more_is_told(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        stage.planned(shop, LOW)
        stage.advanced(row, 2)
        stage.ended(newest(row, "release"))
        ada.user_permissions.clear()
        stage.advanced(row)
        assert (row.state, row.cause_code, JourneyHold.objects.count()) == ("paused", "right_missing", 0)

    def test_who_only_restores_takes_back_the_resuming_of_another(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        stage.unplanned(shop, "missing_rights")
        stage.advanced(row)
        ben = user("ben", OPERATE)
        change_hold(row.pk, person(ben), asked_for="released", by=actor(ben))
        done(row, shop, "release")
        assert (row.state, newest(row, "release").started_by_name) == ("paused", "ben")

    def test_a_hold_of_its_own_is_not_started_beside_a_paused_journey(self, at_work, shop, ada):
        pause_journey(at_work.pk, person(ada), by=actor(ada))
        Rollout.objects.filter(pk=stage.work(at_work).pk).update(state="paused", stop_request="", cause_code="asked")
        alone = {"state": "approved", "beside": True, "author": ada}
        hold = a_rollout(shop, LOW, action="hold_disruption", **alone)
        release = a_rollout(shop, LOW, action="release_disruption", **alone)
        code = refusal(Conflict, rollouts.start, hold.pk, person(ada), digest=hold.digest, by=actor(ada))
        assert (code, "hold Karpenter" in why_not_start(hold.pk, person(ada))) == ("busy", True)
        assert rollouts.start(release.pk, person(ada), digest=release.digest, by=actor(ada)).state == "running"

    def test_a_restoring_that_stopped_is_told(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        resume_journey(row.pk, person(ada), by=actor(ada))
        stage.advanced(row)
        stage.planned(shop, LOW)
        stage.advanced(row, 2)
        assert not disruption_hold(row.pk).stopped
        stage.ended(newest(row, "release"), "paused", cause_code="changed")
        stage.advanced(row, 3)
        told = disruption_hold(row.pk)
        assert (told.stopped, told.state, told.wait_code) == (True, "aborted", "rollout_aborted")
        assert (row.needs_person, stage.notified_topics().count("journey.needs_person")) == (True, 1)
        resume_journey(row.pk, person(ada), by=actor(ada))
        row.refresh_from_db()
        assert (row.needs_person, disruption_hold(row.pk).stopped) == (False, False)

    @pytest.mark.parametrize(
        ("columns", "over"),
        [
            ({"action": "roll_back", "back": True}, True),
            ({"action": "release_disruption"}, True),
            ({"action": "release_disruption", "parameters": {"nodepools": ["api"]}}, False),
            ({"action": "taint_and_drift"}, False),
        ],
    )
    def test_budgets_that_another_rollout_restored_are_held_no_longer(self, at_work, shop, ada, columns, over):
        row = done(paused(at_work, ada), shop)
        made = newest(row, "hold")
        assert disruption_hold(row.pk).held_at == made.finished_at
        if columns.pop("back", False):
            columns["rolls_back"] = made
        later = made.finished_at + timedelta(minutes=1)
        a_rollout(shop, state="succeeded", beside=True, finished_at=later, **columns)
        stage.advanced(row)
        assert (JourneyHold.objects.exists(), row.state) == (not over, "paused")

    def test_no_other_journey_starts_before_the_budgets_are_back(self, at_work, shop, ada, cleo):
        row = done(paused(at_work, ada), shop)
        main = stage.work(row)
        abort_journey(row.pk, person(ada), reason="wrong week", by=actor(ada))
        main.refresh_from_db()
        assert main.state == "aborted"
        other = stage.approved(stage.previewed(shop, ada), ada, [cleo])
        code = refusal(Conflict, start_journey, other.pk, person(ada), digest=other.digest, by=actor(ada))
        assert code == "busy"
        done(row, shop, "release")
        assert stage.started(other, ada).state == "running"

    def test_no_way_goes_on_beside_it(self, at_work, shop, ada):
        row = done(paused(at_work, ada), shop)
        main = stage.work(row)
        a_line(main, outcome="applied")
        stage.ended(main, state="failed")
        back = refusal(
            Conflict, begin_rollback, row.pk, person(ada), step="j01", reason="odd", by=actor(ada)
        )  # fmt: skip
        again = refusal(Conflict, retry, row.pk, person(ada), step="j01", by=actor(ada))
        assert (back, again) == ("disruption_held", "moved")

    def test_who_may_not_start_holds_nothing_and_pauses_nothing_with_it(self, at_work, cleo, ada):
        assert refusal(
            PermissionDenied, pause_journey, at_work.pk, person(cleo), by=actor(cleo), hold_disruption=True
        ) == "forbidden"  # fmt: skip
        at_work.refresh_from_db()
        assert at_work.state == "running"
        assert refusal(Conflict, change_hold, at_work.pk, person(ada), asked_for="held", by=actor(ada)) == "moved"
        assert (
            refusal(InvalidInput, change_hold, at_work.pk, person(ada), asked_for="x", by=actor(ada)) == "bad_parameter"
        )

    def test_it_is_held_once(self, at_work, ada):
        row = paused(at_work, ada)
        assert refusal(Conflict, change_hold, row.pk, person(ada), asked_for="held", by=actor(ada)) == "moved"
