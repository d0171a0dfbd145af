"""Rehearsals as rows: asked for once, claimed once, ended whatever happens to the worker (R01, R03, R07, R36)."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import Policy
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rehearsals.rehearsals import newest_result, rehearsals_of
from migrations_app.queries.rehearsals.requirement import why_unrehearsed
from migrations_app.rehearsals.document import PlayRefusal, RehearsalPlay, read_document, stored
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.result import RehearsalStop
from migrations_app.use_cases.rehearsal_runs import queue
from migrations_app.use_cases.rehearsal_runs.worker import rehearse_claimed
from migrations_app.use_cases.rollouts import approvals, lifecycle
from tests.builders.rehearsals import a_rehearsal, plan_row, played
from tests.builders.rollouts import a_rollout, an_approval, taint
from tests.builders.rows import a_cluster
from tests.rehearsals.scene import Scene
from tests.use_cases.people import APPROVE, OPERATE, actor, approval_request, person, user

pytestmark = pytest.mark.django_db(transaction=True)
FAILURES = (Failure("full_zone"), Failure("webhook_down"))


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.ENV = replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


@pytest.fixture
def ada():
    return user("ada", OPERATE)


@pytest.fixture
def row():
    return a_rollout(a_cluster("shop"))


def asked(row, who, **more):
    return queue.request_rehearsal(row.pk, person(who), by=actor(who), **more)


def expire():
    Rehearsal.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def verbs():
    return [
        (one.verb, one.actor, one.outcome)
        for one in AuditEvent.objects.filter(verb__startswith="rehearsal.").order_by("seq")
    ]


def test_a_plan_is_read_again_and_played_with_each_failure(ada):
    row = plan_row(Scene())
    claim = queue.claim(asked(row, ada, failures=FAILURES, seed=5))
    rehearse_claimed(claim)
    (found,) = rehearsals_of(row.pk)
    document = read_document(found.raw)
    assert (found.state, found.current, found.seed, found.error_code) == ("finished", True, 5, "")
    assert (document.without_failure.plan, document.without_failure.finished, document.without_failure.seed) == (
        row.digest,
        True,
        5,
    )
    assert [play.scenario for play in document.plays] == ["none", "full_zone", "webhook_down"]
    assert verbs() == [
        ("rehearsal.requested", "ada", "requested"),
        ("rehearsal.finished", "karpdash", "finished"),
    ]
    assert Rollout.objects.get(pk=row.pk).state == "previewed"


def test_a_second_request_gets_the_rehearsal_under_way(row, ada):
    assert asked(row, ada) == asked(row, ada)
    assert (Rehearsal.objects.count(), len(verbs())) == (1, 1)


@pytest.mark.parametrize(
    ("state", "expected"),
    [("draft", "moved"), ("running", "moved"), ("succeeded", "moved"), ("rejected", "moved")],
)
def test_only_a_plan_that_was_not_started_is_rehearsed(ada, state, expected):
    with pytest.raises(Conflict) as caught:
        asked(a_rollout(a_cluster("shop"), state=state), ada)
    assert caught.value.code == expected


def test_who_may_not_prepare_plans_rehearses_none(row):
    for rights in ((), (APPROVE,)):
        with pytest.raises(PermissionDenied):
            asked(row, user(f"u{len(rights)}", *rights))
    assert Rehearsal.objects.count() == 0


@pytest.mark.parametrize(
    "more",
    [{"seed": -1}, {"seed": 2**31}, {"failures": (Failure("none"),)}, {"failures": (FAILURES[0], FAILURES[0])}],
)
def test_odd_choices_are_refused(row, ada, more):
    with pytest.raises(InvalidInput) as caught:
        asked(row, ada, **more)
    assert caught.value.code == "bad_parameter"


def test_more_than_so_many_of_a_plan_are_refused(row, ada):
    for _ in range(queue.MAX_OF_A_PLAN):
        a_rehearsal(row, state="failed")
    with pytest.raises(Conflict) as caught:
        asked(row, ada)
    assert caught.value.code == "too_many"


def test_one_of_two_claims_wins(row, ada):  # R07
    made = asked(row, ada)
    assert (queue.claim(made).fence, queue.claim(made)) == (1, None)


def test_a_lost_lease_is_taken_over_and_the_old_holder_is_fenced(row, ada):  # R03
    made = asked(row, ada)
    old = queue.claim(made)
    expire()
    new = queue.claim(made)
    assert (queue.renew(old), queue.renew(new)) == (False, True)
    with pytest.raises(Conflict):
        queue.store(old, b"{}")
    queue.store(new, b"{}")
    assert (Rehearsal.objects.get().state, len(verbs())) == ("finished", 2)


def test_two_lost_workers_end_it_and_nothing_else(row, ada):  # R36
    made = asked(row, ada)
    for _ in range(queue.MAX_ATTEMPTS):
        assert queue.claim(made)
        expire()
    assert (queue.claim(made), queue.rehearsals_to_enqueue()) == (None, ())
    found = Rehearsal.objects.get()
    assert (found.state, found.error_code, verbs()[-1]) == (
        "failed", "worker_lost", ("rehearsal.failed", "karpdash", "worker_lost"),
    )  # fmt: skip
    assert Rollout.objects.get(pk=row.pk).state == "previewed"
    assert asked(row, ada) != made


def test_one_that_lost_its_message_is_woken(row, ada):  # R05
    made = asked(row, ada)
    assert queue.rehearsals_to_enqueue() == ()
    Rehearsal.objects.update(made_at=timezone.now() - timedelta(minutes=1))
    assert queue.rehearsals_to_enqueue() == (made,)


def test_a_worker_that_is_told_to_stop_gives_it_back(row, ada):  # R28
    claim = queue.claim(asked(row, ada))
    assert queue.requeue(claim) is True
    assert Rehearsal.objects.values_list("state", "attempts").get() == ("queued", 0)


def test_the_time_limit_ends_it_with_a_code(ada, settings):
    settings.ENV = replace(settings.ENV, scan_deadline=-1)
    row = plan_row(Scene())
    rehearse_claimed(queue.claim(asked(row, ada)))
    assert (Rehearsal.objects.get().state, Rehearsal.objects.get().error_code) == ("failed", "time_limit")


def test_one_that_was_taken_over_stores_nothing(ada):  # R03
    row = plan_row(Scene())
    old = queue.claim(asked(row, ada))
    expire()
    assert queue.claim(old.rehearsal_id)
    rehearse_claimed(old)
    assert (Rehearsal.objects.get().state, bytes(Rehearsal.objects.get().result)) == ("running", b"")


def test_a_cluster_that_cannot_be_read_ends_it_with_the_reason(row, ada):
    row.cluster.source = "kubeconfig"
    row.cluster.save()
    rehearse_claimed(queue.claim(asked(row, ada)))
    assert (Rehearsal.objects.get().state, Rehearsal.objects.get().error_code) == ("failed", "bad_input")


def test_another_plan_has_no_rehearsal(row):
    a_rehearsal(row, digest="0" * 64)
    assert (newest_result(row.pk, digest=row.digest), rehearsals_of(row.pk)[0].current) == (None, False)


def demand(*risks):
    Policy.objects.create(rehearsals=list(risks))


def test_a_policy_demands_it_before_approval_and_start(ada):  # A46
    demand("medium")
    cleo = user("cleo", APPROVE)
    row = a_rollout(a_cluster("shop"), state="awaiting_approval", author=ada)
    with pytest.raises(Conflict) as caught:
        approvals.approve(row.pk, person(cleo), approval_request=approval_request(row), by=actor(cleo))
    assert (caught.value.code, Rollout.objects.get().approvals.count()) == ("rehearsal_missing", 0)
    Rollout.objects.update(state="approved")
    an_approval(row, cleo)
    for missing in ({"state": "failed"}, {"digest": "0" * 64}, {"state": "running"}):
        Rehearsal.objects.all().delete()
        a_rehearsal(row, **missing)
        with pytest.raises(Conflict) as caught:
            lifecycle.start(row.pk, person(ada), digest=row.digest, by=actor(ada))
        assert (caught.value.code, Rollout.objects.get().state) == ("rehearsal_missing", "approved")
    Rehearsal.objects.all().delete()
    a_rehearsal(row)
    assert lifecycle.start(row.pk, person(ada), digest=row.digest, by=actor(ada)).state == "running"


def told_by(*plays):
    return {"result": stored(plays)}


def test_a_rehearsal_that_stops_is_not_what_the_policy_asks_for():  # A46
    demand("medium")
    row = a_rollout(a_cluster("shop"))
    (without_failure,) = played()
    stop = RehearsalStop(step="s1", title="Drain n1", code="gate_failed", words="a budget holds it")
    stops = msgspec.structs.replace(without_failure.result, finished=False, stopped=stop)
    a_rehearsal(row)
    assert why_unrehearsed(row) == ""
    a_rehearsal(row, **told_by(msgspec.structs.replace(without_failure, result=stops)))
    assert why_unrehearsed(row) == (
        "the policy asks for a rehearsal that runs to its end, and the newest one stops at 'Drain n1'"
    )
    a_rehearsal(row, state="queued")
    assert "not over yet" in why_unrehearsed(row)
    Rehearsal.objects.filter(state="queued").delete()
    a_rehearsal(row)
    assert why_unrehearsed(row) == ""


def test_a_play_with_a_failure_does_not_stand_for_one_without():  # A46
    demand("medium")
    row = a_rollout(a_cluster("shop"))
    without_failure, full = played(Failure("full_zone"))
    refused = RehearsalPlay(scenario="none", zone="", result=None, refusal=PlayRefusal(code="not_seen", words="x"))
    for plays in ((full,), (refused, full), ()):
        Rehearsal.objects.all().delete()
        a_rehearsal(row, **told_by(*plays))
        assert "without a failure, and the newest one has none" in why_unrehearsed(row)
    a_rehearsal(row, result=b"not JSON")
    assert "has none" in why_unrehearsed(row)
    a_rehearsal(row, **told_by(without_failure, full))
    assert why_unrehearsed(row) == ""


def test_a_rehearsal_of_another_rollout_with_the_same_digest_does_not_count():  # A46
    demand("medium")
    row, other = a_rollout(a_cluster("shop")), a_rollout(a_cluster("other"))
    a_rehearsal(other, digest=row.digest)
    assert "none that ended" in why_unrehearsed(row)


def test_a_plan_that_nobody_has_to_approve_is_not_locked_without_it(ada):  # A46
    demand("low")
    row = a_rollout(a_cluster("shop"), taint(risk="low"), author=ada)
    with pytest.raises(Conflict) as caught:
        approvals.request_approval(row.pk, person(ada), by=actor(ada))
    assert (caught.value.code, Rollout.objects.get().state) == ("rehearsal_missing", "previewed")
    a_rehearsal(row)
    assert approvals.request_approval(row.pk, person(ada), by=actor(ada)).state == "approved"


def test_in_an_emergency_it_is_demanded_too(ada):  # A46
    demand("medium")
    eve = user("eve", APPROVE, "break_glass")
    row = a_rollout(a_cluster("shop"), state="awaiting_approval", author=ada)
    with pytest.raises(Conflict) as caught:
        approvals.break_glass(row.pk, person(eve), approval_request=approval_request(row, reason="fire"), by=actor(eve))
    assert caught.value.code == "rehearsal_missing"


def test_the_strictest_policy_of_the_registrations_counts():
    row = a_rollout(a_cluster("shop"))
    Policy.objects.create(cluster=row.cluster, rehearsals=["high", "no such risk"])
    assert why_unrehearsed(row) == ""
    Policy.objects.update(rehearsals=["medium"])
    assert "medium" in why_unrehearsed(row)


def test_a_plan_that_cannot_be_rehearsed_is_not_asked_for_one(ada):
    demand("medium")
    step = taint()
    target = replace_kind(step, "Deployment")
    row = a_rollout(a_cluster("shop"), target)
    assert why_unrehearsed(row) == ""
    with pytest.raises(InvalidInput) as caught:
        asked(row, ada)
    assert caught.value.code == "not_played"


def replace_kind(step, kind):
    target = msgspec.structs.replace(step.change.target, kind=kind)
    return msgspec.structs.replace(step, change=msgspec.structs.replace(step.change, target=target))
