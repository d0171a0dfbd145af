"""Permissions of accounts: Django's permission checks answered from role grants, and the first administrator."""

import secrets
import uuid
from collections.abc import Collection
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
from migrations_app.queries.visibility import (
    PERMISSIONS,
    current_scope,
    permissions_of,
    right_named,
    rights_over,
    rights_over_every,
)
from migrations_app.use_cases.audit.log import record_audit_event


class GrantBackend(BaseBackend):
    """Authenticates no one. Without an object, the permissions are those over the cluster of the request, if there is
    one.
    """

    def has_perm(self, user_obj: User | AnonymousUser, *args: Any) -> bool:  # noqa: ANN401 - Django's signature
        permission, *about = args
        right = right_named(permission)
        return right is not None and right in rights_here(user_obj, *about)

    def get_all_permissions(self, user_obj: User | AnonymousUser, obj: Any = None) -> set[str]:  # noqa: ANN401 - Django's signature
        return {PERMISSIONS[right] for right in rights_here(user_obj, obj)}


def rights_here(user: User | AnonymousUser, cluster_id: uuid.UUID | None = None) -> frozenset[Right]:
    """Rights over the given cluster, else over the cluster of the request, else over no cluster in particular."""
    about = cluster_id or current_scope().about
    return permissions_of(user).over_nothing_named() if about is None else rights_over(user, about)


def first_admin() -> str:
    """Creates the user `admin` and returns its one-time password; empty if any account exists already."""
    people = get_user_model()
    with transaction.atomic():
        if people.objects.exists():
            return ""
        password = secrets.token_urlsafe(16)
        admin = people.objects.create_superuser(username="admin", password=password)
        TemporaryPassword.objects.create(user=admin)
        record_audit_event("account.made", admin.get_username(), rights="all")
    return password


def rights_of(user: AbstractBaseUser | AnonymousUser) -> frozenset[Right]:
    """The account's current rights over the cluster of the request, or over no cluster in particular."""
    return rights_here(user) if isinstance(user, User) else frozenset()


def person_over_cluster(person: Person, cluster_id: uuid.UUID | None) -> Person:
    """The same person with their current rights over that cluster (A41); with None, over every cluster."""
    user = User.objects.filter(pk=person.id, is_active=True).first()
    rights = rights_over(user, cluster_id) if user else frozenset[Right]()
    return replace(person, rights=rights)


def person_over_clusters(person: Person, cluster_ids: Collection[uuid.UUID]) -> Person:
    """The same person with those current rights that they have over every one of the clusters."""
    user = User.objects.filter(pk=person.id, is_active=True).first()
    rights = rights_over_every(user, cluster_ids) if user else frozenset[Right]()
    return replace(person, rights=rights)


def person_over_group(person: Person, group_id: uuid.UUID) -> Person:
    """The same person with their current rights over every cluster of that group."""
    user = User.objects.filter(pk=person.id, is_active=True).first()
    rights = permissions_of(user).over((group_id,)) if user else frozenset[Right]()
    return replace(person, rights=rights)


def rights_of_account(name: str, cluster_id: uuid.UUID) -> frozenset[Right]:
    """The current rights of the named account over the cluster; empty if the account is missing or closed."""
    user = User.objects.filter(username=name, is_active=True).first()
    return rights_over(user, cluster_id) if user else frozenset()


def must_change_password(user_id: int) -> bool:
    """Whether the person still has a one-time password, which an administrator has seen."""
    return TemporaryPassword.objects.filter(user_id=user_id).exists()


def password_changed(user_id: int) -> None:
    """Records that the person has chosen a password of their own."""
    with transaction.atomic():
        TemporaryPassword.objects.filter(user_id=user_id).delete()
        record_audit_event("account.password_changed", get_user_model().objects.get(pk=user_id).get_username())


def refuse_person(refusal: Refusal | None) -> None:
    """Raises PermissionDenied for a refusal; returns for None."""
    if refusal is not None:
        raise PermissionDenied(refusal.why, code=refusal.code)
