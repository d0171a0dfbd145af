"""Adds, changes and removes clusters. Credentials are checked, then sealed; nothing of them is kept in clear."""

import uuid
from dataclasses import dataclass

import msgspec
from django.db import IntegrityError, transaction

from migrations_app.clients.bundle import open_bundle
from migrations_app.clients.connection import Connection
from migrations_app.clients.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes_live import LiveApi, open_live
from migrations_app.errors import BadInput, Conflict, CouldNotLook, NotFound
from migrations_app.flow.connect import FIELD, connect, keys, limits, reach
from migrations_app.inventory.objects import ServerVersion
from migrations_app.karpenter.hops import resolve_target
from migrations_app.karpenter.releases import RELEASES
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.rights import READ, Missing, cluster_role

LONGEST_NAME = 120
OLDEST = RELEASES[0].releases[0]


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What a first look says: `error` is a code and `detail` its text when nothing could be read at all."""

    reachable: bool
    server: str = ""
    kubernetes: str = ""
    missing: tuple[Missing, ...] = ()
    rule: str = ""
    error: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a person says about a cluster; empty texts mean: not said."""

    name: str
    environment: str = ""
    target: str = ""
    by: str = ""


def try_kubeconfig(text: bytes, *, context: str = "") -> ConnectionTest:
    """Looks once, stores nothing. Raises BadKubeconfig for a text that is refused."""
    return _try(read_kubeconfig(text, context=context))


def register_kubeconfig(text: bytes, details: Details, *, context: str = "") -> uuid.UUID:
    """The new cluster's id. Raises BadInput for a bad name, target or kubeconfig, Conflict for a taken name."""
    connection = read_kubeconfig(text, context=context)
    row = _row(details, source=Cluster.Source.KUBECONFIG)
    row.server, row.context = connection.server.url, connection.context
    return _stored(row, text)


def register_bundle(body: bytes, details: Details) -> uuid.UUID:
    """As `register_kubeconfig`, of an uploaded bundle. Raises BadBundle for one that cannot be read."""
    open_bundle(body).close()
    return _stored(_row(details, source=Cluster.Source.BUNDLE), body)


def register_in_cluster(details: Details) -> uuid.UUID:
    """The cluster that karpdash itself runs in, read as its own service account."""
    return _stored(_row(details, source=Cluster.Source.IN_CLUSTER), None)


def try_cluster(cluster_id: uuid.UUID) -> ConnectionTest:
    """Looks at a registered cluster once. Raises NotFound."""
    cluster = _found(cluster_id)
    if cluster.source not in (Cluster.Source.KUBECONFIG, Cluster.Source.IN_CLUSTER):
        return ConnectionTest(reachable=True, server=cluster.source)
    try:
        with connect(cluster) as api:
            return _look(api, cluster.server) if isinstance(api, LiveApi) else ConnectionTest(reachable=True)
    except CouldNotLook as reason:
        return ConnectionTest(reachable=False, server=cluster.server, error=reason.code, detail=reason.message)


def change(cluster_id: uuid.UUID, details: Details, *, version: int | None = None) -> int:
    """The row's new version. Raises NotFound, BadInput, or Conflict when `version` is not the current one."""
    current = _found(cluster_id)
    if version is not None and version != current.version:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    fresh = _row(details, source=current.source)
    try:
        with transaction.atomic():
            changed = Cluster.objects.filter(pk=cluster_id, version=current.version).update(
                name=fresh.name, environment=fresh.environment, target=fresh.target, version=current.version + 1
            )
    except IntegrityError:
        raise Conflict(f"there is a cluster named {fresh.name}", code="name_taken") from None
    if not changed:
        raise Conflict("the cluster was changed meanwhile", code="stale")
    return current.version + 1


def remove(cluster_id: uuid.UUID, *, typed_name: str) -> None:
    """Forgets a cluster, its credentials and snapshots. Raises BadInput unless its name was typed, and NotFound."""
    cluster = _found(cluster_id)
    if typed_name != cluster.name:
        raise BadInput("type the cluster's name to remove it", where="name", code="name_not_typed")
    cluster.delete()


def _found(cluster_id: uuid.UUID) -> Cluster:
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    return cluster


def _row(details: Details, *, source: str) -> Cluster:
    name = details.name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"a name of 1 to {LONGEST_NAME} printable characters is needed", where="name")
    if len(details.environment) > 40:
        raise BadInput("at most 40 characters", where="environment")
    if details.target:
        _check_target(details.target)
    return Cluster(
        name=name, source=source, environment=details.environment, target=details.target, created_by=details.by
    )


def _check_target(target: str) -> None:
    try:
        resolve_target(target, current=OLDEST)
    except BadInput as wrong:
        raise BadInput(wrong.message, where="target", code=wrong.code) from None


def _stored(row: Cluster, secret: bytes | None) -> uuid.UUID:
    if secret is not None:
        row.sealed = keys().seal(secret, owner=str(row.pk), field=FIELD)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise Conflict(f"there is a cluster named {row.name}", code="name_taken") from None
    return row.pk


def _try(connection: Connection) -> ConnectionTest:
    url = connection.server.url
    try:
        api = open_live(connection, reach=reach(), limits=limits())
    except CouldNotLook as reason:
        return ConnectionTest(reachable=False, server=url, error=reason.code, detail=reason.message)
    try:
        return _look(api, url)
    except CouldNotLook as reason:
        return ConnectionTest(reachable=False, server=url, error=reason.code, detail=reason.message)
    finally:
        api.close()


def _look(api: LiveApi, url: str) -> ConnectionTest:
    found = msgspec.json.decode(api.get("/version"), type=ServerVersion)
    denied = [kind for kind in READ if not api.access_review("list", group=kind.group, plural=kind.plural)]
    missing = tuple(Missing(kind.group, kind.plural) for kind in denied)
    return ConnectionTest(
        reachable=True, server=url, kubernetes=found.git_version, missing=missing, rule=cluster_role(missing)
    )
