"""Forty ways round the second person, scripted: none of them starts anything (T14, A40-A45)."""

import secrets
import uuid
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from django.contrib.auth.models import Permission, User
from django.db import Error, transaction
from django.utils import timezone

from migrations_app.actions.plan import Plan, canonical
from migrations_app.errors import Denied, KarpdashError
from migrations_app.flow import approve as flow
from migrations_app.flow import run
from migrations_app.flow.change_policy import Rules, change_policy
from migrations_app.flow.transition import transition
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.policies import policy_of
from tests.builders_rollouts import NONCE, a_rollout, a_yes, remove, taint
from tests.builders_rows import a_cluster
from tests.flow.cast import ADMINISTER, APPROVE, OPERATE, actor, person, user, yes

pytestmark = pytest.mark.django_db
DESTROYS = {"risk": "destructive"}


class Stage:
    """Ada operates and made the plan, Cleo approves, Eve does both, Gil administers, Ben looks."""

    def __init__(self) -> None:
        self.cluster = a_cluster("shop")
        self.ada, self.ben = user("ada", OPERATE), user("ben")
        self.cleo, self.eve = user("cleo", APPROVE), user("eve", OPERATE, APPROVE)
        self.gil = user("gil", ADMINISTER)

    def plan(self, *steps, state="awaiting_approval", author=None, **columns) -> Rollout:
        return a_rollout(self.cluster, *(steps or (taint(),)), state=state, author=author or self.ada, **columns)

    def approved(self, *steps, by=None, **columns) -> Rollout:
        row = self.plan(*steps, state="approved", **columns)
        for one in by or (self.cleo,):
            a_yes(row, one)
        return row

    def approve(self, who: User, row: Rollout, *, method="session", fresh=True, **changed) -> Rollout:
        me = person(who, method=method, fresh=fresh)
        return flow.approve(row.pk, me, yes=yes(row, **changed), by=actor(who))

    def start(self, who: User, row: Rollout, *, method="session", **changed) -> Rollout:
        told = {"digest": row.digest} | changed
        return run.start(row.pk, person(who, method=method), by=actor(who), **told)


@pytest.fixture
def stage() -> Stage:
    return Stage()


BYPASSES: dict[str, tuple[str, Callable[[Stage], None]]] = {}


