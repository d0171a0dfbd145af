"""Attempts to start without valid approvals, by misuse of policies, permissions and emergencies."""

import uuid

import msgspec
from django.contrib.auth.models import Permission, User
from django.db import transaction

from migrations_app.actions.plan import Plan, canonical
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts import approvals, lifecycle
from migrations_app.use_cases.rollouts.policies import change_policy
from migrations_app.use_cases.rollouts.transitions import transition
from tests.builders.rollouts import an_approval, remove
from tests.use_cases.people import OPERATE, actor, approval_request, person, user
from tests.use_cases.rollouts.four_eyes import DESTROYS, Scene, policy, refused, rules


@refused("approval_missing")
def started_without_anybody(on: Scene) -> None:
    on.start(on.ada, on.plan(state="approved"))


@refused("moved")
def started_from_the_preview(on: Scene) -> None:
    on.start(on.ada, on.plan(state="previewed"))


@refused("moved")
def started_while_it_waits(on: Scene) -> None:
    on.start(on.ada, on.plan())


@refused("forbidden")
def started_by_a_reader(on: Scene) -> None:
    on.start(on.ben, on.approved())


@refused("digest_moved")
def started_with_another_digest(on: Scene) -> None:
    on.start(on.ada, on.approved(), digest="0" * 64)


@refused("approval_missing")
def one_of_two_for_destruction(on: Scene) -> None:
    on.start(on.ada, on.approved(remove(**DESTROYS)))


@refused("approval_missing")
def approver_disabled_before_the_start(on: Scene) -> None:
    row = on.approved()
    User.objects.filter(pk=on.cleo.pk).update(is_active=False)
    on.start(on.ada, row)


@refused("approval_missing")
def approver_lost_the_right_before_the_start(on: Scene) -> None:
    row = on.approved()
    on.cleo.user_permissions.clear()
    on.start(on.ada, row)


@refused("approval_missing")
def approver_deleted_before_the_start(on: Scene) -> None:
    row = on.approved()
    on.cleo.delete()
    on.start(on.ada, row)


@refused("policy_moved")
def policy_lowered_after_the_preview(on: Scene) -> None:
    row = on.plan(state="approved")
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("policy_moved")
def policy_raised_after_the_approval(on: Scene) -> None:
    row = on.approved()
    policy(on, low=2, medium=2)
    on.start(on.ada, row)


@refused("policy_moved")
def own_policy_with_the_number_of_the_other(on: Scene) -> None:
    """Makes a plan under version 2 of the general policy; then the cluster gets a more lenient policy of its own."""
    policy(on, low=1, medium=1, cluster=None)
    row = on.plan(state="approved", policy_version=2)
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("policy_moved")
def policy_dropped_and_made_anew(on: Scene) -> None:
    policy(on, low=1, medium=1)
    row = on.plan(state="approved", policy_version=2)
    Policy.objects.all().delete()
    policy(on, low=0, medium=0)
    on.start(on.ada, row)


@refused("forbidden")
def policy_lowered_by_the_operator(on: Scene) -> None:
    change_policy(on.cluster.pk, rules(low=0, medium=0), person=person(on.ada), version=1, by=actor(on.ada))


@refused("bad_approvals")
def destruction_left_to_nobody(on: Scene) -> None:
    change_policy(on.cluster.pk, rules(destructive=0), person=person(on.gil), version=1, by=actor(on.gil))


@refused("approval_missing")
def approval_of_another_rollout_counts_here(on: Scene) -> None:
    row, other = on.plan(state="approved"), on.plan()
    an_approval(other, on.cleo)
    on.start(on.ada, row)


@refused("approval_missing")
def owner_of_the_starting_token_approved_it(on: Scene) -> None:
    on.start(on.eve, on.approved(by=(on.eve,)), method="token")


@refused("approval_missing")
def who_made_the_starting_program_approved_it(on: Scene) -> None:
    on.start(on.program("ci", made_by=on.cleo), on.approved(by=(on.cleo,)), method="token")


@refused("forbidden")
def emergency_without_the_right(on: Scene) -> None:
    row = on.plan()
    approvals.break_glass(
        row.pk, person(on.eve), approval_request=approval_request(row, reason="fire"), by=actor(on.eve)
    )


@refused("reason_needed")
def emergency_without_a_reason(on: Scene) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    approvals.break_glass(row.pk, person(nora), approval_request=approval_request(row, reason=" "), by=actor(nora))


@refused("person_needed")
def emergency_by_a_token(on: Scene) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    approvals.break_glass(
        row.pk, person(nora, method="token"), approval_request=approval_request(row, reason="fire"), by=actor(nora)
    )


@refused("sign_in_again")
def emergency_without_the_password_again(on: Scene) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    approvals.break_glass(
        row.pk, person(nora, fresh=False), approval_request=approval_request(row, reason="fire"), by=actor(nora)
    )


@refused("approval_missing")
def emergency_with_the_right_taken_away(on: Scene) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    approvals.break_glass(row.pk, person(nora), approval_request=approval_request(row, reason="fire"), by=actor(nora))
    nora.user_permissions.remove(Permission.objects.get(codename="break_glass"))
    on.start(on.ada, row)


@refused("kill_switch")
def emergency_against_the_kill_switch(on: Scene) -> None:
    row, nora = on.plan(), user("nora", "break_glass", OPERATE)
    approvals.break_glass(row.pk, person(nora), approval_request=approval_request(row, reason="fire"), by=actor(nora))
    KillSwitch.objects.create(on=True)
    on.start(nora, row)


@refused("database")
def plan_exchanged_after_the_approval(on: Scene) -> None:
    row = on.approved()
    other = msgspec.structs.replace(msgspec.json.decode(bytes(row.plan), type=Plan), title="another")
    with transaction.atomic():
        Rollout.objects.filter(pk=row.pk).update(plan=canonical(other), digest=other.digest)


@refused("database")
def state_written_past_the_guards(on: Scene) -> None:
    row = on.plan(state="previewed")
    with transaction.atomic():
        Rollout.objects.filter(pk=row.pk).update(state="running")


@refused("moved")
def transition_past_the_approval(on: Scene) -> None:
    transition(on.plan(), "running", by=actor(on.ada))


@refused("approval_missing")
def approval_written_with_another_digest(on: Scene) -> None:
    row = on.plan(state="approved")
    an_approval(row, on.cleo, digest="0" * 64)
    on.start(on.ada, row)


@refused("approval_missing")
def approval_written_with_another_nonce(on: Scene) -> None:
    row = on.plan(state="approved")
    an_approval(row, on.cleo, nonce="0" * 32)
    on.start(on.ada, row)


@refused("moved")
def a_stale_form_starts(on: Scene) -> None:
    row = on.approved()
    Rollout.objects.filter(pk=row.pk).update(version=7)
    on.start(on.ada, row, version=1)


@refused("closed")
def frozen_plan_started(on: Scene) -> None:
    row = on.approved()
    Policy.objects.create(cluster=on.cluster, version=1, frozen=True, frozen_why="holidays")
    on.start(on.ada, row)


@refused("not_found")
def no_such_plan(on: Scene) -> None:
    lifecycle.start(uuid.UUID(int=1), person(on.ada), digest="", by=actor(on.ada))
