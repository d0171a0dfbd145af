"""Which clusters whoever asks may see: every query that lists or opens something goes through here (T11).

Who asks is set once, where a request comes in; workers and the terminal see everything.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Manager, Q, QuerySet

from migrations_app.access import RIGHTS, Right, Standing
from migrations_app.errors import NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import Scan
from migrations_app.models.snapshot import Snapshot
from migrations_app.models.waiver import Waiver


@dataclass(frozen=True, slots=True)
class Sight:
    """What whoever asks may do where, and the cluster that the request is about, if it is about one."""

    standing: Standing = field(default_factory=Standing)
    about: uuid.UUID | None = None


ALL = Sight(Standing(everywhere=RIGHTS))
NOTHING = Sight()
OWNED: Mapping[str, Manager[Any]] = {
    "rollout": Rollout.objects,
    "scan": Scan.objects,
    "snapshot": Snapshot.objects,
    "waiver": Waiver.objects,
}
"""Things that belong to a cluster, by the word that addresses use."""
_now: ContextVar[Sight] = ContextVar("sight")


@contextmanager
def seeing(sight: Sight) -> Iterator[None]:
    """Whatever is read inside the block is read with that sight."""
    token = _now.set(sight)
    try:
        yield
    finally:
        _now.reset(token)


def sees(sight: Sight) -> None:
    """As `seeing`, until the block around ends: for a frame that learns in the middle who it is."""
    _now.set(sight)


def sight() -> Sight:
    """The sight of this moment."""
    return _now.get(ALL)


def sees_all(right: Right = "view") -> bool:
    """Whether the right is held over every cluster: what belongs to none may then be shown, too."""
    return right in sight().standing.everywhere


def visible_clusters() -> QuerySet[Cluster]:
    """The clusters that whoever asks may see."""
    return Cluster.objects.filter(visible("pk"))


def visible(column: str = "cluster_id", *, right: Right = "view") -> Q:
    """For rows of anything: whether that right is held over their cluster; `column` names its id."""
    if sees_all(right):
        return Q()
    groups = sight().standing.groups_with(right)
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


def subject_of(kind: str, key: uuid.UUID, *, standing: Standing) -> uuid.UUID | None:
    """The cluster that a thing is about; None where it is about none. Raises NotFound for one out of sight.

    Not read for who sees and may the same everywhere: there it decides nothing.
    """
    if not standing.by_group and "view" in standing.everywhere:
        return None
    with seeing(Sight(standing)):
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
