"""Django's question "has this account that permission", answered from grants as well."""

import uuid
from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser, User

from migrations_app.access import Right
from migrations_app.queries.standing import PERMISSIONS, right_named, rights_over, standing_of
from migrations_app.queries.visible import sight


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
    about = cluster_id or sight().about
    return standing_of(user).over_nothing_named() if about is None else rights_over(user, about)
