"""Replaces the kubeconfig of a cluster, after a test; refused if it leads to another cluster (A05)."""

import uuid
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

import msgspec
from django.db import transaction

from migrations_app.actions.plan import Plan
from migrations_app.clients.kubernetes.connection import Connection, digest_of_ca
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.writer import open_writer
from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.clusters.connection_check import ConnectionTest, check_server
from migrations_app.use_cases.clusters.registration import require_cluster
from migrations_app.use_cases.journeys.lifecycle import void_journeys
from migrations_app.use_cases.rollouts.lifecycle import void_plans
from migrations_app.use_cases.runtime.connections import FIELD, connect_writer, keys, network_policy
from migrations_app.use_cases.scans.probe import probe_limits

SameCluster = Literal["same", "other", "unknown"]
OTHER = "it leads to another cluster: the namespace kube-system there is not the one that was known; register it anew"
UNKNOWN = (
    "whether it leads to the same cluster can not be told: the namespace kube-system was not readable with the old "
    "kubeconfig, or is not with the new one; type the cluster's name to keep it all the same"
)


@dataclass(frozen=True, slots=True)
class CredentialReplacement:
    """The test of a new kubeconfig; `same` compares its cluster with the registered one."""

    result: ConnectionTest
    same: SameCluster = "unknown"


def try_kubeconfig_for(cluster_id: uuid.UUID, text: bytes, *, context: str = "") -> CredentialReplacement:
    """Tests the kubeconfig and stores nothing.

    Raises NotFound, InvalidInput for a cluster with another source or a kubeconfig that is refused.
    """
    cluster = _with_kubeconfig(cluster_id)
    connection = read_kubeconfig(text, context=context)
    result = check_server(connection)
    return CredentialReplacement(result, _compared(cluster, connection) if result.reachable else "unknown")


def replace_kubeconfig(
    cluster_id: uuid.UUID, text: bytes, *, context: str = "", typed_name: str = "", version: int | None = None
) -> int:
    """Stores the kubeconfig and returns the row's new version. The cluster's plans expire and a running rollout pauses.

    Raises NotFound, and Conflict `stale` if `version` is not the current one. Raises InvalidInput for a kubeconfig that
    is refused, reaches no server (code of the failure), leads to another cluster (`other_cluster`), or may do so and
    the name was not typed (`name_not_typed`).
    """
    cluster = _with_kubeconfig(cluster_id)
    if version is not None and version != cluster.version:
        raise _stale()
    connection = read_kubeconfig(text, context=context)
    result = check_server(connection)
    if not result.reachable:
        raise InvalidInput(f"it does not reach the cluster: {result.detail}", where="kubeconfig", code=result.error)
    same = _compared(cluster, connection)
    if same == "other":
        raise InvalidInput(OTHER, where="kubeconfig", code="other_cluster")
    if same == "unknown" and typed_name != cluster.name:
        raise InvalidInput(UNKNOWN, where="typed_name", code="name_not_typed")
    return _store(cluster, text, connection=connection, same=same)


def _with_kubeconfig(cluster_id: uuid.UUID) -> Cluster:
    cluster = require_cluster(cluster_id)
    if cluster.source != Cluster.Source.KUBECONFIG:
        raise InvalidInput(
            f"this cluster is not reached by a kubeconfig; its source is {cluster.source}", code="no_kubeconfig_here"
        )
    return cluster


def _compared(cluster: Cluster, connection: Connection) -> SameCluster:
    now = _uid_behind(connection)
    known = _known_uids(cluster) if now else set()
    if not now or not known:
        return "unknown"
    return "same" if known == {now} else "other"


def _uid_behind(connection: Connection) -> str:
    """The uid of the namespace kube-system there; empty if it cannot be read."""
    try:
        with closing(open_writer(connection, reach=network_policy(), limits=probe_limits())) as writer:
            return writer.identity().kube_system_uid
    except ReadError:
        return ""


def _known_uids(cluster: Cluster) -> set[str]:
    """The known uids of kube-system: that of the scans; without it those of the newest plan and the stored
    kubeconfig.
    """
    uids = {cluster.kube_system_uid} - {""}
    if uids:
        return uids
    row = Rollout.objects.filter(cluster_id=cluster.pk).exclude(plan=b"").order_by("-made_at").first()
    if row is not None:
        uids.add(msgspec.json.decode(bytes(row.plan), type=Plan).identity.kube_system_uid)
    try:
        with connect_writer(cluster, within=probe_limits()) as writer:
            uids.add(writer.identity().kube_system_uid)
    except (ReadError, InvalidInput, InvalidSetting):
        pass
    return uids


def _store(cluster: Cluster, text: bytes, *, connection: Connection, same: SameCluster) -> int:
    sealed = keys().seal(text, owner=str(cluster.pk), field=FIELD)
    server, context = connection.server.url, connection.context
    with transaction.atomic():
        changed = Cluster.objects.filter(pk=cluster.pk, version=cluster.version).update(
            sealed=sealed,
            server=server,
            context=context,
            # A known cluster with a new CA stays the same cluster: scans compare with this CA from now on.
            ca_digest=digest_of_ca(connection) if cluster.kube_system_uid else "",
            version=cluster.version + 1,
            credential_version=cluster.credential_version + 1,
        )
        if not changed:
            raise _stale()
        changes = {"server": [cluster.server, server], "context": [cluster.context, context]}
        record_audit_event("access.replaced", cluster.name, cluster_id=cluster.pk, changes=changes, same_cluster=same)
        void_plans(cluster.pk)
        void_journeys(cluster.pk)
    return cluster.version + 1


def _stale() -> Conflict:
    return Conflict("the cluster was changed meanwhile", code="stale")
