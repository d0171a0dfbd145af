"""Visibility: an account's effective rights from permissions and grants, and which clusters the caller may see (T11).

Every query that lists or opens something filters by the caller's scope. The scope is set once per request; workers and
the command line may see everything.
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

from migrations_app.access import NEVER_OF_PROGRAMS, RIGHTS, ROLES, EffectivePermissions, Right
from migrations_app.errors import NotFound
from migrations_app.models.account import Grant
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.models.policy import Waiver
from migrations_app.models.pull_request import PullRequest
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
"""Django's names of the rights. A permission of an account or team applies to every cluster."""
_KEPT = "_karpdash_standing"
_NAMED = {name: right for right, name in PERMISSIONS.items()}
_ROLES = dict(ROLES)


def permissions_of(user: AbstractBaseUser | AnonymousUser) -> EffectivePermissions:
    """The account's current rights, cached on the account object as Django does with permissions."""
    if not isinstance(user, User) or not user.is_active:
        return EffectivePermissions()
    cached = getattr(user, _KEPT, None)
    if not isinstance(cached, EffectivePermissions):
        cached = EffectivePermissions(everywhere=RIGHTS) if user.is_superuser else _granted(user)
        setattr(user, _KEPT, cached)
    return cached


def right_named(permission: str) -> Right | None:
    """The right for a Django permission; None for a permission of another app or without a right here."""
    return _NAMED.get(permission)


def rights_over(user: AbstractBaseUser | AnonymousUser, cluster_id: uuid.UUID | None) -> frozenset[Right]:
    """The account's rights over that cluster; with None, over all clusters."""
    permissions = permissions_of(user)
    if cluster_id is None or not permissions.by_group:
        return permissions.everywhere
    return permissions.over(groups_of(cluster_id))


def rights_over_every(user: AbstractBaseUser | AnonymousUser, cluster_ids: Collection[uuid.UUID]) -> frozenset[Right]:
    """The rights that the account has over each of the clusters; without a cluster, over all of them."""
    permissions = permissions_of(user)
    if not permissions.by_group or not cluster_ids:
        return permissions.everywhere
    groups: dict[uuid.UUID, set[uuid.UUID]] = {pk: set() for pk in cluster_ids}
    members = Cluster.groups.through.objects.filter(cluster_id__in=cluster_ids)
    for cluster, group in members.values_list("cluster_id", "clustergroup_id"):
        groups[cluster].add(group)
    return frozenset.intersection(*(permissions.over(named) for named in groups.values()))


def groups_of(cluster_id: uuid.UUID) -> Collection[uuid.UUID]:
    """The groups that the cluster is in."""
    rows = Cluster.groups.through.objects.filter(cluster_id=cluster_id)
    return tuple(rows.values_list("clustergroup_id", flat=True))


def _granted(user: User) -> EffectivePermissions:
    permissions = ModelBackend().get_all_permissions(user)
    everywhere = frozenset(right for name, right in _NAMED.items() if name in permissions)
    if any(name.startswith(f"{APP}.") for name in permissions):
        everywhere |= {"view"}
    by_group: dict[uuid.UUID, frozenset[Right]] = {}
    grants = Grant.objects.filter(Q(person=user) | Q(team__user=user))
    for over, role, program in grants.values_list("over_id", "role", "person__service").distinct():
        brought = next((rights for name, rights in _ROLES.items() if name == role), frozenset[Right]())
        if program is not None:
            brought -= NEVER_OF_PROGRAMS
        if over is None:
            everywhere |= brought
        else:
            by_group[over] = by_group.get(over, frozenset()) | brought
    return EffectivePermissions(everywhere=everywhere, by_group=by_group)


@dataclass(frozen=True, slots=True)
class VisibilityScope:
    """The caller's rights, and the cluster that the request is about, or None."""

    permissions: EffectivePermissions = field(default_factory=EffectivePermissions)
    about: uuid.UUID | None = None


ALL = VisibilityScope(EffectivePermissions(everywhere=RIGHTS))
NOTHING = VisibilityScope()
OWNED: Mapping[str, Manager[Any]] = {
    "journey": Journey.objects,
    "pull_request": PullRequest.objects,
    "rollout": Rollout.objects,
    "scan": Scan.objects,
    "snapshot": Snapshot.objects,
    "waiver": Waiver.objects,
}
"""Objects that belong to a cluster, by the word used in URLs."""
_now: ContextVar[VisibilityScope] = ContextVar("visibility_scope")


