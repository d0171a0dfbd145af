"""Django's question "has this account that permission", answered from grants as well.

The people of an installation: the first one, and what each may do.
"""

import secrets
import uuid
from dataclasses import replace
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from migrations_app.access import Person, Refusal, Right
from migrations_app.errors import PermissionDenied
from migrations_app.models.account import TemporaryPassword
from migrations_app.queries.visibility import PERMISSIONS, current_scope, permissions_of, right_named, rights_over
from migrations_app.use_cases.audit.log import record_audit_event


class GrantBackend(BaseBackend):
    """Signs nobody in. Asked about no cluster, it answers for the one that the request is about, if there is one."""

    def has_perm(self, user_obj: User | AnonymousUser, *asked: Any) -> bool:  # noqa: ANN401 - Django's signature
        permission, *about = asked
        right = right_named(permission)
        return right is not None and right in rights_here(user_obj, *about)

    def get_all_permissions(self, user_obj: User | AnonymousUser, obj: Any = None) -> set[str]:  # noqa: ANN401 - Django's signature
        return {PERMISSIONS[right] for right in rights_here(user_obj, obj)}


def rights_here(user: User | AnonymousUser, cluster_id: uuid.UUID | None = None) -> frozenset[Right]:
    """Over the cluster named, else over that of the request, else over none in particular."""
    about = cluster_id or current_scope().about
    return permissions_of(user).over_nothing_named() if about is None else rights_over(user, about)


def first_admin() -> str:
    """The one-time password of a new user `admin`; empty when there is already anybody."""
    people = get_user_model()
    with transaction.atomic():
        if people.objects.exists():
            return ""
        password = secrets.token_urlsafe(12)
        admin = people.objects.create_superuser(username="admin", password=password)
        TemporaryPassword.objects.create(user=admin)
        record_audit_event("account.made", admin.get_username(), rights="all")
    return password


def rights_of(user: AbstractBaseUser | AnonymousUser) -> frozenset[Right]:
    """What the account may do with the cluster of the request, or where none is meant, as things stand now."""
    return rights_here(user) if isinstance(user, User) else frozenset()


def over(person: Person, cluster_id: uuid.UUID | None) -> Person:
    """The same person with what they may do now with that very cluster (A41); with None: with every cluster."""
    user = User.objects.filter(pk=person.id, is_active=True).first()
    rights = rights_over(user, cluster_id) if user else frozenset[Right]()
    return replace(person, rights=rights)


def over_group(person: Person, group_id: uuid.UUID) -> Person:
    """The same person with what they may do now with every cluster of that group."""
    user = User.objects.filter(pk=person.id, is_active=True).first()
    rights = permissions_of(user).over((group_id,)) if user else frozenset[Right]()
    return replace(person, rights=rights)


def named_over(name: str, cluster_id: uuid.UUID) -> frozenset[Right]:
    """What the account of that name may do with the cluster now; nothing when there is none, or it is closed."""
    user = User.objects.filter(username=name, is_active=True).first()
    return rights_over(user, cluster_id) if user else frozenset()


def must_change_password(user_id: int) -> bool:
    """Whether that person still has a password that somebody else has seen."""
    return TemporaryPassword.objects.filter(user_id=user_id).exists()


def password_changed(user_id: int) -> None:
    """Notes that the password is now the person's own."""
    with transaction.atomic():
        TemporaryPassword.objects.filter(user_id=user_id).delete()
        record_audit_event("account.password_changed", get_user_model().objects.get(pk=user_id).get_username())


def refuse_person(refusal: Refusal | None) -> None:
    """Raises Denied for a refusal."""
    if refusal is not None:
        raise PermissionDenied(refusal.why, code=refusal.code)
