"""Row -> open client: unseals the credentials, and hands out the port to a live server, a bundle or a sample."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from migrations_app.clients.addresses import Reach
from migrations_app.clients.bundle import open_bundle
from migrations_app.clients.kubeconfig import in_cluster, read_kubeconfig
from migrations_app.clients.kubernetes_live import open_live
from migrations_app.clients.limits import Limits
from migrations_app.clients.port import ClusterApi
from migrations_app.errors import BadInput
from migrations_app.flow.seal import Keys
from migrations_app.models.cluster import Cluster
from migrations_app.samples import fleet

FIELD = "credentials"


@contextmanager
def connect(cluster: Cluster) -> Iterator[ClusterApi]:
    """An open client, closed at the end. Raises CouldNotLook, BadInput or BadSetting."""
    api = _opened(cluster)
    try:
        yield api
    finally:
        api.close()


def keys() -> Keys:
    return Keys(settings.ENV.encryption_keys)


def reach() -> Reach:
    """Which addresses this installation may speak to (K05)."""
    env = settings.ENV
    return Reach(allow_loopback=env.allow_loopback, allow_private=env.allow_private, allowed=env.allowed_networks)


def limits() -> Limits:
    return Limits(scan_seconds=float(settings.ENV.scan_deadline))


def _opened(cluster: Cluster) -> ClusterApi:
    if cluster.source == Cluster.Source.SAMPLE:
        return open_bundle(_sample_files(cluster.context))
    if cluster.source == Cluster.Source.BUNDLE:
        return open_bundle(unsealed(cluster))
    if cluster.source == Cluster.Source.IN_CLUSTER:
        return open_live(in_cluster(), reach=reach(), limits=limits())
    connection = read_kubeconfig(unsealed(cluster), context=cluster.context)
    return open_live(connection, reach=reach(), limits=limits())


def unsealed(cluster: Cluster) -> bytes:
    if cluster.sealed is None:
        raise BadInput("this cluster has no stored credentials", where=cluster.name)
    return keys().open(bytes(cluster.sealed), owner=str(cluster.pk), field=FIELD)


def _sample_files(name: str) -> dict[str, bytes]:
    story = fleet.find(name)
    if story is None:
        raise BadInput(f"there is no sample {name!r}")
    return dict(fleet.files(story))
