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
class IdentityDetail:
    """The identity of a registered cluster.

    `error` is the code of the reason why the newest scan could not read the uid. `other_uid` is the uid of another
    cluster that answered instead; `hidden` counts registrations of the same cluster that the caller may not see;
    `since` is when a person accepted another cluster as this one.
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

    @property
    def joinable(self) -> bool:
        """Whether the caller may join the registrations. This needs the right to administer all clusters, because
        groups move.
        """
        return bool(self.registrations) and sees_all("administer")


def identity_detail(row: Cluster) -> IdentityDetail:
    """The identity of the row, with the other registrations of the same cluster."""
    registrations, hidden = _others(row)
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
    )


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
