"""What an account may do where, worked out from its permissions and grants as they stand now."""

import uuid
from collections.abc import Collection, Mapping

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from migrations_app.access import RIGHTS, ROLES, Right, Standing
from migrations_app.models.cluster import Cluster
from migrations_app.models.grant import Grant

APP = "migrations_app"
PERMISSIONS: Mapping[Right, str] = {
    "view": f"{APP}.view_cluster",
    "scan": f"{APP}.add_scan",
    "operate": f"{APP}.operate_rollout",
    "approve": f"{APP}.approve_rollout",
    "register": f"{APP}.add_cluster",
    "change": f"{APP}.change_cluster",
    "remove": f"{APP}.delete_cluster",
    "audit": f"{APP}.view_auditevent",
    "administer": f"{APP}.administer_policy",
    "people": f"{APP}.change_grant",
    "break_glass": f"{APP}.break_glass",
}
"""Django's names of the rights; one that is given to an account or a team holds over every cluster."""
_KEPT = "_karpdash_standing"
_NAMED = {name: right for right, name in PERMISSIONS.items()}
_ROLES = dict(ROLES)


def standing_of(user: AbstractBaseUser | AnonymousUser) -> Standing:
    """Of this moment; read once for each object of the account, as Django does with permissions."""
    if not isinstance(user, User) or not user.is_active:
        return Standing()
    kept = getattr(user, _KEPT, None)
    if not isinstance(kept, Standing):
        kept = Standing(everywhere=RIGHTS) if user.is_superuser else _granted(user)
        setattr(user, _KEPT, kept)
    return kept


def right_named(permission: str) -> Right | None:
    """The right that Django's permission stands for; None for one of another app, or of no meaning here."""
    return _NAMED.get(permission)


def rights_over(user: AbstractBaseUser | AnonymousUser, cluster_id: uuid.UUID | None) -> frozenset[Right]:
    """What the account may do with that cluster; with None: with all of them."""
    standing = standing_of(user)
    if cluster_id is None or not standing.by_group:
        return standing.everywhere
    return standing.over(groups_of(cluster_id))


def groups_of(cluster_id: uuid.UUID) -> Collection[uuid.UUID]:
    """The groups that the cluster is in."""
    rows = Cluster.groups.through.objects.filter(cluster_id=cluster_id)
    return tuple(rows.values_list("clustergroup_id", flat=True))


def _granted(user: User) -> Standing:
    given = ModelBackend().get_all_permissions(user)
    everywhere = frozenset(right for name, right in _NAMED.items() if name in given)
    if any(name.startswith(f"{APP}.") for name in given):
        everywhere |= {"view"}
    by_group: dict[uuid.UUID, frozenset[Right]] = {}
    mine = Grant.objects.filter(Q(person=user) | Q(team__user=user)).values_list("over_id", "role").distinct()
    for over, role in mine:
        brought = next((rights for name, rights in _ROLES.items() if name == role), frozenset[Right]())
        if over is None:
            everywhere |= brought
        else:
            by_group[over] = by_group.get(over, frozenset()) | brought
    return Standing(everywhere=everywhere, by_group=by_group)
