"""Who can approve plans of a cluster, to show the author whom to ask."""

import uuid

from django.contrib.auth.models import User
from django.db.models import Q

from migrations_app.access import ROLES
from migrations_app.queries.accounts.services import makers
from migrations_app.queries.visibility import PERMISSIONS, groups_of

MAX_NAMED = 10
_ROLES = tuple(role for role, rights in ROLES.items() if "approve" in rights)
_CODENAME = PERMISSIONS["approve"].partition(".")[2]


def approvers_of(cluster_id: uuid.UUID, *, author: int | None) -> tuple[str, ...]:
    """The names of active people who may approve plans of that author for the cluster, at most MAX_NAMED.

    Without the author, and without the people who created the service account if the author is one.
    """
    groups = groups_of(cluster_id)
    by_role = Q()
    for path in ("grants", "groups__grants"):
        over_cluster = Q(**{f"{path}__over__isnull": True}) | Q(**{f"{path}__over__in": groups})
        by_role |= Q(**{f"{path}__role__in": _ROLES}) & over_cluster
    by_permission = Q(user_permissions__codename=_CODENAME) | Q(groups__permissions__codename=_CODENAME)
    rows = User.objects.filter(Q(is_superuser=True) | by_permission | by_role, is_active=True, service=None)
    others = rows.exclude(pk=author or 0).exclude(pk__in=makers(author or 0).values("pk"))
    return tuple(others.order_by("username").values_list("username", flat=True).distinct()[:MAX_NAMED])
