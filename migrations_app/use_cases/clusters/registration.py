"""Registers, changes and removes clusters. Credentials are checked and stored encrypted only."""

import uuid
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import LiveApi
from migrations_app.errors import Conflict, InvalidInput, NotFound, ReadError
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.upgrade_path import resolve_target
from migrations_app.models.cluster import Cluster
from migrations_app.queries.fleet.scan_interval import interval_of, next_slot
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.campaigns.claims import refuse_claimed
from migrations_app.use_cases.clusters.connection_check import ConnectionTest, check_client, check_server, failed
from migrations_app.use_cases.journeys.lifecycle import refuse_journey
from migrations_app.use_cases.rollouts.lifecycle import refuse_held
from migrations_app.use_cases.runtime.connections import FIELD, connect, keys

LONGEST_NAME = 120
SHORTEST_INTERVAL, LONGEST_INTERVAL = 60, 604_800
OLDEST = RELEASES[0].releases[0]
LIVE = (Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER, Cluster.Source.EKS, Cluster.Source.AGENT)
"""Sources with an API server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The details of a cluster from a form; an empty text means not given."""

    name: str
    environment: str = ""
    target: str = ""
    interval: int | None = None
    """Seconds between two scans; None means the interval of its groups, or the default."""
    by: str = ""


def try_kubeconfig(text: bytes, *, context: str = "") -> ConnectionTest:
    """Tests the kubeconfig and stores nothing. Raises InvalidKubeconfig."""
    return check_server(read_kubeconfig(text, context=context))


def register_kubeconfig(text: bytes, details: Details, *, context: str = "") -> uuid.UUID:
    """Registers a cluster and returns its id.

    Raises InvalidInput for a bad name, target or kubeconfig, Conflict for a taken name.
    """
    connection = read_kubeconfig(text, context=context)
    row = new_row(details, source=Cluster.Source.KUBECONFIG)
    row.server, row.context = connection.server.url, connection.context
    return save_new(row, text)


def register_bundle(body: bytes, details: Details) -> uuid.UUID:
    """As `register_kubeconfig`, with an uploaded bundle. Raises InvalidBundle for an unreadable one."""
    open_bundle(body).close()
    return save_new(new_row(details, source=Cluster.Source.BUNDLE), body)


def register_in_cluster(details: Details) -> uuid.UUID:
    """Registers the cluster that karpdash runs in, read with its own service account."""
    return save_new(new_row(details, source=Cluster.Source.IN_CLUSTER), None)


def try_cluster(cluster_id: uuid.UUID) -> ConnectionTest:
    """Tests the connection to a registered cluster. Raises NotFound."""
    cluster = require_cluster(cluster_id)
    if cluster.source not in LIVE:
        return ConnectionTest(reachable=True, server=cluster.source)
    try:
        with connect(cluster) as api:
            return check_client(api, cluster.server) if isinstance(api, LiveApi) else ConnectionTest(reachable=True)
    except (ReadError, InvalidInput) as reason:
        return failed(reason, server=cluster.server)


def change(cluster_id: uuid.UUID, details: Details, *, version: int | None = None) -> int:
    """Changes a cluster and returns the row's new version.

    Raises NotFound, InvalidInput, Conflict for a taken name or if `version` is not the current one.
    """
    current = require_cluster(cluster_id)
    if version is not None and version != current.version:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    fresh = new_row(details, source=current.source)
    try:
        with transaction.atomic():
            changed = Cluster.objects.filter(pk=cluster_id, version=current.version).update(
                name=fresh.name,
                environment=fresh.environment,
                target=fresh.target,
                version=current.version + 1,
                **_schedule_columns(current, fresh),
            )
            if changed:
                record_audit_event(
                    "cluster.changed", fresh.name, cluster_id=cluster_id, changes=_differences(current, fresh)
                )
    except IntegrityError:
        raise Conflict(f"there is a cluster named {fresh.name}", code="name_taken") from None
    if not changed:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    return current.version + 1


def remove(cluster_id: uuid.UUID, *, typed_name: str) -> None:
    """Deletes a cluster with its credentials and snapshots.

    Raises NotFound, InvalidInput unless its name was typed, Conflict while a rollout, a journey or a campaign holds it.
    """
    cluster = require_cluster(cluster_id)
    if typed_name != cluster.name:
        raise InvalidInput("type the cluster's name to remove it", where="name", code="name_not_typed")
    with transaction.atomic():
        refuse_held(cluster_id)
        refuse_journey(cluster_id)
        refuse_claimed(cluster_id)
        record_audit_event("cluster.removed", cluster.name, cluster_id=cluster_id, **_audit_details(cluster))
        cluster.delete()


def require_cluster(cluster_id: uuid.UUID) -> Cluster:
    """The row of the cluster. Raises NotFound."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    return cluster


def new_row(details: Details, *, source: str) -> Cluster:
    """An unsaved row. Raises InvalidInput for an invalid name, environment, target or interval."""
    name = details.name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_NAME} printable characters is needed", where="name")
    if len(details.environment) > 40:
        raise InvalidInput("at most 40 characters", where="environment")
    if details.target:
        _check_target(details.target)
    if details.interval is not None and not SHORTEST_INTERVAL <= details.interval <= LONGEST_INTERVAL:
        raise InvalidInput(f"{SHORTEST_INTERVAL} to {LONGEST_INTERVAL} seconds", where="interval_seconds")
    return Cluster(
        name=name,
        source=source,
        environment=details.environment,
        target=details.target,
        interval_seconds=details.interval,
        created_by=details.by,
    )


def _check_target(target: str) -> None:
    try:
        resolve_target(target, current=OLDEST)
    except InvalidInput as wrong:
        raise InvalidInput(wrong.message, where="target", code=wrong.code) from None


def save_new(row: Cluster, secret: bytes | None) -> uuid.UUID:
    """Saves the row with its encrypted secret and returns its id. Raises Conflict for a taken name or a used draft."""
    if secret is not None:
        row.sealed = keys().seal(secret, owner=str(row.pk), field=FIELD)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            record_audit_event("cluster.registered", row.name, cluster_id=row.pk, **_audit_details(row))
    except IntegrityError:
        raise _taken(row) from None
    return row.pk


def _audit_details(row: Cluster) -> dict[str, str]:
    """The details of a cluster for the audit log: addresses and names, never credentials."""
    names = ("source", "server", "context", "environment", "target", "eks_arn", "role_arn", "external_id")
    return {name: str(getattr(row, name)) for name in names if getattr(row, name)}


def _schedule_columns(before: Cluster, after: Cluster) -> dict[str, Any]:
    """The columns that change with the interval: the interval and the next due time."""
    if before.interval_seconds == after.interval_seconds:
        return {}
    then = copy(before)
    then.interval_seconds = after.interval_seconds
    seconds = interval_of(then)
    due = next_slot(before.pk, seconds, now=timezone.now()) if seconds else None
    return {"interval_seconds": after.interval_seconds, "next_due_at": due}


def _differences(before: Cluster, after: Cluster) -> dict[str, list[Any]]:
    names = ("name", "environment", "target", "interval_seconds")
    pairs = {name: [getattr(before, name), getattr(after, name)] for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _taken(row: Cluster) -> Conflict:
    if row.external_id and not Cluster.objects.filter(name=row.name).exists():
        return draft_used_error()
    return Conflict(f"there is a cluster named {row.name}", code="name_taken")


def draft_used_error() -> Conflict:
    """The error for an external id that already belongs to a cluster."""
    return Conflict("this draft already belongs to a cluster; ask for a new one", code="draft_used")