def refused(code: str) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Lists a way round, with the code of what has to stop it; `database`: its own guards do."""

    def listed(way: Callable[[Stage], None]) -> Callable[[Stage], None]:
        BYPASSES[way.__name__] = (code, way)
        return way

    return listed


@refused("second_person")
def author_approves(on: Stage) -> None:
    on.approve(on.eve, on.plan(author=on.eve))


@refused("second_person")
def author_approves_in_a_second_tab(on: Stage) -> None:
    row = on.plan(author=on.eve)
    first, second = yes(row), yes(row, reason="another tab")
    with pytest.raises(Denied):
        flow.approve(row.pk, person(on.eve), yes=first, by=actor(on.eve))
    flow.approve(row.pk, person(on.eve), yes=second, by=actor(on.eve))


@refused("second_person")
def author_approves_after_being_renamed(on: Stage) -> None:
    row = on.plan(author=on.eve)
    User.objects.filter(pk=on.eve.pk).update(username="somebody-else")
    on.approve(User.objects.get(pk=on.eve.pk), row)


@refused("second_person")
def author_approves_as_administrator(on: Stage) -> None:
    on.approve(on.gil, on.plan(author=on.gil))


@refused("second_person")
def author_who_is_superuser_approves(on: Stage) -> None:
    root = User.objects.create_superuser("root")
    on.approve(root, on.plan(author=root))


@refused("person_needed")
def author_approves_with_a_token(on: Stage) -> None:
    on.approve(on.eve, on.plan(author=on.eve), method="token")


@refused("person_needed")
def a_token_approves(on: Stage) -> None:
    on.approve(on.cleo, on.plan(), method="token")


@refused("person_needed")
def a_superusers_token_approves(on: Stage) -> None:
    on.approve(User.objects.create_superuser("root"), on.plan(), method="token")


@refused("forbidden")
def an_operator_approves(on: Stage) -> None:
    on.approve(user("olga", OPERATE), on.plan())


@refused("forbidden")
def a_reader_approves(on: Stage) -> None:
    on.approve(on.ben, on.plan())


@refused("forbidden")
def a_disabled_approver_approves(on: Stage) -> None:
    User.objects.filter(pk=on.cleo.pk).update(is_active=False)
    on.approve(on.cleo, on.plan())


@refused("digest_moved")
def digest_of_another_plan(on: Stage) -> None:
    other = on.plan(remove())
    on.approve(on.cleo, on.plan(), digest=other.digest)


@refused("digest_moved")
def digest_left_empty(on: Stage) -> None:
    on.approve(on.cleo, on.plan(), digest="")


@refused("digest_moved")
def digest_cut_short(on: Stage) -> None:
    row = on.plan()
    on.approve(on.cleo, row, digest=row.digest[:12])


@refused("digest_moved")
def digest_in_capitals(on: Stage) -> None:
    row = on.plan()
    on.approve(on.cleo, row, digest=row.digest.upper())


@refused("nonce_moved")
def nonce_of_an_older_question(on: Stage) -> None:
    on.approve(on.cleo, on.plan(nonce=secrets.token_hex(16)), nonce=NONCE)


@refused("nonce_moved")
def nonce_left_empty(on: Stage) -> None:
    on.approve(on.cleo, on.plan(), nonce="")


@refused("approved_already")
def approval_replayed(on: Stage) -> None:
    policy(on, low=2, medium=2)
    row = on.plan(policy_version=2)
    on.approve(on.cleo, row)
    on.approve(on.cleo, row)


@refused("moved")
def approval_of_a_preview_that_nobody_froze(on: Stage) -> None:
    on.approve(on.cleo, on.plan(state="previewed", nonce=NONCE))


@refused("moved")
def approval_of_a_draft(on: Stage) -> None:
    on.approve(on.cleo, on.plan(state="draft"))


@refused("moved")
def approval_of_a_rejected_plan(on: Stage) -> None:
    row = on.plan()
    flow.reject(row.pk, person(on.cleo), reason="no", by=actor(on.cleo))
    on.approve(on.cleo, row)


@refused("expired")
def approval_after_its_time(on: Stage) -> None:
    on.approve(on.cleo, on.plan(expires_at=timezone.now() - timedelta(seconds=1)))


@refused("not_accepted")
def doubtful_step_not_accepted(on: Stage) -> None:
    on.approve(on.cleo, on.plan(provable={"s001": "a webhook"}), accepted=())


@refused("not_accepted")
def doubtful_step_accepted_by_another_name(on: Stage) -> None:
    on.approve(on.cleo, on.plan(provable={"s001": "a webhook"}), accepted=("*", "S001", "s002"))


@refused("not_accepted")
def managed_object_not_accepted(on: Stage) -> None:
    on.approve(on.cleo, on.plan(taint(manager="Argo CD application shop")), accepted=())


@refused("name_not_typed")
def name_not_typed_for_a_risky_plan(on: Stage) -> None:
    on.approve(on.cleo, on.plan(remove()), typed="")


@refused("name_not_typed")
def name_typed_in_other_letters(on: Stage) -> None:
    on.approve(on.cleo, on.plan(remove()), typed="Shop")


@refused("sign_in_again")
def destruction_without_the_password_again(on: Stage) -> None:
    on.approve(on.cleo, on.plan(remove(**DESTROYS)), fresh=False)


@refused("approval_missing")
def started_without_anybody(on: Stage) -> None:
    on.start(on.ada, on.plan(state="approved"))


@refused("moved")
def started_from_the_preview(on: Stage) -> None:
    on.start(on.ada, on.plan(state="previewed"))


@refused("moved")
def started_while_it_waits(on: Stage) -> None:
    on.start(on.ada, on.plan())


@refused("forbidden")
def started_by_a_reader(on: Stage) -> None:
    on.start(on.ben, on.approved())


@refused("digest_moved")
def started_with_another_digest(on: Stage) -> None:
    on.start(on.ada, on.approved(), digest="0" * 64)


@refused("approval_missing")
def one_of_two_for_destruction(on: Stage) -> None:
    on.start(on.ada, on.approved(remove(**DESTROYS)))


@refused("approval_missing")
def approver_disabled_before_the_start(on: Stage) -> None:
    row = on.approved()
    User.objects.filter(pk=on.cleo.pk).update(is_active=False)
    on.start(on.ada, row)


@refused("approval_missing")
def approver_lost_the_right_before_the_start(on: Stage) -> None:
    row = on.approved()
    on.cleo.user_permissions.clear()
    on.start(on.ada, row)


@refused("approval_missing")
def approver_deleted_before_the_start(on: Stage) -> None:
    row = on.approved()
    on.cleo.delete()
    on.start(on.ada, row)


@refused("policy_moved")
def policy_lowered_after_the_preview(on: Stage) -> None:
    row = on.plan(state="approved")
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("policy_moved")
def policy_raised_after_the_approval(on: Stage) -> None:
    row = on.approved()
    policy(on, low=2, medium=2)
    on.start(on.ada, row)


@refused("policy_moved")
def own_policy_with_the_number_of_the_other(on: Stage) -> None:
    """The policy of all is at 2; a plan is made under it. The cluster then gets one of its own, more lenient."""
    policy(on, low=1, medium=1, cluster=None)
    row = on.plan(state="approved", policy_version=2)
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("policy_moved")
def policy_dropped_and_made_anew(on: Stage) -> None:
    policy(on, low=1, medium=1)
    row = on.plan(state="approved", policy_version=2)
    Policy.objects.all().delete()
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("forbidden")
def policy_lowered_by_the_operator(on: Stage) -> None:
    change_policy(on.cluster.pk, rules(low=0, medium=0), person=person(on.ada), version=1, by=actor(on.ada))


@refused("bad_approvals")
def destruction_left_to_nobody(on: Stage) -> None:
    change_policy(on.cluster.pk, rules(destructive=0), person=person(on.gil), version=1, by=actor(on.gil))


@refused("approval_missing")
def approval_of_another_rollout_counts_here(on: Stage) -> None:
    row, other = on.plan(state="approved"), on.plan()
    a_yes(other, on.cleo)
    on.start(on.ada, row)


@refused("approval_missing")
def owner_of_the_starting_token_approved_it(on: Stage) -> None:
    on.start(on.eve, on.approved(by=(on.eve,)), method="token")


@refused("forbidden")
def emergency_without_the_right(on: Stage) -> None:
    row = on.plan()
    flow.break_glass(row.pk, person(on.eve), yes=yes(row, reason="fire"), by=actor(on.eve))


@refused("reason_needed")
def emergency_without_a_reason(on: Stage) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    flow.break_glass(row.pk, person(nora), yes=yes(row, reason=" "), by=actor(nora))


@refused("person_needed")
def emergency_by_a_token(on: Stage) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    flow.break_glass(row.pk, person(nora, method="token"), yes=yes(row, reason="fire"), by=actor(nora))


@refused("sign_in_again")
def emergency_without_the_password_again(on: Stage) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    flow.break_glass(row.pk, person(nora, fresh=False), yes=yes(row, reason="fire"), by=actor(nora))


@refused("approval_missing")
def emergency_with_the_right_taken_away(on: Stage) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    flow.break_glass(row.pk, person(nora), yes=yes(row, reason="fire"), by=actor(nora))
    nora.user_permissions.remove(Permission.objects.get(codename="break_glass"))
    on.start(on.ada, row)


@refused("kill_switch")
def emergency_against_the_kill_switch(on: Stage) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    flow.break_glass(row.pk, person(nora), yes=yes(row, reason="fire"), by=actor(nora))
    KillSwitch.objects.create(on=True)
    on.start(nora, row)


@refused("database")
def plan_exchanged_after_the_approval(on: Stage) -> None:
    row = on.approved()
    other = msgspec.structs.replace(msgspec.json.decode(bytes(row.plan), type=Plan), title="another")
    with transaction.atomic():
        Rollout.objects.filter(pk=row.pk).update(plan=canonical(other), digest=other.digest)


@refused("database")
def state_written_past_the_guards(on: Stage) -> None:
    row = on.plan(state="previewed")
    with transaction.atomic():
        Rollout.objects.filter(pk=row.pk).update(state="running")


@refused("moved")
def transition_past_the_approval(on: Stage) -> None:
    transition(on.plan(), "running", by=actor(on.ada))


@refused("approval_missing")
def approval_written_with_another_digest(on: Stage) -> None:
    row = on.plan(state="approved")
    a_yes(row, on.cleo, digest="0" * 64)
    on.start(on.ada, row)


@refused("approval_missing")
def approval_written_with_another_nonce(on: Stage) -> None:
    row = on.plan(state="approved")
    a_yes(row, on.cleo, nonce="0" * 32)
    on.start(on.ada, row)


@refused("moved")
def a_stale_form_starts(on: Stage) -> None:
    row = on.approved()
    Rollout.objects.filter(pk=row.pk).update(version=7)
    on.start(on.ada, row, version=1)


@refused("closed")
def frozen_plan_started(on: Stage) -> None:
    row = on.approved()
    Policy.objects.create(cluster=on.cluster, version=1, frozen=True, frozen_why="holidays")
    on.start(on.ada, row)


@refused("not_found")
def no_such_plan(on: Stage) -> None:
    run.start(uuid.UUID(int=1), person(on.ada), digest="", by=actor(on.ada))


def rules(**approvals: int) -> Rules:
    return Rules(approvals={"low": 0, "medium": 1, "high": 1, "destructive": 2} | approvals)


def policy(on: Stage, *, cluster: object = ..., **approvals: int) -> None:
    """Gil changes the policy of the cluster, or with `cluster=None` that of all."""
    chosen = on.cluster.pk if cluster is ... else None
    change_policy(
        chosen, rules(**approvals), person=person(on.gil), version=policy_of(chosen).version, by=actor(on.gil)
    )


def test_there_are_at_least_forty() -> None:
    assert len(BYPASSES) >= 40


@pytest.mark.parametrize("name", sorted(BYPASSES))
def test_no_way_round_the_second_person(stage: Stage, name: str) -> None:  # T14, A40, A41, A42, A43, A44, A45
    code, way = BYPASSES[name]
    with pytest.raises((KarpdashError, Error)) as stopped:
        way(stage)
    assert getattr(stopped.value, "code", "database") == code
    assert not Rollout.objects.filter(state="running").exists()


def test_the_straight_way_starts(stage: Stage) -> None:
    """The control of all the others: with the same parts, done right, it runs."""
    row = flow.ask(stage.plan(state="previewed").pk, person(stage.ada), by=actor(stage.ada))
    assert (row.state, len(row.nonce)) == ("awaiting_approval", 32)
    assert stage.approve(stage.cleo, row).state == "approved"
    assert stage.start(stage.ada, row).state == "running"
    assert [one.approver_name for one in Approval.objects.filter(rollout=row)] == ["cleo"]


def test_two_agree_to_destruction(stage: Stage) -> None:  # A43
    row = stage.plan(remove(**DESTROYS))
    assert stage.approve(stage.cleo, row).state == "awaiting_approval"
    assert stage.approve(stage.eve, row).state == "approved"
    assert stage.start(stage.ada, Rollout.objects.get(pk=row.pk)).state == "running"
