"""What an account may do where, worked out from its permissions and grants as they stand now.

Which clusters whoever asks may see: every query that lists or opens something goes through here (T11).

Who asks is set once, where a request comes in; workers and the terminal see everything.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Manager, Q, QuerySet

from migrations_app.access import RIGHTS, ROLES, EffectivePermissions, Right
from migrations_app.errors import NotFound
from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Waiver
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import Scan, Snapshot

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


def permissions_of(user: AbstractBaseUser | AnonymousUser) -> EffectivePermissions:
    """Of this moment; read once for each object of the account, as Django does with permissions."""
    if not isinstance(user, User) or not user.is_active:
        return EffectivePermissions()
    kept = getattr(user, _KEPT, None)
    if not isinstance(kept, EffectivePermissions):
        kept = EffectivePermissions(everywhere=RIGHTS) if user.is_superuser else _granted(user)
        setattr(user, _KEPT, kept)
    return kept


def right_named(permission: str) -> Right | None:
    """The right that Django's permission stands for; None for one of another app, or of no meaning here."""
    return _NAMED.get(permission)


def rights_over(user: AbstractBaseUser | AnonymousUser, cluster_id: uuid.UUID | None) -> frozenset[Right]:
    """What the account may do with that cluster; with None: with all of them."""
    standing = permissions_of(user)
    if cluster_id is None or not standing.by_group:
        return standing.everywhere
    return standing.over(groups_of(cluster_id))


def groups_of(cluster_id: uuid.UUID) -> Collection[uuid.UUID]:
    """The groups that the cluster is in."""
    rows = Cluster.groups.through.objects.filter(cluster_id=cluster_id)
    return tuple(rows.values_list("clustergroup_id", flat=True))


def _granted(user: User) -> EffectivePermissions:
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
    return EffectivePermissions(everywhere=everywhere, by_group=by_group)


@dataclass(frozen=True, slots=True)
class VisibilityScope:
    """What whoever asks may do where, and the cluster that the request is about, if it is about one."""

    standing: EffectivePermissions = field(default_factory=EffectivePermissions)
    about: uuid.UUID | None = None


ALL = VisibilityScope(EffectivePermissions(everywhere=RIGHTS))
NOTHING = VisibilityScope()
OWNED: Mapping[str, Manager[Any]] = {
    "rollout": Rollout.objects,
    "scan": Scan.objects,
    "snapshot": Snapshot.objects,
    "waiver": Waiver.objects,
}
"""Things that belong to a cluster, by the word that addresses use."""
_now: ContextVar[VisibilityScope] = ContextVar("sight")


@contextmanager
def visibility_scope(sight: VisibilityScope) -> Iterator[None]:
    """Whatever is read inside the block is read with that sight."""
    token = _now.set(sight)
    try:
        yield
    finally:
        _now.reset(token)


def set_scope(sight: VisibilityScope) -> None:
    """As `seeing`, until the block around ends: for a frame that learns in the middle who it is."""
    _now.set(sight)


def current_scope() -> VisibilityScope:
    """The sight of this moment."""
    return _now.get(ALL)


def sees_all(right: Right = "view") -> bool:
    """Whether the right is held over every cluster: what belongs to none may then be shown, too."""
    return right in current_scope().standing.everywhere


def visible_clusters() -> QuerySet[Cluster]:
    """The clusters that whoever asks may see."""
    return Cluster.objects.filter(visible("pk"))


def visible(column: str = "cluster_id", *, right: Right = "view") -> Q:
    """For rows of anything: whether that right is held over their cluster; `column` names its id."""
    if sees_all(right):
        return Q()
    groups = current_scope().standing.groups_with(right)
    members = Cluster.groups.through.objects.filter(clustergroup_id__in=groups)
    return Q(**{f"{column}__in": members.values("cluster_id")})


def visible_or_of_all(column: str = "cluster_id") -> Q:
    """As `visible`, and rows that hold for every cluster."""
    seen = visible(column)
    return seen | Q(**{f"{column}__isnull": True}) if seen else seen


def visible_texts(right: Right) -> frozenset[str] | None:
    """The ids as texts, for tables that keep them so; None where the right is held over everything."""
    if sees_all(right):
        return None
    return frozenset(map(str, Cluster.objects.filter(visible("pk", right=right)).values_list("pk", flat=True)))


def subject_of(kind: str, key: uuid.UUID, *, standing: EffectivePermissions) -> uuid.UUID | None:
    """The cluster that a thing is about; None where it is about none. Raises NotFound for one out of sight.

    Not read for who sees and may the same everywhere: there it decides nothing.
    """
    if not standing.by_group and "view" in standing.everywhere:
        return None
    with visibility_scope(VisibilityScope(standing)):
        return _SUBJECTS.get(kind, _owner)(kind, key)


def _cluster(kind: str, key: uuid.UUID) -> uuid.UUID:
    if not visible_clusters().filter(pk=key).exists():
        raise NotFound(f"no such {kind}")
    return key


def _owner(kind: str, key: uuid.UUID) -> uuid.UUID | None:
    rows = OWNED[kind].filter(visible_or_of_all()).filter(pk=key)
    found = rows.values_list("pk", "cluster_id").first()
    if found is None:
        raise NotFound(f"no such {kind}")
    return uuid.UUID(str(found[1])) if found[1] else None


_SUBJECTS: Mapping[str, Callable[[str, uuid.UUID], uuid.UUID | None]] = {"cluster": _cluster}
