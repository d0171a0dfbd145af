"""The first person of a new installation."""

import secrets

from django.contrib.auth import get_user_model
from django.db import transaction

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
    return password


def must_change_password(user_id: int) -> bool:
    """Whether that person still has a password that somebody else has seen."""
    return TemporaryPassword.objects.filter(user_id=user_id).exists()


def password_changed(user_id: int) -> None:
    """Notes that the password is now the person's own."""
    TemporaryPassword.objects.filter(user_id=user_id).delete()
