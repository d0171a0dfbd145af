"""The identity of the cluster of a registration, and other registrations of the same cluster."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from migrations_app.models.cluster import Cluster
from migrations_app.queries.visibility import sees_all, visible_clusters

IdentityState = Literal["none", "unknown", "known", "unproven", "other"]
"""none: there is no server; unknown: the uid was never read; unproven: known, but the newest scan could not read the
uid; other: another cluster answers.
"""
LIVE = (Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER, Cluster.Source.EKS, Cluster.Source.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRegistration:
    """Another registration of the same cluster. `same_ca` is False if it uses another CA."""

    id: uuid.UUID
    name: str
    same_ca: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAddress:
    """Another registration with the same address of the API server. Whether both are one cluster is not known, because
    the uid of at least one of them was never read.
    """

    id: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityDetail:
    """The identity of a registered cluster.

    `error` is the code of the reason why the newest scan could not read the uid. `other_uid` is the uid of another
    cluster that answered instead; `hidden` counts registrations of the same cluster that the caller may not see;
    `since` is when a person accepted another cluster as this one. `same_address` and `same_address_hidden` are the
    registrations that have the same address while a uid is not known.
    """

    state: IdentityState
    kube_system_uid: str = ""
    ca_digest: str = ""
    error: str = ""
    other_uid: str = ""
    other_ca_digest: str = ""
    since: datetime | None = None
    registrations: tuple[OtherRegistration, ...] = ()
    hidden: int = 0
    same_address: tuple[SameAddress, ...] = ()
    same_address_hidden: int = 0

    @property
    def joinable(self) -> bool:
        """Whether the caller may join the registrations. This needs the right to administer all clusters, because
        groups move.
        """
        return bool(self.registrations) and sees_all("administer")


def identity_detail(row: Cluster) -> IdentityDetail:
    """The identity of the row, with the other registrations of the same cluster."""
    registrations, hidden = _others(row)
    same_address, same_address_hidden = same_address_as(row)
    return IdentityDetail(
        state=_state(row),
        kube_system_uid=row.kube_system_uid,
        ca_digest=row.ca_digest,
        error=row.identity_error,
        other_uid=row.other_uid,
        other_ca_digest=row.other_ca_digest,
        since=row.identity_since,
        registrations=registrations,
        hidden=hidden,
        same_address=same_address,
        same_address_hidden=same_address_hidden,
    )


def same_address_as(row: Cluster) -> tuple[tuple[SameAddress, ...], int]:
    """The other registrations with the row's address that the caller may see, by name, and the number of the others.

    Two known uids tell by themselves whether it is one cluster; registrations with both are left out. An agent connects
    from inside, where many clusters have the same address.
    """
    if row.source == Cluster.Source.IN_CLUSTER:
        every = Cluster.objects.filter(source=Cluster.Source.IN_CLUSTER)
    elif row.server and row.source != Cluster.Source.AGENT:
        every = Cluster.objects.filter(server=row.server).exclude(source=Cluster.Source.AGENT)
    else:
        return (), 0
    ids = set((every.filter(kube_system_uid="") if row.kube_system_uid else every).values_list("pk", flat=True))
    ids.discard(row.pk)
    seen = visible_clusters().filter(pk__in=ids).order_by("name").values_list("pk", "name") if ids else ()
    registrations = tuple(SameAddress(id=pk, name=name) for pk, name in seen)
    return registrations, len(ids) - len(registrations)


def names_at_address(cluster_id: uuid.UUID) -> tuple[str, ...]:
    """The names of the visible registrations that have the address of that one, as `same_address_as`."""
    row = Cluster.objects.defer("sealed").get(pk=cluster_id)
    return tuple(other.name for other in same_address_as(row)[0])


def registered_again() -> tuple[tuple[str, ...], ...]:
    """The names of visible registrations that have the same uid of kube-system, one row for each cluster."""
    names: dict[str, list[str]] = {}
    rows = visible_clusters().filter(source__in=LIVE).exclude(kube_system_uid="").order_by("name")
    for uid, name in rows.values_list("kube_system_uid", "name"):
        names.setdefault(uid, []).append(name)
    return tuple(tuple(same) for same in names.values() if len(same) > 1)


def registrations_of(cluster_id: uuid.UUID) -> tuple[uuid.UUID, ...]:
    """The ids of all registrations of that cluster, this one first. If its uid is not known, only this one."""
    uid = Cluster.objects.filter(pk=cluster_id).values_list("kube_system_uid", flat=True).first()
    others = Cluster.objects.filter(kube_system_uid=uid).exclude(pk=cluster_id) if uid else Cluster.objects.none()
    return (cluster_id, *others.order_by("pk").values_list("pk", flat=True))


def _state(row: Cluster) -> IdentityState:
    if row.source not in LIVE:
        return "none"
    if row.other_uid:
        return "other"
    if not row.kube_system_uid:
        return "unknown"
    return "unproven" if row.identity_error else "known"


def _others(row: Cluster) -> tuple[tuple[OtherRegistration, ...], int]:
    if not row.kube_system_uid:
        return (), 0
    every = Cluster.objects.filter(kube_system_uid=row.kube_system_uid).exclude(pk=row.pk)
    ids = set(every.values_list("pk", flat=True))
    seen = visible_clusters().filter(pk__in=ids).order_by("name").values_list("pk", "name", "ca_digest") if ids else ()
    registrations = tuple(OtherRegistration(id=pk, name=name, same_ca=ca == row.ca_digest) for pk, name, ca in seen)
    return registrations, len(ids) - len(registrations)