@contextmanager
def visibility_scope(scope: VisibilityScope) -> Iterator[None]:
    """Queries inside the block use this scope."""
    token = _now.set(scope)
    try:
        yield
    finally:
        _now.reset(token)


def set_scope(scope: VisibilityScope) -> None:
    """Sets the scope until the surrounding block ends, for code that authenticates during a request."""
    _now.set(scope)


def current_scope() -> VisibilityScope:
    """The current scope; everything if none is set."""
    return _now.get(ALL)


def has_scope() -> bool:
    """Whether a scope is set. Error pages are rendered without a scope, and must not query."""
    return _now.get(None) is not None


def sees_all(right: Right = "view") -> bool:
    """Whether the caller has the right over every cluster; objects without a cluster may then be shown, too."""
    return right in current_scope().permissions.everywhere


def visible_clusters() -> QuerySet[Cluster]:
    """The clusters that the caller may see."""
    return Cluster.objects.filter(visible("pk"))


def permitted_ids(cluster_ids: Collection[uuid.UUID], *, right: Right) -> tuple[uuid.UUID, ...]:
    """Those of the clusters over which the caller has the right."""
    rows = Cluster.objects.filter(visible("pk", right=right), pk__in=cluster_ids)
    return tuple(rows.order_by("name").values_list("pk", flat=True))


def visible(column: str = "cluster_id", *, right: Right = "view") -> Q:
    """Filter for rows of any table: the caller has the right over their cluster. `column` names the cluster's id."""
    if sees_all(right):
        return Q()
    groups = current_scope().permissions.groups_with(right)
    members = Cluster.groups.through.objects.filter(clustergroup_id__in=groups)
    return Q(**{f"{column}__in": members.values("cluster_id")})


def visible_or_of_all(column: str = "cluster_id") -> Q:
    """As `visible`, plus rows without a cluster, which apply to all clusters."""
    seen = visible(column)
    return seen | Q(**{f"{column}__isnull": True}) if seen else seen


def visible_texts(right: Right) -> frozenset[str] | None:
    """The ids of visible clusters as texts, for tables that store texts; None if the right covers everything."""
    if sees_all(right):
        return None
    return frozenset(map(str, Cluster.objects.filter(visible("pk", right=right)).values_list("pk", flat=True)))


def subject_of(kind: str, key: uuid.UUID, *, permissions: EffectivePermissions) -> uuid.UUID | None:
    """The cluster that an object belongs to; None if it belongs to none.

    Raises NotFound if it is not visible. Callers with equal rights everywhere get None without a query, because the
    cluster makes no difference to them.
    """
    if not permissions.by_group and "view" in permissions.everywhere:
        return None
    with visibility_scope(VisibilityScope(permissions)):
        return _SUBJECTS.get(kind, _owner)(kind, key)


def _cluster(kind: str, key: uuid.UUID) -> uuid.UUID:
    if not visible_clusters().filter(pk=key).exists():
        raise NotFound(f"no such {kind}")
    return key


def _owner(kind: str, key: uuid.UUID) -> uuid.UUID | None:
    rows = OWNED[kind].filter(visible_or_of_all()).filter(pk=key)
    columns = rows.values_list("pk", "cluster_id").first()
    if columns is None:
        raise NotFound(f"no such {kind}")
    return uuid.UUID(str(columns[1])) if columns[1] else None


def visible_campaigns() -> QuerySet[Campaign]:
    """The campaigns with a cluster that the caller may see; campaigns without clusters only for callers who may see
    all.
    """
    if sees_all():
        return Campaign.objects.all()
    members = CampaignMember.objects.filter(visible())
    return Campaign.objects.filter(pk__in=members.values("campaign_id"))


def _campaign(kind: str, key: uuid.UUID) -> None:
    """Checks the visibility. A campaign belongs to no single cluster: its actions check the rights over its
    clusters.
    """
    if not visible_campaigns().filter(pk=key).exists():
        raise NotFound(f"no such {kind}")


_SUBJECTS: Mapping[str, Callable[[str, uuid.UUID], uuid.UUID | None]] = {"campaign": _campaign, "cluster": _cluster}
