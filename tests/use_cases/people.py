"""The people of rollouts, as Django users and as the Person values of the deciding half."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.access import Person
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.accounts.rights import rights_of
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest
from tests.builders.rollouts import entitled

OPERATE, APPROVE, ADMINISTER = "operate_rollout", "approve_rollout", "administer_policy"


def user(name: str, *rights: str) -> User:
    """Creates an account with these rights."""
    return entitled(User.objects.create_user(name), *rights)


def person(who: User, *, method="session", fresh=True) -> Person:
    """Returns the account at the browser with a recent sign-in; or with another method, such as one of its tokens."""
    until = timezone.now() + timedelta(minutes=5) if fresh else None
    again = User.objects.get(pk=who.pk)
    return Person(id=who.pk, name=who.username, rights=rights_of(again), method=method, fresh_until=until)


def actor(who: User, **more) -> Actor:
    return Actor(name=who.username, id=who.pk, **more)


def approval_request(row: Rollout, **changed) -> ApprovalRequest:
    """Returns a complete approval request for this plan."""
    told = {"digest": row.digest, "nonce": row.nonce, "accepted": tuple(row.provable), "typed": row.cluster_name}
    return ApprovalRequest(**(told | changed))
