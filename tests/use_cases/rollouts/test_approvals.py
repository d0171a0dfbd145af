"""Asking, agreeing, saying no, and an emergency: what each leaves behind."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.use_cases.rollouts import approvals, lifecycle
from migrations_app.use_cases.rollouts.drafts import ROLL_BACK, RolloutRequest, draft, roll_back
from tests.builders.rollouts import a_line, a_rollout, an_approval, taint
from tests.builders.rows import a_cluster
from tests.use_cases.people import APPROVE, OPERATE, actor, approval_request, person, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return a_cluster("shop")


@pytest.fixture
def ada():
    return user("ada", OPERATE)


@pytest.fixture
def cleo():
    return user("cleo", APPROVE)


def events(row):
    found = AuditEvent.objects.filter(correlation=str(row.pk)).order_by("seq")
    return [(one.verb, one.actor, one.outcome) for one in found]


def test_asking_freezes_it_with_a_nonce(cluster, ada):  # A07, A40
    row = approvals.request_approval(a_rollout(cluster, author=ada).pk, person(ada), by=actor(ada), version=1)
    assert (row.state, row.version, len(row.nonce)) == ("awaiting_approval", 2, 32)
    assert events(row) == [("rollout.awaiting_approval", "ada", "awaiting_approval")]


def test_without_anybody_to_ask_it_is_approved_at_once(cluster, ada):  # A43
    row = approvals.request_approval(a_rollout(cluster, taint(risk="low"), author=ada).pk, person(ada), by=actor(ada))
    assert (row.state, row.cause_code) == ("approved", "no_approval_asked")


@pytest.mark.parametrize("columns", [{"provable": {"s001": "a webhook"}}, {}])
def test_a_doubt_is_taken_by_a_person_whatever_the_policy(cluster, ada, columns):  # A27
    step = taint(risk="low") if columns else taint(risk="low", manager="Flux")
    row = approvals.request_approval(a_rollout(cluster, step, author=ada, **columns).pk, person(ada), by=actor(ada))
    assert row.state == "awaiting_approval"


def test_a_typed_action_wants_the_name_before_anybody_is_asked(cluster, ada):
    row = a_rollout(cluster, author=ada, action="forced_deletion")
    with pytest.raises(InvalidInput) as refused:
        approvals.request_approval(row.pk, person(ada), by=actor(ada), typed="another")
    assert refused.value.code == "name_not_typed"
    assert approvals.request_approval(row.pk, person(ada), by=actor(ada), typed="shop").state == "awaiting_approval"


def test_a_yes_is_kept_with_what_was_accepted(cluster, ada, cleo):
    row = a_rollout(cluster, state="awaiting_approval", author=ada, provable={"s001": "a webhook"})
    told = approvals.approve(
        row.pk, person(cleo), approval_request=approval_request(row, reason="looks right"), by=actor(cleo)
    )
    kept = told.approvals.get()
    assert (told.state, told.accepted, kept.reason, kept.step_up) == ("approved", ["s001"], "looks right", True)
    assert [verb for verb, _, _ in events(row)] == ["rollout.yes", "rollout.approved"]


def test_a_no_ends_it(cluster, ada, cleo):
    row = a_rollout(cluster, state="awaiting_approval", author=ada)
    told = approvals.reject(row.pk, person(cleo), reason="not today", by=actor(cleo), version=1)
    assert (told.state, told.cause_code, told.cause) == ("rejected", "rejected", "not today")


@pytest.mark.parametrize("state", ["draft", "previewed"])
def test_nobody_was_asked_so_it_is_withdrawn(cluster, ada, state):
    row = a_rollout(cluster, state=state, author=ada)
    told = approvals.reject(row.pk, person(ada), reason="", by=actor(ada))
    assert (told.state, told.cause_code) == ("expired", "withdrawn")


def test_a_reader_says_neither(cluster):
    ben = user("ben")
    for state in ("previewed", "awaiting_approval"):
        with pytest.raises(PermissionDenied):
            approvals.reject(a_rollout(cluster, state=state).pk, person(ben), reason="", by=actor(ben))


def test_an_emergency_is_one_person_marked_for_ever(cluster, ada):  # A45
    nora = user("nora", OPERATE, "break_glass")
    row = a_rollout(cluster, state="awaiting_approval", author=nora)
    told = approvals.break_glass(
        row.pk, person(nora), approval_request=approval_request(row, reason="the fleet is down"), by=actor(nora)
    )
    assert (told.state, told.cause_code, told.cause) == ("approved", "break_glass", "the fleet is down")
    assert ("rollout.break_glass", "nora", "alone") in events(row)
    topics = list(Outbox.objects.filter(topic="rollout.break_glass").values_list("body", flat=True))
    assert topics == [{"rollout": str(row.pk), "by": "nora"}]
    assert lifecycle.start(row.pk, person(nora), digest=row.digest, by=actor(nora)).state == "running"
    assert [(one.approver_name, one.break_glass) for one in row.approvals.all()] == [("nora", True)]


def started(cluster, ada, cleo, **columns):
    row = a_rollout(cluster, state="approved", author=ada, **columns)
    an_approval(row, cleo)
    return lifecycle.start(row.pk, person(ada), digest=row.digest, by=actor(ada))


def test_the_start_says_who_and_when(cluster, ada, cleo):  # A41
    row = started(cluster, ada, cleo)
    assert (row.state, row.started_by_name, row.stop_request) == ("running", "ada", "")
    assert events(row) == [("rollout.running", "ada", "running")]


def test_a_cluster_is_held_by_one(cluster, ada, cleo):  # R08, A13
    first = started(cluster, ada, cleo)
    with pytest.raises(Conflict) as refused:
        started(cluster, ada, cleo)
    assert (refused.value.code, str(first.pk) in refused.value.message) == ("busy", True)


@pytest.mark.parametrize(("wish", "then"), [("pause", "pause"), ("abort", "abort")])
def test_whoever_may_approve_may_stop(cluster, ada, cleo, wish, then):  # A10
    row = started(cluster, ada, cleo)
    {"pause": lifecycle.pause, "abort": lifecycle.abort}[wish](row.pk, person(cleo), by=actor(cleo))
    row.refresh_from_db()
    assert (row.state, row.stop_request) == ("running", then)


def test_a_wish_to_abort_is_not_taken_back_by_a_pause(cluster, ada, cleo):
    row = started(cluster, ada, cleo)
    lifecycle.abort(row.pk, person(ada), by=actor(ada))
    with pytest.raises(Conflict):
        lifecycle.pause(row.pk, person(ada), by=actor(ada))


def test_stopping_is_not_refused_for_an_old_page(cluster, ada, cleo):
    row = started(cluster, ada, cleo)
    lifecycle.pause(row.pk, person(ada), by=actor(ada), version=1)
    row.refresh_from_db()
    assert row.stop_request == "pause"


def test_a_reader_stops_nothing(cluster, ada, cleo):
    row, ben = started(cluster, ada, cleo), user("ben")
    with pytest.raises(PermissionDenied):
        lifecycle.pause(row.pk, person(ben), by=actor(ben))


def test_going_on_asks_every_guard_of_a_start(cluster, ada, cleo):  # A10
    row = a_rollout(cluster, state="paused", author=ada)
    with pytest.raises(Conflict) as refused:
        lifecycle.resume(row.pk, person(ada), by=actor(ada))
    assert refused.value.code == "approval_missing"
    an_approval(row, cleo)
    assert lifecycle.resume(row.pk, person(ada), by=actor(ada)).state == "running"


def test_what_needs_attention_is_settled_by_a_person_with_a_reason(cluster, ada):  # A09
    row = a_rollout(cluster, state="needs_attention", author=ada)
    with pytest.raises(InvalidInput):
        lifecycle.resolve_by_person(row.pk, person(ada), then="failed", reason=" ", by=actor(ada))
    with pytest.raises(InvalidInput):
        lifecycle.resolve_by_person(row.pk, person(ada), then="succeeded", reason="fine", by=actor(ada))
    with pytest.raises(PermissionDenied):
        lifecycle.resolve_by_person(row.pk, person(ada, method="token"), then="failed", reason="x", by=actor(ada))
    with pytest.raises(Conflict):
        lifecycle.abort(row.pk, person(ada), by=actor(ada))
    told = lifecycle.resolve_by_person(row.pk, person(ada), then="failed", reason="node was gone", by=actor(ada))
    assert (told.state, told.cause, told.finished_at is not None) == ("failed", "node was gone", True)


@pytest.mark.parametrize("state", ["draft", "previewed", "awaiting_approval", "approved", "succeeded", "running"])
def test_only_what_needs_attention_is_settled(cluster, ada, state):
    row = a_rollout(cluster, state=state, author=ada)
    with pytest.raises(Conflict):
        lifecycle.resolve_by_person(row.pk, person(ada), then="failed", reason="x", by=actor(ada))


def test_a_draft_names_what_was_chosen(cluster, ada):
    wanted = RolloutRequest(action="taint_and_drift", parameters={"provisioners": ["default"]}, ticket="OPS-7")
    made = Rollout.objects.get(pk=draft(cluster.pk, wanted, by=actor(ada), person=person(ada)))
    assert (made.state, made.parameters["provisioners"], made.ticket, made.author) == (
        "draft", ["default"], "OPS-7", ada,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (RolloutRequest(action="no_such"), "unknown_action"),
        (RolloutRequest(action="taint_and_drift", parameters={"what": 1}), "unknown_parameter"),
        (RolloutRequest(action="taint_and_drift", parameters={"seconds": 1.5}), "bad_parameter"),
        (RolloutRequest(action=ROLL_BACK), "bad_input"),
    ],
)
def test_a_draft_that_cannot_be_is_refused(cluster, ada, wanted, code):
    with pytest.raises(InvalidInput) as refused:
        draft(cluster.pk, wanted, by=actor(ada), person=person(ada))
    assert (refused.value.code, Rollout.objects.count()) == (code, 0)


def test_a_reader_makes_no_draft(cluster):
    ben = user("ben")
    with pytest.raises(PermissionDenied):
        draft(cluster.pk, RolloutRequest(action="taint_and_drift"), by=actor(ben), person=person(ben))


@pytest.mark.parametrize("state", ["paused", "failed", "aborted"])
def test_a_rollback_is_a_plan_of_its_own_made_once(cluster, ada, state):  # A35
    row = a_rollout(cluster, state=state, author=ada)
    a_line(row)
    made = roll_back(row.pk, person(ada), by=actor(ada))
    again = roll_back(row.pk, person(ada), by=actor(ada))
    told = Rollout.objects.get(pk=made)
    assert (again, told.action, told.rolls_back, told.state) == (made, ROLL_BACK, row, "draft")


@pytest.mark.parametrize("state", ["draft", "approved", "running", "rolled_back", "needs_attention"])
def test_what_is_not_over_is_not_taken_back(cluster, ada, state):
    with pytest.raises(Conflict):
        roll_back(a_rollout(cluster, state=state, author=ada).pk, person(ada), by=actor(ada))


@pytest.mark.parametrize("state", ["paused", "failed", "aborted"])
def test_its_start_moves_the_original_also_one_that_holds_the_cluster(cluster, ada, cleo, state):
    original = a_rollout(cluster, state=state, author=ada)
    started(cluster, ada, cleo, rolls_back=original)
    original.refresh_from_db()
    assert original.state == "rolling_back"


def test_a_rollback_that_is_given_up_leaves_the_original_to_a_person(cluster, ada, cleo):
    original = a_rollout(cluster, state="rolling_back", author=ada)
    row = a_rollout(cluster, state="paused", author=ada, rolls_back=original)
    lifecycle.abort(row.pk, person(ada), by=actor(ada))
    original.refresh_from_db()
    assert (original.state, original.cause_code) == ("needs_attention", "rollback_aborted")


def test_an_old_plan_is_not_asked_about(cluster, ada):
    row = a_rollout(cluster, author=ada, expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict) as refused:
        approvals.request_approval(row.pk, person(ada), by=actor(ada))
    assert refused.value.code == "expired"


def test_the_environment_stops_every_start(cluster, ada, cleo, settings):  # A36
    from dataclasses import replace

    settings.ENV = replace(settings.ENV, stop_all_actions=True)
    with pytest.raises(Conflict) as refused:
        started(cluster, ada, cleo)
    assert refused.value.code == "kill_switch"


def test_an_audit_log_that_is_behind_stops_every_start(cluster, ada, cleo, monkeypatch):  # A55
    def behind() -> None:
        raise Conflict("the sink is behind", code="audit_blocked")

    monkeypatch.setattr("migrations_app.use_cases.rollouts.start_checks.assert_writable", behind)
    with pytest.raises(Conflict) as refused:
        started(cluster, ada, cleo)
    assert refused.value.code == "audit_blocked"


def test_a_policy_may_leave_low_risk_to_one(cluster, ada):
    Policy.objects.create(cluster=cluster, version=1, approvals={"low": 0, "medium": 0, "high": 1, "destructive": 2})
    row = approvals.request_approval(a_rollout(cluster, author=ada).pk, person(ada), by=actor(ada))
    assert lifecycle.start(row.pk, person(ada), digest=row.digest, by=actor(ada)).state == "running"
