"""The people of an installation: the first one, and what each may do."""

import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from migrations_app.access import Right
from migrations_app.flow.acting import tell
from migrations_app.models.person import TemporaryPassword


def first_admin() -> str:
    """The one-time password of a new user `admin`; empty when there is already anybody."""
    people = get_user_model()
    with transaction.atomic():
        if people.objects.exists():
            return ""
        password = secrets.token_urlsafe(12)
        admin = people.objects.create_superuser(username="admin", password=password)
        TemporaryPassword.objects.create(user=admin)
        tell("account.made", admin.get_username(), rights="all")
    return password


PERMISSIONS: dict[Right, str] = {
    "operate": "migrations_app.operate_rollout",
    "approve": "migrations_app.approve_rollout",
    "administer": "migrations_app.administer_policy",
    "break_glass": "migrations_app.break_glass",
}


def rights_of(user: AbstractBaseUser | AnonymousUser) -> frozenset[Right]:
    """What the account may do with rollouts, as its permissions stand now; looking is for everyone signed in."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    return frozenset(right for right, name in PERMISSIONS.items() if user.has_perm(name)) | {"view"}


def must_change_password(user_id: int) -> bool:
    """Whether that person still has a password that somebody else has seen."""
    return TemporaryPassword.objects.filter(user_id=user_id).exists()


def password_changed(user_id: int) -> None:
    """Notes that the password is now the person's own."""
    with transaction.atomic():
        TemporaryPassword.objects.filter(user_id=user_id).delete()
        tell("account.password_changed", get_user_model().objects.get(pk=user_id).get_username())
