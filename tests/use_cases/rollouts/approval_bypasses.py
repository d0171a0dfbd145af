"""Attempts to approve that must fail: by the wrong person, of another plan, too late, without reading the plan."""

import secrets
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.errors import PermissionDenied
from migrations_app.use_cases.rollouts import approvals
from tests.builders.rollouts import NONCE, remove, taint
from tests.use_cases.people import OPERATE, actor, approval_request, person, user
from tests.use_cases.rollouts.four_eyes import DESTROYS, Scene, policy, refused


@refused("second_person")
def author_approves(on: Scene) -> None:
    on.approve(on.eve, on.plan(author=on.eve))


@refused("second_person")
def author_approves_in_a_second_tab(on: Scene) -> None:
    row = on.plan(author=on.eve)
    first, second = approval_request(row), approval_request(row, reason="another tab")
    with pytest.raises(PermissionDenied):
        approvals.approve(row.pk, person(on.eve), approval_request=first, by=actor(on.eve))
    approvals.approve(row.pk, person(on.eve), approval_request=second, by=actor(on.eve))


@refused("second_person")
def author_approves_after_being_renamed(on: Scene) -> None:
    row = on.plan(author=on.eve)
    User.objects.filter(pk=on.eve.pk).update(username="somebody-else")
    on.approve(User.objects.get(pk=on.eve.pk), row)


@refused("second_person")
def author_approves_as_administrator(on: Scene) -> None:
    on.approve(on.gil, on.plan(author=on.gil))


@refused("second_person")
def author_who_is_superuser_approves(on: Scene) -> None:
    root = User.objects.create_superuser("root")
    on.approve(root, on.plan(author=root))


@refused("second_person")
def who_made_the_program_that_planned_approves(on: Scene) -> None:
    on.approve(on.cleo, on.plan(author=on.program("ci", made_by=on.cleo)))


@refused("second_person")
def who_made_a_token_of_the_program_that_planned_approves(on: Scene) -> None:
    on.approve(on.cleo, on.plan(author=on.program("ci", made_by=on.gil, token_by=on.cleo)))


@refused("person_needed")
def author_approves_with_a_token(on: Scene) -> None:
    on.approve(on.eve, on.plan(author=on.eve), method="token")


@refused("person_needed")
def a_token_approves(on: Scene) -> None:
    on.approve(on.cleo, on.plan(), method="token")


@refused("person_needed")
def a_superusers_token_approves(on: Scene) -> None:
    on.approve(User.objects.create_superuser("root"), on.plan(), method="token")


@refused("forbidden")
def an_operator_approves(on: Scene) -> None:
    on.approve(user("olga", OPERATE), on.plan())


@refused("forbidden")
def a_reader_approves(on: Scene) -> None:
    on.approve(on.ben, on.plan())


@refused("forbidden")
def a_disabled_approver_approves(on: Scene) -> None:
    User.objects.filter(pk=on.cleo.pk).update(is_active=False)
    on.approve(on.cleo, on.plan())


@refused("digest_moved")
def digest_of_another_plan(on: Scene) -> None:
    other = on.plan(remove())
    on.approve(on.cleo, on.plan(), digest=other.digest)


@refused("digest_moved")
def digest_left_empty(on: Scene) -> None:
    on.approve(on.cleo, on.plan(), digest="")


@refused("digest_moved")
def digest_cut_short(on: Scene) -> None:
    row = on.plan()
    on.approve(on.cleo, row, digest=row.digest[:12])


@refused("digest_moved")
def digest_in_capitals(on: Scene) -> None:
    row = on.plan()
    on.approve(on.cleo, row, digest=row.digest.upper())


@refused("nonce_moved")
def nonce_of_an_older_question(on: Scene) -> None:
    on.approve(on.cleo, on.plan(nonce=secrets.token_hex(16)), nonce=NONCE)


@refused("nonce_moved")
def nonce_left_empty(on: Scene) -> None:
    on.approve(on.cleo, on.plan(), nonce="")


@refused("approved_already")
def approval_replayed(on: Scene) -> None:
    policy(on, low=2, medium=2)
    row = on.plan(policy_version=2)
    on.approve(on.cleo, row)
    on.approve(on.cleo, row)


@refused("moved")
def approval_of_a_preview_that_nobody_froze(on: Scene) -> None:
    on.approve(on.cleo, on.plan(state="previewed", nonce=NONCE))


@refused("moved")
def approval_of_a_draft(on: Scene) -> None:
    on.approve(on.cleo, on.plan(state="draft"))


@refused("moved")
def approval_of_a_rejected_plan(on: Scene) -> None:
    row = on.plan()
    approvals.reject(row.pk, person(on.cleo), reason="no", by=actor(on.cleo))
    on.approve(on.cleo, row)


@refused("expired")
def approval_after_its_time(on: Scene) -> None:
    on.approve(on.cleo, on.plan(expires_at=timezone.now() - timedelta(seconds=1)))


@refused("not_accepted")
def doubtful_step_not_accepted(on: Scene) -> None:
    on.approve(on.cleo, on.plan(provable={"s001": "a webhook"}), accepted=())


@refused("not_accepted")
def doubtful_step_accepted_by_another_name(on: Scene) -> None:
    on.approve(on.cleo, on.plan(provable={"s001": "a webhook"}), accepted=("*", "S001", "s002"))


@refused("not_accepted")
def managed_object_not_accepted(on: Scene) -> None:
    on.approve(on.cleo, on.plan(taint(manager="Argo CD application shop")), accepted=())


@refused("name_not_typed")
def name_not_typed_for_a_risky_plan(on: Scene) -> None:
    on.approve(on.cleo, on.plan(remove()), typed="")


@refused("name_not_typed")
def name_typed_in_other_letters(on: Scene) -> None:
    on.approve(on.cleo, on.plan(remove()), typed="Shop")


@refused("sign_in_again")
def destruction_without_the_password_again(on: Scene) -> None:
    on.approve(on.cleo, on.plan(remove(**DESTROYS)), fresh=False)
